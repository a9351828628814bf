"""Multi-tensor launches: one launch of a kernel for many sets of operands of any sizes, and folds of many arrays.

A program finds its set from its number and the program counts of the sets before. The kernel's own strategy writes the rest.

A fold cuts each array in parts of PART elements, whatever the other arrays, so its result is the same in every list. One launch
folds the parts of several arrays, stored in sequence; another folds the parts of each array in order.
"""

import functools

from .....ir import dtype as dt
from ..ir.nest import Nest
from ..ir.source import SIZE, Parameter, Source, emit, parameters
from ..ir.spelling import TYPE, Text

SLOTS = 16                  # most sets of a launch
PROGRAMS = "programs"       # name of the parameter with a set's number of programs
PART = 1 << 14
COLS = 2048
LISTED = 128        # most arrays of a combining launch
# Term of an element, and function of the sum; "wrong" counts elements that are infinite or nan.
_OF_ELEMENT = {"square": "v * v", "size": "tl.abs(v)", "wrong": "((v != v) | (tl.abs(v) == float('inf'))).to({wide})"}
_OF_SUM = {"square": "{root}(total)", "size": "total", "wrong": "total"}


def write(nest: Nest, slots: int, shared=frozenset(), over: tuple = ()) -> Source:
    """Return the file of a strategy for `slots` sets.

    Parameters named in `shared` are the same for all sets; `over` names, for results in place of an operand, that operand.
    Parameters are the shared ones, the pointers of each set, then the sizes of each set with its number of programs. Unused
    sets come last, with none.
    """
    written = {result for result, _ in over}
    own = [p for p in nest.parameters() if p.name not in written]
    alone, sets = [p for p in own if p.name in shared], [p for p in own if p.name not in shared]
    pointers, sizes = [p for p in sets if p.kind != SIZE], [p for p in sets if p.kind == SIZE]
    choose(nest.text.put, [p.name for p in (*pointers, *sizes)], slots)
    for result, operand in over:
        nest.text.put(f"{result} = {operand}")
    nest.programs = ("(own_program // PARTS)", "(own_program % PARTS)") if nest.has_parts else ("own_program", "0")
    nest.write()
    return nest.file(f"{nest.name()}_many", (*alone, *slotted(pointers, sizes, slots)))


def slotted(pointers, sizes, slots: int) -> tuple:
    """Return the parameters of all sets, given those of one."""
    columns = pointers, [*sizes, Parameter(PROGRAMS, SIZE)]
    return tuple([Parameter(f"{p.name}_{i}", p.kind, p.dtype) for kind in columns for i in range(slots) for p in kind])


def choose(put, names, slots: int):
    """Write lines that find a program's set: its parameters get plain names, and `own_program` is the program's number in the
    set."""
    put("in_all = tl.program_id(0)")
    for name in names:
        put(f"{name} = {name}_0")
    put("first = 0")
    put(f"following = {PROGRAMS}_0")
    for i in range(1, slots):
        put("later = in_all >= following")
        for name in names:
            put(f"{name} = tl.where(later, {name}_{i}, {name})")
        put("first = tl.where(later, following, first)")
        put(f"following = following + {PROGRAMS}_{i}")
    put("own_program = in_all - first")


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
    sets = slotted(parameters({"x": dtype}), parameters({}, ("n", "at")), SLOTS)
    name = f"{what}_parts_{dtype.short}_many"
    own = (*parameters({"made": wide(dtype)}), *sets)
    return emit(name, own, ("INDEX", "COLS", "PART"), [line[4:] for line in text.lines])


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
    own = parameters({"parts": dtype, "made": out}, [f"at_{i}" for i in range(LISTED + 1)])
    return emit(f"{what}_of_parts_{out.short}", own, ("INDEX", "COLS"), [line[4:] for line in text.lines])
