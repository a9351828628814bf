"""Kernels without reduce dims: vectors along the last dim, the other dims flattened into rows.

The unit of work is a block of `BLOCK` elements of one row. Divisions that locate a row are done once for rows that follow each
other along one dim; for short rows they would cost more than the elements. A short body is written twice, for full vectors and
masked for the rest; a long one (transcendental functions) only masked, which costs little there.
"""

from .....ir.kernel.kernel import Kernel
from ...cost import kernel_cost
from ..ir.spelling import LlvmBuilder
from .nest import Nest, Where

BLOCK = 8192
CHAIN = 13      # instructions from which two vectors are computed side by side
SHORT = 16      # elements of a row that one vector holds
LONG_BODY = 50  # instructions from which one masked loop is better than two copies


class Elementwise(Nest):
    """A nest of an elementwise kernel."""

    def write(self):
        self.task()
        self.launch(self.units, lambda: self.product(d.extent for d in self.kernel.dims))

    def blocks(self):
        extent = self.number(self.kernel.dims[-1].extent) if self.kernel.dims else 1
        return self.f.ceil_div(extent, BLOCK)

    def units(self):
        return self.f.mul(self.product(d.extent for d in self.kernel.dims[:-1]), self.blocks())

    def task(self):
        self.start(self.module.task(f"{self.kernel.name}_task"))
        f, dims = self.f, self.kernel.dims
        if not dims:
            self.run(LlvmBuilder(f, 1), self.kernel.stages[0].body, {}, Where(self, {}))
            f.ret()
            return
        low, high = self.share(self.units())
        if len(dims) == 1:
            with f.loop(low, high) as loop:
                self.row(Where(self, {}), *self.bounds(loop.index, dims[0]))
        else:
            self.runs(low, high)
        self.end()
        f.ret()

    def runs(self, low, high):
        """Write blocks [low, high) of all rows, by runs: consecutive rows of one block along one dim, or one longer row."""
        f, (*before, along, inner) = self.f, self.kernel.dims
        blocks, extent = self.blocks(), self.number(along.extent)
        size = f.select(f.compare("eq", f.index(blocks), f.index(1)), f.index(f.max(extent, 1)), f.index(1))
        with f.loop(f.div(low, size), f.ceil_div(high, size)) as run:
            base = f.mul(run.index, size)
            *indices, start = self.indices(f.div(base, blocks), (*before, along))
            where = Where(self, dict(zip((d.name for d in before), indices)))
            first, last = self.bounds(f.mod(base, blocks), inner)
            skipped = f.sub(f.max(low, base), base)
            count = f.sub(f.min(high, f.add(base, size)), base)
            with f.loop(f.add(start, skipped), f.add(start, count)) as loop:
                self.row(where.within({along.name: loop.index}), first, last)

    def bounds(self, block, inner):
        """Return the first element of a block along the inner dim, and the end."""
        first = self.f.mul(block, BLOCK)
        return first, self.f.min(self.number(inner.extent), self.f.add(first, BLOCK))

    def end(self):
        """Hook of a task after its last store."""

    def width(self) -> int:
        """Return the elements side by side: two vectors for long chains, as one waits for its results; one if complex."""
        chain = self.cost() >= CHAIN and self.target.vector_registers >= 32
        return self.lanes() * (2 if chain and not any(i.dtype.is_complex for i in self.kernel.instructions()) else 1)

    def row(self, outer: Where, first, last):
        """Write elements [first, last) of one row."""
        f, lanes = self.f, self.width()
        if self.cost() < LONG_BODY:
            full = f.add(first, f.bit_and(f.sub(last, first), -lanes))
            with f.loop(first, full, lanes) as loop:
                self.vector(lanes, outer, loop.index, None)
            first = full
        with f.loop(first, last, lanes) as loop:
            self.vector(lanes, outer, loop.index, f.mask(f.sub(last, loop.index), lanes))

    def vector(self, lanes, outer, at, mask):
        dim = self.kernel.dims[-1].name
        where = outer.within({dim: at}, dim, mask)
        for stage in self.kernel.stages:
            self.run(LlvmBuilder(self.f, lanes), stage.body, {}, where)


class ShortRows(Elementwise):
    """A nest of a chain of instructions over rows that one vector holds: a second vector would be empty."""

    def width(self) -> int:
        return self.lanes()


def are_short(kernel: Kernel, extents) -> bool:
    """Return whether `ShortRows` should write a kernel over these extents."""
    return len(extents) > 1 and extents[-1] <= SHORT and kernel_cost(kernel) >= CHAIN
