"""Folds of many arrays: parts of several arrays by one launch, then the parts of each in order.

An array is cut in parts of PART elements, whatever the other arrays, so its result is the same in every list. Parts of all
arrays are stored in sequence.
"""

import functools

from .....ir import dtype as dt
from ..ir.source import POINTER, SIZE, Parameter, Source, emit
from ..ir.spelling import TYPE, Text
from .multi_tensor import SLOTS, choose, slotted

PART = 1 << 14
COLS = 2048
LISTED = 128        # most arrays of a combining launch
# Term of an element, and function of the sum; "wrong" counts elements that are infinite or nan.
_OF_ELEMENT = {"square": "v * v", "size": "tl.abs(v)", "wrong": "((v != v) | (tl.abs(v) == float('inf'))).to({wide})"}
_OF_SUM = {"square": "{root}(total)", "size": "total", "wrong": "total"}


def wide(dtype: dt.DType) -> dt.DType:
    """Return the dtype of sums."""
    return dt.accumulator(dtype)


@functools.lru_cache(64)
def partial_sums(what: str, dtype: dt.DType) -> Source:
    """Return the kernel for the sums of each part of up to SLOTS arrays; `at` is the place of an array's first one."""
    kind, text = TYPE[wide(dtype)], Text()
    choose(text.put, ("x", "n", "at"), SLOTS)
    text.put("low = own_program.to(INDEX) * PART")
    text.put(f"total = tl.zeros([COLS], {kind})")
    with text.block("for begin in range(low, tl.minimum(low + PART, n), COLS):"):
        text.put("here = begin + tl.arange(0, COLS)")
        text.put(f"v = tl.load(x + here, here < n, 0).to({kind})")
        text.put(f"total = total + {_OF_ELEMENT[what].format(wide=kind)}")
    text.put("tl.store(made + (at + own_program), tl.sum(total, 0))")
    sets = slotted([Parameter("x", POINTER, dtype)], [Parameter("n", SIZE), Parameter("at", SIZE)], SLOTS)
    name = f"{what}_parts_{dtype.short}_many"
    return emit(name, (Parameter("made", POINTER, wide(dtype)), *sets), ("INDEX", "COLS", "PART"), _unindented(text))


@functools.lru_cache(64)
def combined(what: str, dtype: dt.DType, out: dt.DType) -> Source:
    """Return the kernel that combines the parts of up to LISTED arrays, one program each; those of array i are at_i ..
    at_(i+1)."""
    kind, text = TYPE[dtype], Text()
    text.put("own = tl.program_id(0)")
    text.put("low = at_0")
    text.put("high = at_1")
    for i in range(1, LISTED):
        text.put(f"low = tl.where(own >= {i}, at_{i}, low)")
        text.put(f"high = tl.where(own >= {i}, at_{i + 1}, high)")
    text.put(f"sums = tl.zeros([COLS], {kind})")
    with text.block("for begin in range(low, high, COLS):"):
        text.put("here = begin + tl.arange(0, COLS)")
        text.put("sums = sums + tl.load(parts + here, here < high, 0)")
    text.put("total = tl.sum(sums, 0)")
    found = _OF_SUM[what].format(root="tl.sqrt_rn" if dtype is dt.float32 else "tl.sqrt")
    text.put(f"tl.store(made + own, ({found}).to({TYPE[out]}))")
    parameters = (Parameter("parts", POINTER, dtype), Parameter("made", POINTER, out),
                  *[Parameter(f"at_{i}", SIZE) for i in range(LISTED + 1)])
    return emit(f"{what}_of_parts_{out.short}", parameters, ("INDEX", "COLS"), _unindented(text))


def _unindented(text) -> list:
    return [line[4:] for line in text.lines]
