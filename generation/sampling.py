"""The choice of the next token from logits: penalties, temperature, top-k, top-p, min-p, one draw.

All of it are operators on tensors, also the numbers that a user sets, so a traced step contains it. The draw is a function of
the generator's seed and count: eager and traced code choose the same tokens.
"""

from dataclasses import dataclass, fields
from math import isfinite

from ..ir import dtype as dt
from ..ir.errors import ArgumentError
from ..runtime.api.math.elementwise import where
from ..runtime.api.math.sort import topk
from ..runtime.api.random.random_tensors import rand
from ..runtime.api.views.tensor_factories import full, tensor, zeros
from ..runtime.core.random import Generator
from ..runtime.core.tensor import Tensor

_LEAST = {"temperature": 0.0, "top_p": 0.0, "min_p": 0.0, "repetition_penalty": 1e-6}
_MOST = {"top_p": 1.0, "min_p": 1.0}
_MOST_COUNTED = 1 << 20


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn, in this order.

    repetition_penalty   logits of tokens among the last `counted` ones are divided by it, or multiplied if below 0
    frequency_penalty    taken from the logit of a token for each time that it is among them
    presence_penalty     taken from the logit of a token that is among them
    temperature          divisor of logits; 0 takes the most likely token
    top_k                so many of the most likely tokens are left; 0 leaves all
    top_p                the most likely tokens that together reach this probability are left; 1 leaves all
    min_p                tokens with this share of the largest probability are left; 0 leaves all
    """

    temperature: float = 0.8
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    repetition_penalty: float = 1.0
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    counted: int = 64

    def __post_init__(self):
        for field in fields(self):
            name, value = field.name, getattr(self, field.name)
            if name in ("top_k", "counted"):
                fits = type(value) is int and 0 <= value <= _MOST_COUNTED
            else:
                fits = (type(value) in (int, float) and isfinite(value)
                        and _LEAST.get(name, -1e6) <= value <= _MOST.get(name, 1e6))
            if not fits:
                raise ArgumentError(f"sampling: {name} is {value!r}, which is out of its range")

    @property
    def penalises(self) -> bool:
        """Whether tokens before change logits."""
        return bool(self.counted) and (self.repetition_penalty, self.frequency_penalty, self.presence_penalty) != (1, 0, 0)

    @property
    def form(self) -> tuple:
        """The choices that change the operators of a step; the other numbers are tensors."""
        if not self.temperature:
            return "greedy", self.penalises and self.counted
        return self.top_k, self.top_p < 1, self.min_p > 0, self.penalises and self.counted


class Sampler:
    """Sampling of one form, with the tokens that penalties count."""

    NUMBERS = ("temperature", "top_p", "min_p", "repetition_penalty", "frequency_penalty", "presence_penalty")

    def __init__(self, sampling: Sampling, vocabulary: int):
        self.sampling, self.vocabulary = sampling, vocabulary
        self.generator = Generator()
        self.numbers = {name: zeros(()) for name in self.NUMBERS}
        if sampling.penalises:
            self.counts = zeros(vocabulary)
            self.recent = full((sampling.counted,), -1, dtype=dt.int64)        # in turn: token n is at n % counted
            self.written = zeros((), dtype=dt.int64)

    def start(self, sampling: Sampling, seed: int, tokens: list[int]):
        """Begin a text: set the numbers, seed the generator, and count the last tokens of the prompt."""
        for name, number in self.numbers.items():
            number.fill_(getattr(sampling, name))
        self.generator.manual_seed(seed)
        if sampling.penalises:
            last = tokens[-sampling.counted:]
            self.counts.zero_().index_add_(0, tensor(last, dtype=dt.int64), tensor([1.0] * len(last)))
            self.recent.fill_(-1)[:len(last)] = tensor(last, dtype=dt.int64)
            self.written.fill_(len(last))

    def choose(self, logits: Tensor) -> Tensor:
        """Return the number of the next token, int64[1], for logits [vocabulary]; count it."""
        token = self._draw(self._penalised(logits) if self.sampling.penalises else logits)
        if self.sampling.penalises:
            self._count(token)
        return token

    def _penalised(self, logits):
        n, seen = self.numbers, self.counts > 0
        repeated = where(logits > 0, logits / n["repetition_penalty"], logits * n["repetition_penalty"])
        return where(seen, repeated - self.counts * n["frequency_penalty"] - n["presence_penalty"], logits)

    def _count(self, token):
        """Count a token in the place of the oldest one."""
        at = (self.written % self.recent.shape[0]).reshape(1)
        oldest = self.recent[at]
        self.counts.index_add_(0, oldest.clamp(min=0), -(oldest >= 0).to(dt.float32))
        self.counts.index_add_(0, token, (token >= 0).to(dt.float32))
        self.recent.index_copy_(0, at, token)
        self.written.add_(1)

    def _draw(self, logits):
        s, n = self.sampling, self.numbers
        if not s.temperature:
            return logits.argmax(-1, keepdim=True)
        logits, tokens = logits / n["temperature"], None
        if s.top_k or s.top_p < 1:
            logits, tokens = topk(logits, min(s.top_k or self.vocabulary, self.vocabulary))
        weights = (logits - logits.max()).exp()
        if s.top_p < 1:         # a token is left if those before it fall short
            weights = weights * ((weights.cumsum(0) - weights) < n["top_p"] * weights.sum())
        if s.min_p > 0:         # the largest weight is 1
            weights = weights * (weights >= n["min_p"])
        sums = weights.cumsum(0)
        index = (sums <= rand(1, generator=self.generator) * sums[-1]).sum(0, keepdim=True)     # a weight of 0 is never hit
        return index if tokens is None else tokens[index]
