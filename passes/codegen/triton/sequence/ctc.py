"""Connectionist temporal classification: one program per sequence, with a state per lane.

A sequence with n labels has 2 n + 1 states: the labels with blanks between. A lane reads its neighbours' values of the step
before from their lanes. Losses are the log probabilities after the last step. Gradients take two walks: forwards, which stores
each state's log probability, and backwards, which replaces it by the state's share of all probability. Another kernel, with a
step per lane, subtracts the shares from the gradients of their labels, one label after the other, so that sums are the same in
every run.

A loss that is not finite has no gradient: its shares are nan, and so are the gradients of all classes, unless its incoming
gradient is 0. Impossible lengths or labels set a status word, and such a sequence has no labels.
"""

import functools

from .....ir import dtype as dt
from ...fast_activations import log_sum
from ..ir.source import Source, emit, parameters
from ..ir.spelling import TYPE, Text, TritonBuilder

SIZES = ("T", "N", "C", "S", "BLANK", "MOST")
AT_ONCE = 256           # sequences whose lengths are summed at a time
_LENGTHS = [
    "n = tl.program_id(0) % N",
    "nothing = tl.full([], 0, tl.int64)",
    "blank = nothing + BLANK",
    "count = tl.load(counts + n).to(tl.int64)",
    "steps = tl.load(lengths + n).to(tl.int64)",
    "wrong = (steps < 0) | (steps > T) | (count < 0)",
]
_PADDED = ["start = n.to(tl.int64) * S", "wrong = wrong | (count > S)"]
_JOINED = [
    "start, together = nothing, nothing",
    "for first in range(0, N, AT_ONCE):",
    "    i = first + tl.arange(0, AT_ONCE)",
    "    more = tl.load(counts + i, i < N, 0).to(tl.int64)",
    "    start += tl.sum(tl.where(i < n, more, nothing))",
    "    together += tl.sum(more)",
    "wrong = wrong | (together != S) | (start < 0) | (start + count > S)",
]
_STATES = [
    "at = tl.arange(0, STATES)",
    "too_many = count > MOST",
    "last = tl.where(wrong | too_many, nothing, 2 * count).to(tl.int32)",
    "is_label = (at % 2 == 1) & (at < last)",
    "place = targets + (start + at // 2)",
    "label = tl.load(place, is_label, 0).to(tl.int64)",
    "is_label = is_label & (label >= 0) & (label < C)",
    "unknown = tl.sum(((at % 2 == 1) & (at < last) & (is_label == 0)).to(tl.int32)) > 0",
    "if wrong | unknown:",
    "    tl.atomic_max(status + SLOT, 1)",
    "label = tl.where(is_label, label, blank)",
    "before = tl.load(place + -1, is_label & (at > 2), 0).to(tl.int64)",
    "skips = is_label & (at > 2) & (label != before)",
    "steps = tl.where(wrong, nothing, steps).to(tl.int32)",
    'low = tl.full([], float("-inf"), {wide})',
    'none = tl.full([STATES], float("-inf"), {wide})',
    "zero = tl.zeros([STATES], {wide})", "states = tl.where(at == 0, zero, none)",
    "spot = logs + (n.to(INDEX) * C + label)",
    "there = at <= last",
    'emitted = tl.load(spot, there & (steps > 0), 0.0).to({wide})',
    "for t in range(0, steps):",
    "    following = tl.load(spot + (t + 1) * (N * C), there & (t + 1 < steps), 0.0).to({wide})",
    "    one = tl.where(at > 0, tl.gather(states, tl.maximum(at - 1, 0), 0), none)",
    "    two = tl.where(skips, tl.gather(states, tl.maximum(at - 2, 0), 0), none)",
    "    states = tl.where(there, log_sum(states, one, two) + emitted, none)",
    "{keep}",
    "    emitted = following",
    "ending = tl.sum(tl.where(at == last, states, zero))",
    'other = tl.where(last > 0, tl.sum(tl.where(at == last - 1, states, zero)), low)',
    'total = tl.where(too_many, low, log_sum2(ending, other))',
]
_BACKWARDS = [
    "after = tl.load(place + 1, is_label & (at + 2 < last), 0).to(tl.int64)",
    "skips = is_label & (at + 2 < last) & (after != label)",
    "states = tl.where(at == last, zero, none)",
    "given = tl.load(g + n).to({wide})",
    'sound = (tl.abs(total) < float("inf")) & (tl.abs(given) < float("inf"))',
    'nil = tl.full([], 0.0, {wide})',
    'nowhere = tl.where(sound | (given == 0.0), nil, nil + float("nan"))',
    "for i in range(0, steps):",
    "    t = steps - 1 - i",
    "    emitted = tl.load(spot + t * (N * C), there, 0.0).to({wide})",
    "    spare = shares + ((t * N + n) * STATES + at)",
    "    one = tl.where(at + 1 < STATES, tl.gather(states, tl.minimum(at + 1, STATES - 1), 0), none)",
    "    two = tl.where(skips, tl.gather(states, tl.minimum(at + 2, STATES - 1), 0), none)",
    "    rest = log_sum(states, one, two)",
    "    through = tl.load(spare) + rest - total",
    "    tl.store(spare, tl.where(sound & there, tl.exp(through) * given, zero + nowhere))",
    "    states = tl.where(there, rest + emitted, none)",
]
_TAKEN = [
    "t = (tl.program_id(0) // N) * BLOCK + tl.arange(0, BLOCK)",
    "there = t < T",
    "live = t < tl.where(wrong, nothing, steps)",
    "last = tl.where(wrong | (count > MOST), nothing, 2 * count).to(tl.int32)",
    "row = t.to(INDEX) * N + n",
    "blanks = tl.zeros([BLOCK], {wide})",
    "for state in range(0, last + 1, 2):",
    "    blanks += tl.load(shares + (row * STATES + state), live, 0.0)",
    "fresh = tl.where(blanks == blanks, tl.zeros([BLOCK], {wide}), blanks)",
    "for c in range(0, C):",
    "    tl.store(out + (row * C + c), fresh, there)",
    "tl.store(out + (row * C + BLANK), blanks * -1.0, there)",
    "for state in range(1, last, 2):",
    "    label = tl.load(targets + (start + state // 2)).to(tl.int64)",
    "    label = tl.where((label >= 0) & (label < C), label, blank)",
    "    goal = out + (row * C + label)",
    "    tl.store(goal, tl.load(goal, live, 0.0) - tl.load(shares + (row * STATES + state), live, 0.0), live)",
]


