"""Elementwise kernels whose results are larger than caches: non-temporal stores.

A store to a line outside the cache first reads the line. Here whole, aligned vectors of one result go straight to memory, which
saves that read. The elements before the first aligned vector and after the last whole one are masked. Values are those of
`elementwise.py`.
"""

from .....ir.kernel.kernel import Kernel
from ..ir.memory_types import memory_element
from ..ir.types import I64, VOID, bytes_of
from .elementwise import Elementwise
from .nest import Where

WORTH = 32 << 20        # bytes of a result from which streaming pays


class Streaming(Elementwise):
    """An elementwise nest whose first contiguous result bypasses the caches."""

    def write(self):
        self.streamed = streamed_buffer(self.kernel)
        super().write()

    def row(self, outer: Where, first, last):
        """Write elements [first, last) of one row: the unaligned ends, then whole vectors."""
        f, lanes, buffer = self.f, self.width(), self.streamed
        size = buffer.dtype.itemsize
        address = f.cast("ptrtoint", f.at(outer.bases[buffer.name], first, memory_element(buffer.dtype)), I64)
        head = f.div(f.bit_and(f.sub(0, address), lanes * size - 1), size)
        start = f.min(f.add(first, head), last)
        whole = f.add(start, f.bit_and(f.sub(last, start), -lanes))
        with f.loop(0, 2) as loop:
            ahead = f.compare("eq", loop.index, 0)
            low, high = f.select(ahead, f.index(first), whole), f.select(ahead, start, f.index(last))
            with f.when(f.compare("slt", low, high)):
                self.vector(lanes, outer, low, f.mask(f.sub(high, low), lanes))
        with f.loop(start, whole, lanes) as loop:
            self.vector(lanes, outer, loop.index, None)

    def end(self):
        """Fence, since other threads read only what has left this one's write buffers."""
        if self.target.arch == "x86_64":
            self.f.call("llvm.x86.sse.sfence", VOID)

    def store(self, s, value, buffer, pointer, stride, mask=None):
        if mask is not None or buffer is not self.streamed:
            super().store(s, value, buffer, pointer, stride, mask)
            return
        raw = s.to_memory(value)
        self.f.store(raw, pointer, align=bytes_of(raw.type), nontemporal=True)


def streamed_buffer(kernel: Kernel):
    """Return the first result that is contiguous along the last dim and has an element per point, or None."""
    own = (b for b in kernel.buffers if b.role == "out" and b.strides and 0 not in b.strides)
    return next((b for b in own if b.strides[-1] == 1), None)


def suits(kernel: Kernel, points: int) -> bool:
    """Return whether a kernel over this many points should stream."""
    buffer = streamed_buffer(kernel)
    return buffer is not None and points * buffer.dtype.itemsize >= WORTH
