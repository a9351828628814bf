"""Multi-tensor launches: one launch of a kernel for many sets of operands, of any sizes.

A program finds its set from its number and the program counts of the sets before. The kernel's own strategy writes the rest.
"""

from ..ir.nest import Nest
from ..ir.source import SIZE, Parameter, Source

SLOTS = 16                  # most sets of a launch
PROGRAMS = "programs"       # name of the parameter with a set's number of programs


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
