"""A language model: prompts in, tokens and text out, one after the other.

A prompt is taken in by parts of up to `PART` tokens. Then each token is one call of a traced step: decoder, cache, sampling
and the new token's number are one recording, for all lengths of the text.
"""

import os
from collections.abc import Iterator, Sequence

from ..ir import dtype as dt
from ..ir.errors import ArgumentError, FileError, MissingKeyError
from ..jit.tracing.trace import trace
from ..runtime.api.views.tensor_factories import tensor, zeros
from ..runtime.autograd.grad_mode import no_grad
from ..runtime.core.random import Generator
from ..runtime.serialization import gguf
from .chat import render_chat
from .decoder import Decoder
from .decoder_config import config_of
from .kv_cache import KeyValueCache
from .sampling import Sampler, Sampling
from .tokenizer import Tokenizer

PART = 512          # tokens of a prompt at once; products of more rows are no faster
CONTEXT = 4096      # tokens of a text, unless told
_SLOTS = {"slots": {0: "slots"}, "window_slots": {0: "window_slots"}}       # sizes that are symbols from the start


class Step:
    """One token: the traced function, and the state that it writes."""

    def __init__(self, decoder: Decoder, cache: KeyValueCache, sampling: Sampling):
        self.sampler = Sampler(sampling, decoder.config.vocabulary)
        self.token = zeros(1, dtype=dt.int64)

        def step(slots, window_slots):
            logits = decoder(self.token, cache, slots, window_slots)
            self.token.copy_(self.sampler.choose(logits[0]))
            return self.token.clone()

        self.traced = trace(step, dynamic=_SLOTS, fullgraph=True)


class LanguageModel:
    """Decoder, tokenizer, and a cache for one text at a time.

    context     most tokens of a text, prompt included
    tokenizer   None for a file without tokens: then prompts are lists of numbers
    """

    def __init__(self, decoder: Decoder, tokenizer: Tokenizer | None = None, chat_template: str | None = None,
                 context: int | None = None):
        if context is not None and not 1 < context <= decoder.config.context:
            raise ArgumentError(f"the context of this model is 2 to {decoder.config.context} tokens, got {context}")
        self.decoder, self.tokenizer, self.chat_template = decoder, tokenizer, chat_template
        self.context = context or min(CONTEXT, decoder.config.context)
        self.cache = KeyValueCache(decoder.config, self.context)
        self._steps: dict[tuple, Step] = {}
        self._text = object()           # of the text that the cache holds
        self._take_in = trace(
            lambda tokens, slots, window_slots: decoder.hidden(tokens, self.cache, slots, window_slots),
            dynamic=_SLOTS | {"tokens": {0: "tokens"}}, fullgraph=True)

    # Prompts.

    def encode(self, prompt: str | Sequence[int] | Sequence[dict], **variables) -> list[int]:
        """Return the tokens of a prompt: a text, messages of a chat such as {"role": "user", "content": "Hello"}, or tokens.
        `variables` are for the chat template."""
        if not isinstance(prompt, str) and all(isinstance(t, int) for t in prompt):
            return self._checked(prompt)
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

    def _checked(self, tokens) -> list[int]:
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

    def tokens(self, prompt: Sequence[int], sampling: Sampling | None = None, seed: int = 0) -> Iterator[int]:
        """Yield the tokens that follow those of a prompt, until the context is full. A later call ends this text."""
        sampling, prompt = sampling or Sampling(), self._checked(prompt)
        if not 0 < len(prompt) < self.context:
            raise ArgumentError(f"a prompt has 1 to {self.context - 1} tokens, as the context is {self.context}; this one has "
                                f"{len(prompt)}")
        Generator().manual_seed(seed)           # raises for no seed, before anything is written
        return self._tokens(prompt, sampling, seed)

    def _tokens(self, prompt, sampling, seed):
        text = self._text = object()
        step = self._steps.get(sampling.form)
        if step is None:
            step = self._steps[sampling.form] = Step(self.decoder, self.cache, sampling)
        with no_grad():
            step.sampler.start(sampling, seed, prompt)
            self._read(prompt[:-1])
            step.token.fill_(prompt[-1])
        for length in range(len(prompt), self.context):
            if self._text is not text:
                raise ArgumentError("this text was ended: the model has begun another one")
            with no_grad():
                token = step.traced(*self.cache.slots(length))
            yield int(token)

    def _read(self, tokens):
        """Store keys and values of the tokens of a prompt."""
        self.cache.length.zero_()
        size = min(PART, max(self.cache.window, 2))         # longer parts would be recordings of their own
        for start in range(0, len(tokens), size):
            part = tokens[start:start + size]
            # Two tokens keep one from being a recording of its own. The next token is written over the second.
            padded = part if len(part) > 1 else part * 2
            self._take_in(tensor(padded, dtype=dt.int64), *self.cache.slots(start))
            self.cache.length.fill_(start + len(part))

    def stats(self) -> dict:
        """Return the statistics of the traced functions by name."""
        return {"prompt": self._take_in.stats()} | {f"step {form}": s.traced.stats() for form, s in self._steps.items()}


def load(path: str | os.PathLike, context: int | None = None) -> LanguageModel:
    """Return the language model of a GGUF file, over the mapped file.

    context   most tokens of a text; 4096 unless told, or fewer if the model has a shorter one
    """
    weights = gguf.load(path)
    try:
        fields = weights.tokenizer
        return LanguageModel(Decoder.of(config_of(weights), weights), None if fields is None else Tokenizer(fields),
                             weights.chat_template, context)
    except FileError as e:
        raise FileError(f"{path}: {e}") from None
