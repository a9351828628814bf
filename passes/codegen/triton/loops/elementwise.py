"""Kernels without reduce dims: tiles over the last dim, and over all others as one; where memory is read in one order and
written in another, over the last dims of both.
"""

from .....ir.kernel.kernel import Kernel, buffer_of
from ..ir.nest import COLUMN_AXIS, ROW_AXIS, Nest, Place
from ..ir.source import Source


def crossed(kernel: Kernel) -> int | None:
    """The dim along which most of the buffers lie that do not lie along the last one; None where there is none."""
    found: dict = {}
    for i in kernel.instructions():
        if i.op in ("load", "store"):
            strides = kernel.buffer(buffer_of(i)).strides
            for d in [d for d, s in enumerate(strides[:-1]) if s == 1 and strides[-1] != 1]:
                found[d] = found.get(d, 0) + 1
    return max(found, key=lambda d: (found[d], d), default=None)


class Elementwise(Nest):
    """Write an elementwise kernel: one axis for one dim, two for more. With `apart`, all threads of a program have loaded
    before any of them stores, so that results may lie where operands do, whatever threads load which elements. Rows of a tile
    are those of one dim if `down` says of which, so that a compiler sees what lies side by side along it."""

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
        """Where a program of a kernel with one dim (or none) works."""
        if not self.kernel.dims:
            return Place({}, {}, {})
        dim, axes = self.kernel.dims[0], frozenset({COLUMN_AXIS})
        self.text.put(f"at_{dim.name} = {self.programs[0]}.to(INDEX) * COLS + tl.arange(0, COLS)")
        self.text.put(f"inside = at_{dim.name} < {dim.extent}")
        return Place({dim.name: f"at_{dim.name}"}, {dim.name: axes}, {COLUMN_AXIS: "inside"})

    def tile(self) -> Place:
        """Where a program of a kernel with several dims works: rows of the outer dims beside columns of the last."""
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
        """Where a program of a kernel works that goes along two dims: a tile of both, at one place of all others."""
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
        """Where a buffer stands still along an axis all lanes of it write the same; the mask of both keeps bounds."""
        return frozenset(place.masks)


def write(kernel: Kernel, numbers=frozenset(), apart=False, down: int | None = None) -> Source:
    """The kernel's file."""
    return Elementwise(kernel, numbers, apart, down).source()