def wide(kind: dt.DType) -> dt.DType:
    """Return the dtype of computations."""
    return dt.float64 if kind is dt.float64 else dt.float32


@functools.lru_cache(64)
def sequences(kind: dt.DType, targets: dt.DType, padded: bool, gradient: bool) -> Source:
    """Return the kernel for losses, or for the shares of states in gradients, of log probabilities of a dtype."""
    keep = "    tl.store(shares + ((t * N + n) * STATES + at), states)" if gradient else ""
    lines = [*_STATES, *(_BACKWARDS if gradient else ["tl.store(losses + n, total * -1.0)"])]
    pointers = [("logs", kind), ("targets", targets), ("lengths", dt.int64), ("counts", dt.int64), ("status", dt.int32),
                *([("g", kind), ("shares", wide(kind))] if gradient else [("losses", wide(kind))])]
    helpers = "".join(f"@triton.jit\n{_sum(wide(kind), name, count)}\n\n" for name, count in (("log_sum", 3), ("log_sum2", 2)))
    name = f"ctc_{'shares_' if gradient else ''}{kind.short}_{targets.short}{'' if padded else '_joined'}"
    return _source(name, kind, pointers, padded, [line.replace("{keep}", keep) for line in lines], ("STATES", "SLOT"), helpers)


@functools.lru_cache(64)
def taken(kind: dt.DType, targets: dt.DType, padded: bool) -> Source:
    """Return the kernel for gradients of log probabilities from the shares."""
    pointers = [("shares", wide(kind)), ("targets", targets), ("lengths", dt.int64), ("counts", dt.int64), ("out", wide(kind))]
    name = f"ctc_taken_{wide(kind).short}_{targets.short}{'' if padded else '_joined'}"
    return _source(name, kind, pointers, padded, _TAKEN, ("STATES", "BLOCK"), "")


def _source(name, kind, pointers, padded, lines, constants, helpers) -> Source:
    lines = [line.replace("{wide}", TYPE[wide(kind)]) for line in lines if line]
    lines = [*_LENGTHS, *(_PADDED if padded else _JOINED), *lines]
    return emit(name, parameters(dict(pointers), SIZES), ("INDEX", "AT_ONCE", *constants), lines, helpers=helpers)


def _sum(kind, name, count) -> str:
    """Return a function for the logarithm of a sum given by logarithms."""
    text = Text()
    s = TritonBuilder(text)
    names = [f"x{n}" for n in range(count)]
    text.put(f"return {log_sum(s, *[s.wrap(kind, x) for x in names]).ref}")
    return f"def {name}({', '.join(names)}):\n" + "\n".join(text.lines) + "\n"
