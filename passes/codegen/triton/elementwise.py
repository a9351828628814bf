"""Kernels without reduce dims: tiles over the last dim, and over all others as one."""

from ....ir.kernel import Kernel
from .nest import COLUMN_AXIS, ROW_AXIS, Nest, Place, Source


class Elementwise(Nest):
    """Writes an elementwise kernel: one axis for one dim, two for more. With `apart`, all threads of a program have loaded
    before any of them stores, so that results may lie where operands do, whatever threads load which elements."""

    def __init__(self, kernel: Kernel, numbers=frozenset(), apart=False):
        super().__init__(kernel, numbers)
        self.apart = apart
        self.constants = ("INDEX", "COLS") if len(kernel.dims) < 2 else ("INDEX", "ROWS", "COLS")

    def write(self):
        place = self.flat() if len(self.kernel.dims) < 2 else self.tile()
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

    def store_axes(self, axes, place):
        """Where a buffer stands still along an axis all lanes of it write the same; the mask of both keeps bounds."""
        return frozenset(place.masks)


def write(kernel: Kernel, numbers=frozenset(), apart=False) -> Source:
    """The kernel's file."""
    return Elementwise(kernel, numbers, apart).source()
