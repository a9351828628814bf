"""One launch of a kernel of elements for many arrays of any sizes: a program finds its array from its number, by how many
programs those before it have. What it does there is what `elementwise.py` writes.
"""

from ....ir.kernel import Kernel
from .elementwise import Elementwise
from .nest import COLUMN_AXIS, SIZE, Parameter, Place, Source


class Many(Elementwise):
    """Writes a kernel of one dim for `slots` sets of its buffers. `over` names, for each result, the operand in whose memory it
    is written. Parameters are the numbers and the pointers to one element, which all sets share, the pointers of each set, then
    the sets' sizes; sets that are not used come last and have size 0."""

    def __init__(self, kernel: Kernel, numbers, over: tuple, slots: int):
        super().__init__(kernel, numbers)
        self.over, self.slots = over, slots
        written = {result for result, _ in over}
        alone = {b.name for b in kernel.buffers if not any(b.strides)}
        pointers = [p for p in super().parameters() if p.kind != SIZE and p.name not in written]
        self.shared = [p for p in pointers if p.name in alone]
        self.sets = [p for p in pointers if p.name not in alone]

    def name(self):
        return f"{self.kernel.name}_many"

    def parameters(self):
        found = self.shared + [Parameter(f"{p.name}_{i}", p.kind, p.dtype) for i in range(self.slots) for p in self.sets]
        return (*found, *[Parameter(f"{self.kernel.dims[0].extent}_{i}", SIZE) for i in range(self.slots)])

    def flat(self) -> Place:
        """Where a program works, once it knows in which set."""
        put, dim = self.text.put, self.kernel.dims[0]
        size, chosen = dim.extent, [*[p.name for p in self.sets], dim.extent]
        put("at_program = tl.program_id(0)")
        for name in chosen:
            put(f"{name} = {name}_0")
        put("first = 0")
        put(f"following = tl.cdiv({size}_0, COLS)")
        for i in range(1, self.slots):
            put("later = at_program >= following")
            for name in chosen:
                put(f"{name} = tl.where(later, {name}_{i}, {name})")
            put("first = tl.where(later, following, first)")
            put(f"following = following + tl.cdiv({size}_{i}, COLS)")
        for result, operand in self.over:
            put(f"{result} = {operand}")
        put(f"at_{dim.name} = ((at_program - first) * COLS).to(INDEX) + tl.arange(0, COLS)")
        put(f"inside = at_{dim.name} < {size}")
        return Place({dim.name: f"at_{dim.name}"}, {dim.name: frozenset({COLUMN_AXIS})}, {COLUMN_AXIS: "inside"})


def write(kernel: Kernel, numbers, over, slots) -> Source:
    """The kernel's file."""
    return Many(kernel, numbers, over, slots).source()
