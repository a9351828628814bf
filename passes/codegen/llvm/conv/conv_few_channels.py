"""Direct convolutions with few output channels: sums along input channels, where vectors of output channels would be mostly
empty.

All but the register tile is `conv.py`'s: items, rows, borders, epilogues, layouts of x and y. A tile is pixels of a row times
output channels. For each of them one vector gathers the products of adjacent input channels (and of adjacent taps, if their
channels are adjacent), and its lanes are added at the end in a fixed order. The weight has the order in which x is read:

    w  [group][output][channel block][tap d][tap h][tap w][B]

The task `turn` makes it from a packed weight.
"""

from dataclasses import dataclass
from typing import ClassVar

from ..contract.microkernel import add_lanes_of, multiply_add, row_offsets
from ..ir.emit import ElementWriter
from ..ir.types import I1, bytes_of, vector, vector_constant, zero
from ..pool.tasks import split_index, task_items
from .conv import ConvKernel
from .conv_tile import sum_bytes

TURN_WORDS = ("source", "target", "items", "chunks", "rows", "outputs", "source_group", "source_row", "target_group",
              "target_output")
_SUMS, _FEW_SUMS = 24, 8                         # vectors of a tile with 32 registers, and with 16
_MOST_PIXELS = 16


@dataclass(frozen=True)
class FewOutputsKernel(ConvKernel):
    """Generator for `outputs` output channels."""

    outputs: int = 1
    gathers: ClassVar[bool] = True

    @property
    def rows(self) -> int:
        room = _SUMS if self.target.vector_registers >= 32 else _FEW_SUMS
        return max(1, min(_MOST_PIXELS, room // self.outputs))

    @property
    def symbol(self) -> str:
        return f"few_{self.outputs}_{super().symbol}"

    @property
    def scratch_bytes(self) -> int:
        """Bytes of the sums of the largest tile, in whole squares of lanes."""
        return -(-self.rows * self.outputs // self.lanes) * self.lanes * sum_bytes(self)

    def ready(self, f, job, pixels: int) -> tuple:
        """Return the offsets of pixels and output channels."""
        return pixels, row_offsets(f, job.x_pixel, pixels), row_offsets(f, job.w_output, self.outputs)

    def no_sums(self, pixels: int) -> list:
        """Return a vector for each output channel of each pixel."""
        return [zero(vector(self.lanes, self.precision.accumulate))] * (pixels * self.outputs)

    def _added(self, f, ready, x, w, sums, steps):
        pixels, pixel_at, output_at = ready
        size, type_ = bytes_of(self.precision.a), vector(self.lanes, self.precision.a)

        def products(sums, first, mask=None):
            here, there = f.at(x, f.mul(first, size)), f.at(w, f.mul(first, size))

            def load(pointer):
                return f.load_masked(type_, pointer, mask)

            weights, found = [load(f.at(there, output_at(number))) for number in range(self.outputs)], []
            for pixel in range(pixels):
                values = load(f.at(here, pixel_at(pixel)))
                before = sums[pixel * self.outputs:(pixel + 1) * self.outputs]
                found += [multiply_add(f, values, weight, total) for weight, total in zip(weights, before)]
            return found

        if isinstance(steps, int):
            for first in range(0, steps, self.lanes):
                sums = products(sums, first, f.mask(steps - first, self.lanes) if steps - first < self.lanes else None)
            return sums
        whole = f.bit_and(steps, -self.lanes)
        with f.loop(0, whole, self.lanes, sums) as loop:
            loop.next(*products(loop.carried, loop.index))
        rest, sums = f.sub(steps, whole), list(loop.results)
        return list(f.choose(f.compare("sgt", rest, 0), lambda: products(sums, whole, f.mask(rest, self.lanes)), lambda: sums))

    def gather(self, f, sums, pixels):
        """Add the lanes of the vectors that a tile leaves in the scratch, into adjacent sums."""
        lanes, type_ = self.lanes, vector(self.lanes, self.precision.accumulate)
        with f.loop(0, f.mul(pixels, self.outputs), lanes) as loop:
            first = f.at(sums, loop.index, type_)
            square = [f.load(type_, f.at(first, i, type_)) for i in range(lanes)]
            f.store(add_lanes_of(f, square)[0], f.at(sums, loop.index, self.precision.accumulate))

    def sum(self, f, sums, type_, number, pixel):
        """Load the output channels of a pixel into the lowest lanes, zeros into the others."""
        value = f.load(type_, f.at(sums, f.mul(pixel, self.outputs), self.precision.accumulate))
        existing = vector_constant(I1, [lane < self.outputs for lane in range(self.lanes)])
        return f.select(existing, value, zero(type_))


@dataclass(frozen=True)
class TurnKernel(ElementWriter):
    """Generator of the task that reorders a packed weight for a `FewOutputsKernel`."""

    symbol: str = "turn_few"

    def write(self, module):
        size = bytes_of(self.element)
        with task_items(module, self.symbol, TURN_WORDS) as (f, job, number):
            group, row = split_index(f, number, (1, job.rows))
            source = f.at(job.address("source"), f.add(f.mul(group, job.source_group), f.mul(row, job.source_row)))
            target = f.at(job.address("target"), f.add(f.mul(group, job.target_group), f.mul(row, size)))
            with f.loop(0, job.outputs) as each:
                value = f.load(self.element, f.at(source, f.mul(each.index, size)))
                f.store(value, f.at(target, f.mul(each.index, job.target_output)))
