"""Direct convolutions with few output channels, by sums along input channels (`passes/codegen/llvm/conv/conv_few_channels.py`).

All but the weight's layout is that of direct convolutions (`conv_plan.py`).
"""

import functools
from dataclasses import dataclass, replace

from ....ir.target import host
from ....passes.codegen.llvm.contract.microkernel import Precision
from ....passes.codegen.llvm.conv import conv_few_channels as codegen
from ....passes.codegen.llvm.conv.conv_epilogue import Usual
from ..calls.plan import WORKSPACE, share
from ..compiler.compile import task_of
from .conv_layout import Blocks

_MOST_WRITTEN = 8                   # unrolled vectors of a row of taps
_ADDING = 3                         # cost of summing the lanes of a vector, in multiply-adds
_GAIN = 1.2                         # factor by which the other kernel must be slower
_ELEMENTS = {4: "float", 8: "double"}


@dataclass(frozen=True)
class FewFilters:
    """A weight in this order: the names of `conv_layout.Filters`, and the bytes from one `output` to the next."""

    blocks: Blocks
    outputs: int
    taps: int
    panels: int = 1

    @property
    def tap(self) -> int:
        return self.blocks.pixel

    @property
    def block(self) -> int:
        return self.taps * self.tap

    @property
    def output(self) -> int:
        return self.blocks.count * self.block

    @property
    def panel(self) -> int:
        return self.outputs * self.output

    @property
    def group(self) -> int:
        return self.panel


def _row(geometry) -> int:
    """Return the elements of x that are adjacent at the taps of a row of a window."""
    width = geometry.dims[2]
    return geometry.x_blocks.width * (width.taps if width.dilation == 1 else 1)


def pays(geometry) -> bool:
    """Whether vectors along input channels need fewer multiply-adds than vectors of output channels."""
    if geometry.outputs > geometry.lanes // 2 or geometry.x_plain:
        return False
    row = _row(geometry)
    rows = geometry.taps * geometry.x_blocks.width // max(1, row) * geometry.x_blocks.count
    each = rows * -(-row // geometry.lanes) + _ADDING
    return _GAIN * each * geometry.outputs < geometry.taps * geometry.inputs


def kernel(geometry, epilogue=None) -> codegen.FewOutputsKernel:
    """Return the kernel, with tiles of all heights."""
    row, element = _row(geometry), _ELEMENTS[geometry.item]
    written = row if row <= _MOST_WRITTEN * geometry.lanes else 0
    return codegen.FewOutputsKernel(host(), Precision.of(element), 1, epilogue or Usual(element), written=written,
                                    outputs=geometry.outputs)


@functools.lru_cache(None)
def task(kernel: codegen.FewOutputsKernel, heights: tuple) -> int:
    """Return the address of a kernel that has tiles of these heights, or of all if there are none."""
    return task_of(replace(kernel, heights=heights))


@functools.lru_cache(None)
def _turn(item):
    return task_of(codegen.TurnKernel(host(), _ELEMENTS[item]))


def add_reordered(steps, geometry, filters, w):
    """Add the steps that reorder a packed weight at (slot, offset); return (filters, location)."""
    found = FewFilters(filters.blocks, geometry.outputs, filters.taps)
    target, rows = (WORKSPACE, steps.room(geometry.groups * found.group)), found.output // geometry.item
    items = geometry.groups * rows
    chunks = share(items * geometry.outputs, items, steps.threads)
    words = {"items": items, "chunks": chunks, "rows": rows, "outputs": geometry.outputs, "source_group": filters.group,
             "source_row": filters.step, "target_group": found.group, "target_output": found.output}
    steps.add(_turn(geometry.item), chunks, codegen.TURN_WORDS, words, {"source": w, "target": target})
    return found, target
