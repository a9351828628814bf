"""A language model: prompts in, tokens and text out, one after the other or several at once."""

import os
from collections.abc import Iterator, Sequence

from ..ir.errors import ArgumentError, FileError, MissingKeyError
from ..runtime.core.random import Generator
from ..runtime.serialization import gguf
from .batch import Batch
from .chat import render_chat
from .decoder import Decoder
from .decoder_config import config_of
from .sampling import Sampling
from .scheduler import Request, Scheduler
from .tokenizer import Tokenizer

CONTEXT = 4096      # tokens of a text, unless told
MOST_ROWS = 256     # of a batch; each has a cache of its own


class LanguageModel:
    """Decoder, tokenizer, and a cache for texts.

    context     most tokens of a text, prompt included
    rows        most texts at a time
    cache       format of keys and values: f32, f16, bf16 or q8
    tokenizer   None for a file without tokens: then prompts are lists of numbers
    """

    def __init__(self, decoder: Decoder, tokenizer: Tokenizer | None = None, chat_template: str | None = None,
                 context: int | None = None, rows: int = 1, cache: str = "f32"):
        if type(rows) is not int or not 1 <= rows <= MOST_ROWS:
            raise ArgumentError(f"a batch has 1 to {MOST_ROWS} rows, got {rows!r}")
        if context is not None and not 1 < context <= decoder.config.context:
            raise ArgumentError(f"the context of this model is 2 to {decoder.config.context} tokens, got {context}")
        self.decoder, self.tokenizer, self.chat_template = decoder, tokenizer, chat_template
        self.context = context or min(CONTEXT, decoder.config.context)
        self.batch = Batch(decoder, self.context, rows, cache)
        self._text: object = None           # of the call of `tokens` that goes on

    # Prompts.

    def encode(self, prompt: str | Sequence[int] | Sequence[dict], **variables) -> list[int]:
        """Return the tokens of a prompt: a text, messages of a chat such as {"role": "user", "content": "Hello"}, or tokens.
        `variables` are for the chat template."""
        if not isinstance(prompt, str) and all(isinstance(t, int) for t in prompt):
            return self._known(prompt)
        if self.tokenizer is None:
            raise ArgumentError("the file has no tokenizer: give a list of token numbers")
        if isinstance(prompt, str):
            return self.tokenizer.encode(prompt)
        if self.chat_template is None:
            raise MissingKeyError("the file has no chat template: give the prompt as a text")
        t = self.tokenizer
        text = render_chat(self.chat_template, prompt, begin="" if t.begin is None else t.tokens[t.begin],
                           end=t.tokens[min(t.ends)] if t.ends else "", **variables)
        tokens = t.encode(text, begin=False)
        return tokens if t.begin is None or tokens[:1] == [t.begin] else [t.begin, *tokens]

    def _known(self, tokens) -> list[int]:
        for t in tokens:
            if not 0 <= t < self.decoder.config.vocabulary:
                raise ArgumentError(f"there is no token {t}: the model has {self.decoder.config.vocabulary}")
        return list(tokens)

    # Texts.

    def generate(self, prompt: str | Sequence[int] | Sequence[dict], max_tokens: int | None = None,
                 sampling: Sampling | None = None, seed: int = 0) -> Iterator[str]:
        """Yield the text that follows a prompt, piece by piece, until the model ends it. A later call ends this text."""
        if self.tokenizer is None:
            raise ArgumentError("the file has no tokenizer: tokens(...) takes and gives numbers")
        stream = self.tokenizer.stream()
        for count, token in enumerate(self.tokens(self.encode(prompt), sampling, seed), 1):
            if token in self.tokenizer.ends:
                break
            yield stream.add(token)
            if count == max_tokens:
                break
        yield stream.finish()

    def generate_all(self, prompts: Sequence, max_tokens: int | None = None,
                     sampling: Sampling | Sequence[Sampling] | None = None, seed: int | Sequence[int] = 0) -> list[str]:
        """Return the texts that follow several prompts. As many as the model has rows are written at a time, and each is the
        text that its prompt gives alone.

        sampling, seed   one for all prompts, or one for each
        """
        if self.tokenizer is None:
            raise ArgumentError("the file has no tokenizer: tokens(...) takes and gives numbers")
        tokens = [self.checked(self.encode(prompt)) for prompt in prompts]
        samplings = [sampling or Sampling()] * len(tokens) if sampling is None or isinstance(sampling, Sampling) else sampling
        seeds = [seed] * len(tokens) if isinstance(seed, int) else seed
        if not len(tokens) == len(samplings) == len(seeds):
            raise ArgumentError(f"{len(tokens)} prompts have {len(samplings)} samplings and {len(seeds)} seeds")
        for one in seeds:
            _check_seed(one)
        self._text = None
        ends, scheduler = self.tokenizer.ends, Scheduler(self._emptied())
        requests = [Request(*text, max_tokens, ends) for text in zip(tokens, samplings, seeds)]
        streams, texts = {r: self.tokenizer.stream() for r in requests}, dict.fromkeys(requests, "")
        for request in requests:
            scheduler.add(request)
        while scheduler.waiting or scheduler.running:
            for request, token in scheduler.advance():
                texts[request] += "" if request.ended == "end" else streams[request].add(token)
                texts[request] += streams[request].finish() if request.ended else ""
        return list(texts.values())

    def tokens(self, prompt: Sequence[int], sampling: Sampling | None = None, seed: int = 0) -> Iterator[int]:
        """Yield the tokens that follow those of a prompt, until the context is full. A later call ends this text."""
        prompt = self.checked(prompt)
        _check_seed(seed)
        return self._tokens(prompt, sampling or Sampling(), seed)

    def checked(self, tokens: Sequence[int]) -> list[int]:
        """Return the tokens of a prompt; raise for unknown ones, and for too many of them."""
        tokens = self._known(tokens)
        if not 0 < len(tokens) < self.context:
            raise ArgumentError(f"a prompt has 1 to {self.context - 1} tokens, as the context is {self.context}; this one has "
                                f"{len(tokens)}")
        return tokens

    def _tokens(self, prompt, sampling, seed):
        text, batch = object(), self._emptied()
        self._text = text
        batch.start(0, prompt, sampling, seed)
        while not batch.texts[0].runs:
            batch.read(0)
        for _ in range(len(prompt), self.context):
            if self._text is not text:
                raise ArgumentError("this text was ended: the model has begun another one")
            yield batch.step()[0]

    def _emptied(self) -> Batch:
        """Return the batch without texts."""
        for row in list(self.batch.texts):
            self.batch.end(row)
        return self.batch

    def stats(self) -> dict:
        """Return the statistics of the traced functions by name."""
        return self.batch.stats()


def _check_seed(seed):
    Generator().manual_seed(seed)           # raises for no seed, before anything is written


def load(path: str | os.PathLike, context: int | None = None, rows: int = 1,
         cache: str = "f32") -> LanguageModel:
    """Return the language model of a GGUF file, over the mapped file.

    context   most tokens of a text; 4096 unless told, or fewer if the model has a shorter one
    rows      most texts at a time
    cache     format of keys and values: f32, f16, bf16 or q8
    """
    weights = gguf.load(path)
    try:
        fields = weights.tokenizer
        return LanguageModel(Decoder.of(config_of(weights), weights), None if fields is None else Tokenizer(fields),
                             weights.chat_template, context, rows, cache)
    except FileError as e:
        raise FileError(f"{path}: {e}") from None
