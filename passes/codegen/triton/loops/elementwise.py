"""Kernels without reduce dims: tiles over the last dim, and over all others flattened.

A kernel that reads in one order and writes in another gets tiles over the last dims of both.
"""

from .....ir.kernel.kernel import Kernel, buffer_of
from ..ir.nest import COLUMN_AXIS, ROW_AXIS, Nest, Place
from ..ir.source import Source


def crossed(kernel: Kernel) -> int | None:
    """Return the dim that most buffers not contiguous along the last one are contiguous along, or None."""
    found: dict = {}
    for i in kernel.instructions():
        if i.op in ("load", "store"):
            strides = kernel.buffer(buffer_of(i)).strides
            for d in [d for d, s in enumerate(strides[:-1]) if s == 1 and strides[-1] != 1]:
                found[d] = found.get(d, 0) + 1
    return max(found, key=lambda d: (found[d], d), default=None)


class Elementwise(Nest):
    """An elementwise nest: one axis for one dim, two for more.

    With `apart`, all threads of a program load before any of them stores, so results may overwrite operands in any layout. With
    `down`, the rows of a tile are of that dim, so the compiler sees contiguous elements along it.
    """

    def __init__(self, kernel: Kernel, numbers=frozenset(), apart=False, down: int | None = None):
        super().__init__(kernel, numbers)
        self.apart, self.down = apart, down
        self.constants = ("INDEX", "COLS") if len(kernel.dims) < 2 else ("INDEX", "ROWS", "COLS")

    def write(self):
        place = self.flat() if len(self.kernel.dims) < 2 else self.tile() if self.down is None else self.square(self.down)
        for stage in self.kernel.stages:
            env: dict = {}
            stores = [i for i in stage.body if i.op == "store"] if self.apart else []
            self.run([i for i in stage.body if i not in stores], env, place)
            if stores:
                self.text.put("tl.debug_barrier()")
            self.run(stores, env, place)

    def flat(self) -> Place:
        """Return the place of a program with one dim (or none)."""
        if not self.kernel.dims:
            return Place({}, {}, {})
        dim, axes = self.kernel.dims[0], frozenset({COLUMN_AXIS})
        self.text.put(f"at_{dim.name} = {self.programs[0]}.to(INDEX) * COLS + tl.arange(0, COLS)")
        self.text.put(f"inside = at_{dim.name} < {dim.extent}")
        return Place({dim.name: f"at_{dim.name}"}, {dim.name: axes}, {COLUMN_AXIS: "inside"})

    def tile(self) -> Place:
        """Return the place of a program with several dims: rows of the outer dims, columns of the last."""
        *outer, last = self.kernel.dims
        put = self.text.put
        put(f"n_across = tl.cdiv({last.extent}, COLS)")
        put(f"at_program = {self.programs[0]}.to(INDEX)")
        put("at_row = ((at_program // n_across) * ROWS + tl.arange(0, ROWS))[:, None]")
        put(f"at_{last.name} = ((at_program % n_across) * COLS + tl.arange(0, COLS))[None, :]")
        put(f"in_row = at_row < {self.product(outer)}")
        put(f"in_{last.name} = at_{last.name} < {last.extent}")
        found = self.indices("at_row", outer)
        axes = dict.fromkeys(found, frozenset({ROW_AXIS})) | {last.name: frozenset({COLUMN_AXIS})}
        return Place(found | {last.name: f"at_{last.name}"}, axes, {ROW_AXIS: "in_row", COLUMN_AXIS: f"in_{last.name}"})

    def square(self, down: int) -> Place:
        """Return the place of a program along two dims, at one point of all others."""
        *outer, last = self.kernel.dims
        rows = outer.pop(down)
        put = self.text.put
        put(f"n_across = tl.cdiv({last.extent}, COLS)")
        put(f"n_down = tl.cdiv({rows.extent}, ROWS)")
        put(f"at_program = {self.programs[0]}.to(INDEX)")
        put(f"at_{last.name} = ((at_program % n_across) * COLS + tl.arange(0, COLS))[None, :]")
        put("at_tile = at_program // n_across")
        put(f"at_{rows.name} = ((at_tile % n_down) * ROWS + tl.arange(0, ROWS))[:, None]")
        put("at_others = at_tile // n_down")
        masks = {}
        for axis, dim in ((ROW_AXIS, rows), (COLUMN_AXIS, last)):
            put(f"in_{dim.name} = at_{dim.name} < {dim.extent}")
            masks[axis] = f"in_{dim.name}"
        found = self.indices("at_others", outer)
        axes = dict.fromkeys(found, frozenset()) | {rows.name: frozenset({ROW_AXIS}), last.name: frozenset({COLUMN_AXIS})}
        return Place(found | {d.name: f"at_{d.name}" for d in (rows, last)}, axes, masks)

    def store_axes(self, axes, place):
        """Return both axes: along an axis where a buffer does not vary all lanes store the same, and both masks limit them."""
        return frozenset(place.masks)


def write(kernel: Kernel, numbers=frozenset(), apart=False, down: int | None = None) -> Source:
    """Return the kernel's file."""
    return Elementwise(kernel, numbers, apart, down).source()
