"""One launch of a kernel for many sets of its operands, of any sizes: a program finds its set from its number, by how many
programs those before it have. What it does there is what the kernel's own strategy writes.
"""

from ..ir.nest import Nest
from ..ir.source import SIZE, Parameter, Source

SLOTS = 16                  # sets that a launch serves at most
PROGRAMS = "programs"       # the parameter that says how many programs a set has


def write(nest: Nest, slots: int, shared=frozenset(), over: tuple = ()) -> Source:
    """The file of a strategy for `slots` sets. Parameters named in `shared` are the same for all sets; `over` names, for
    results that lie where an operand does, that operand.

    Parameters are those that are shared, the pointers of each set, then the sizes of each set with the number of its programs;
    sets that are not used come last and have none."""
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
    """The parameters of all sets, given those of one."""
    columns = pointers, [*sizes, Parameter(PROGRAMS, SIZE)]
    return tuple([Parameter(f"{p.name}_{i}", p.kind, p.dtype) for kind in columns for i in range(slots) for p in kind])


def choose(put, names, slots: int):
    """Finds a program's set: what belongs to it gets its plain name, `own_program` is its number among those of the set."""
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
