"""The choice of the next token from logits: penalties, temperature, top-k, top-p, min-p, one draw.

All of it are operators on tensors, also the numbers that users set, so a traced step contains it. Rows are texts, each with
numbers and a seed of its own. A row's token is computed in one of a few ways, whatever the ways of other rows are.
"""

from dataclasses import dataclass, fields
from math import isfinite

from ..ir import dtype as dt
from ..ir.errors import ArgumentError
from ..runtime.api.math.elementwise import where
from ..runtime.api.math.sort import topk
from ..runtime.api.random.random_tensors import rand
from ..runtime.api.views.ranges import arange
from ..runtime.api.views.tensor_factories import tensor, zeros
from ..runtime.core.random import Generator
from ..runtime.core.tensor import Tensor

_LEAST = {"temperature": 0.0, "top_p": 0.0, "min_p": 0.0, "repetition_penalty": 1e-6}
_MOST = {"top_p": 1.0, "min_p": 1.0}
_MOST_COUNTED = 1 << 20
_COLDEST = 1e-5         # temperature: the largest logits divided by it are far from infinity
_SORTED = 128           # tokens that are sorted where `top_k` is no larger
_GREEDY, _FEW, _SOME, _ALL = range(4)       # ways: the largest logit; draws from sorted few, from all sorted, from all


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
    def way(self) -> int:
        """The way to a token: its operators, but for penalties."""
        if not self.temperature:
            return _GREEDY
        if 0 < self.top_k <= _SORTED:
            return _FEW
        return _SOME if self.top_k or self.top_p < 1 else _ALL


class Form(frozenset):
    """Operators of a step: the ways that draw, and "penalties" if some row has them."""

    @classmethod
    def of(cls, samplings) -> "Form":
        """Return the least form that serves all samplings."""
        ways = {s.way for s in samplings} - {_GREEDY}
        return cls(ways | ({"penalties"} if any(s.penalises for s in samplings) else set()))


class Sampler:
    """Numbers, seeds and counted tokens of the rows of a batch.

    texts    tokens of each row by position, int64 [rows, positions], which the batch writes
    draws    uniform numbers of each row by position
    """

    NUMBERS = ("temperature", "top_p", "min_p", "repetition_penalty", "frequency_penalty", "presence_penalty")
    WHOLE = ("top_k", "counted", "way")

    def __init__(self, texts: Tensor, vocabulary: int):
        self.texts, self.vocabulary = texts, vocabulary
        rows, self.positions = texts.shape
        self.numbers = {name: zeros(rows, 1) for name in self.NUMBERS}
        self.whole = {name: zeros(rows, 1, dtype=dt.int64) for name in self.WHOLE}
        self.draws = zeros(rows, self.positions)
        self.counts = zeros(rows, vocabulary)

    def start(self, row: int, sampling: Sampling, seed: int, tokens: list[int]):
        """Begin a text in a row: set its numbers, draw from its seed, and count the last tokens of the prompt."""
        s = sampling
        # Neutral numbers leave bits as they are in a form that has penalties for other rows.
        neutral = {} if s.penalises else {"repetition_penalty": 1.0, "frequency_penalty": 0.0, "presence_penalty": 0.0}
        set_to = {**vars(s), **neutral, "counted": max(s.counted, 1), "way": s.way, "temperature": max(s.temperature, _COLDEST),
                  "top_k": min(s.top_k or self.vocabulary, self.vocabulary),
                  "top_p": s.top_p if s.top_p < 1 else 2.0}         # rounded sums reach 1 before the last token
        for name, number in (self.numbers | self.whole).items():
            number[row] = set_to[name]
        self.draws[row] = rand(self.positions, generator=Generator().manual_seed(seed))
        if s.penalises:
            last = tokens[-s.counted:]
            self.counts[row].zero_().index_add_(0, tensor(last, dtype=dt.int64), tensor([1.0] * len(last)))

    def prepared(self, rows: Tensor, at: Tensor) -> dict[str, Tensor]:
        """Return facts about the rows 0, 1, ... before the decoder runs: a step is repeated if it fails, so reads by index,
        which may fail, come before its writes.

        at   positions of the next tokens
        """
        known = {name: number[:rows.shape[0]] for name, number in (self.numbers | self.whole).items()}
        oldest_at = at[:, None] - known["counted"]
        starts = rows[:, None] * self.positions
        oldest = self.texts.flatten()[starts + oldest_at.clamp(min=0)]
        return known | {"chance": self.draws.flatten()[starts + at[:, None]], "oldest": where(oldest_at >= 0, oldest, -1)}

    def choose(self, logits: Tensor, form: Form, known: dict[str, Tensor]) -> Tensor:
        """Return the next tokens, int64 [rows], for logits [rows, vocabulary]; count them."""
        count = logits.shape[0]
        if "penalties" in form:
            logits = self._penalised(logits, known)
        tokens = logits.argmax(-1, keepdim=True)
        for way, sorted_tokens in ((_FEW, _SORTED), (_SOME, self.vocabulary), (_ALL, 0)):
            if way in form:
                drawn = _drawn(logits / known["temperature"], min(sorted_tokens, self.vocabulary), known)
                tokens = where(known["way"] == way, drawn, tokens)
        if "penalties" in form:
            numbers = arange(self.vocabulary)
            self.counts[:count] += (numbers == tokens).to(dt.float32) - (numbers == known["oldest"]).to(dt.float32)
        return tokens[:, 0]

    def _penalised(self, logits, known):
        counts = self.counts[:logits.shape[0]]
        repeated = where(logits > 0, logits / known["repetition_penalty"], logits * known["repetition_penalty"])
        return where(counts > 0, repeated - counts * known["frequency_penalty"] - known["presence_penalty"], logits)


def _drawn(logits, sorted_tokens: int, known):
    """Return one token of each row, [rows, 1], from so many of the largest logits; from all, unsorted, for 0."""
    tokens = None
    if sorted_tokens:
        logits, tokens = topk(logits, sorted_tokens)
    weights = (logits - logits.amax(-1, keepdim=True)).exp()
    if tokens is not None:
        weights = weights * (arange(sorted_tokens) < known["top_k"])
        before = weights.cumsum(-1) - weights
        weights = weights * (before < known["top_p"] * weights.sum(-1, keepdim=True))       # if those before fall short
    weights = weights * (weights >= known["min_p"])         # the largest is 1
    sums = weights.cumsum(-1)
    index = (sums <= known["chance"] * sums[:, -1:]).sum(-1, keepdim=True)       # a weight of 0 is never hit
    # A sum, since reading by index may fail (`prepared`).
    return index if tokens is None else where(arange(sorted_tokens) == index, tokens, 0).sum(-1, keepdim=True)
