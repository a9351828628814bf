"""A language model from a file: tokens and text, one after the other.

A prompt is taken in by parts of up to `PART` tokens. Then each token is one call of a traced step: decoder, cache, sampling
and the new token's number are one recording. Lengths of the cache are rounded up to `ROWS`, and are symbolic in the recording.
"""

from collections.abc import Iterator, Sequence

from .. import jit
from ..ir import dtype as dt
from ..ir.errors import ArgumentError
from ..runtime.api.views.tensor_factories import tensor, zeros
from ..runtime.autograd.grad_mode import no_grad
from .decoder import Decoder
from .kv_cache import ROWS, KeyValueCache
from .sampling import Sampler, Sampling

PART = 512          # tokens of a prompt at once; products of more rows are no faster
_SLOTS = {"slots": {0: "slots"}, "window_slots": {0: "window_slots"}}     # sizes that are symbols from the start


class Step:
    """One token: the traced function, and the state that it writes."""

    def __init__(self, decoder: Decoder, cache: KeyValueCache, sampling: Sampling):
        self.sampler = Sampler(sampling, decoder.config.vocabulary)
        self.token = zeros(1, dtype=dt.int64)

        def step(slots, window_slots):
            logits = decoder(self.token, cache, slots, window_slots)
            self.token.copy_(self.sampler.choose(logits[0]))
            return self.token.clone()

        self.traced = jit.trace(step, dynamic=_SLOTS)


class LanguageModel:
    """Decoder with a cache for one text at a time.

    context   most tokens of a text, prompt included
    """

    def __init__(self, decoder: Decoder, context: int | None = None):
        self.decoder = decoder
        self.context = min(context or 4096, decoder.config.context)
        self.cache = KeyValueCache(decoder.config, -(-self.context // ROWS) * ROWS)
        self._steps: dict[tuple, Step] = {}
        self._text = object()           # of the text that the cache holds
        self._take_in = jit.trace(
            lambda tokens, slots, window_slots: decoder.hidden(tokens, self.cache, slots, window_slots),
            dynamic=_SLOTS | {"tokens": {0: "tokens"}})

    def tokens(self, prompt: Sequence[int], sampling: Sampling | None = None, seed: int = 0) -> Iterator[int]:
        """Yield the tokens that follow a prompt until the context is full. A later call ends this text."""
        sampling = sampling or Sampling()
        if not prompt or len(prompt) >= self.context:
            raise ArgumentError(f"a prompt has 1 to {self.context - 1} tokens, got {len(prompt)}: the context is {self.context}")
        text = self._text = object()
        step = self._steps.get(sampling.form)
        if step is None:
            step = self._steps[sampling.form] = Step(self.decoder, self.cache, sampling)
        with no_grad():
            step.sampler.start(sampling, seed, list(prompt))
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
        for start in range(0, len(tokens), PART):
            part = list(tokens[start:start + PART])
            # A second token keeps one token from being a recording of its own; its slot is the next token's.
            padded = part if len(part) > 1 else part * 2
            self._take_in(tensor(padded, dtype=dt.int64), *self.cache.slots(start))
            self.cache.length.fill_(start + len(part))

    def stats(self) -> dict:
        """Return the statistics of the traced functions by name."""
        return {"prompt": self._take_in.stats()} | {f"step {form}": s.traced.stats() for form, s in self._steps.items()}
