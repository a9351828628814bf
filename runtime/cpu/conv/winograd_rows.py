"""Winograd convolutions along the height alone, on x in planes (`passes/codegen/llvm/conv/winograd_rows.py`)."""

import functools
from dataclasses import dataclass
from typing import ClassVar

from ....ir import config
from ....ir.target import host
from ....passes.codegen.llvm.conv import winograd_rows as codegen
from ....passes.codegen.llvm.conv.conv_epilogue import Usual
from ..calls.plan import OPERANDS, WORKSPACE, share
from ..compiler.compile import compile_module, task_of
from ..compiler.ir_cache import text_of
from .conv_plan import Geometry, few_inputs
from .winograd import PlainWeight

MOST_PHASES = 4
_REACHES = (3, 4)                   # taps of a phase
_BLOCK_TILES = 10                    # register tiles of pixels whose products are in a near cache when they are transformed
_APART = 192                        # bytes between planes, so that they do not all meet in one set of a cache
_LINE = 64                          # bytes of a cache line
# In vector multiply-adds: one with its loads in the direct kernel, and here; moving a vector of products to the results; making
# a vector of the transformed input.
_DIRECT, _PRODUCT, _MOVE, _TAKE = 1.05, 1.05, 16.0, 6.0


@dataclass(frozen=True)
class Rows:
    """F(m, r) along the height, for so many phases (a stride), each with r of the taps."""

    phases: int

    planes: ClassVar[bool] = True   # it reads x as planes

    def kernel(self, g: Geometry, along: int = 1, *epilogue) -> codegen.RowsKernel:
        """Return the kernel for a stride along the width."""
        _, height, width = g.dims
        return codegen.RowsKernel(host(), -(-height.taps // self.phases), width.taps, (self.phases, along), *epilogue)

    def filter_bytes(self, g: Geometry) -> int:
        return self._panels(g) * codegen.PLACES * self._panel_bytes(g)

    def add_weight(self, steps, g: Geometry, weight: PlainWeight, u):
        items = self._panels(g) * g.inputs * self.phases * g.dims[2].taps
        chunks = share(self.filter_bytes(g), items, steps.threads)
        words = {"items": items, "chunks": chunks, "inputs": g.inputs, "taps_h": g.dims[1].taps, "outputs": g.outputs,
                 "w_output": g.inputs * g.taps * g.item, "u_place": self._panel_bytes(g)}
        steps.add(_filter_task(self.kernel(g)), chunks, codegen.FILTER_WORDS, words,
                  {"source": weight.location, "target": u} | weight.slots())

    def add(self, steps, g: Geometry, x, weight: PlainWeight, u, y, operands=(OPERANDS, 0), epilogue=None):
        """Add the step of the convolution; `u` is the transformed weight."""
        _, height, width = g.dims
        kernel = self.kernel(g, width.stride, epilogue or Usual("float"))
        threads, pixel, row_tiles = steps.threads, g.lanes * g.item, -(-height.out // kernel.rows)
        met = (-(-width.out // kernel.pixels) * kernel.pixels - 1) * width.stride + width.taps
        t_lead = -(-width.low * g.item // _LINE) * _LINE
        t_row = t_lead + -(-max(width.size, met - width.low) * g.item // _LINE) * _LINE
        t_place = g.inputs * self.phases * t_row + _APART
        block = kernel.pixels * min(_BLOCK_TILES, -(-width.out // kernel.pixels))
        m_place, m_start = block * kernel.vectors * pixel + _APART, codegen.PLACES * t_place + t_row
        scratch = -(-(m_start + codegen.PLACES * m_place) // 4096) * 4096 + 512
        items = g.images * row_tiles
        chunks = share(g.work, items, threads)
        words = {
            "scratch_bytes": scratch, "items": items, "chunks": chunks, "row_tiles": row_tiles, "height": height.size,
            "width": width.size, "out_height": height.out, "out_width": width.out, "pad_h": height.low, "pad_w": width.low,
            "inputs": g.inputs, "taps_h": height.taps, "x_image": g.inputs * g.pixels * g.item, "x_plane": g.pixels * g.item,
            "x_row": width.size * g.item, "y_image": g.y_blocks.count * g.out_pixels * pixel, "y_block": g.out_pixels * pixel,
            "y_row": width.out * pixel, "y_blocks": g.y_blocks.count, "panels": self._panels(g), "outputs": g.outputs,
            "w_output": g.inputs * g.taps * g.item, "t_row": t_row, "t_lead": t_lead, "t_place": t_place,
            "m_start": m_start, "m_place": m_place, "block_pixels": block}
        room = WORKSPACE, steps.room(scratch * (threads if chunks > 1 else 1))
        steps.add(task_of(kernel), chunks, codegen.WORDS, words,
                  {"x": x, "w": weight.location, "u": u, "y": y, "operands": operands, "scratch": room} | weight.slots())

    def _panels(self, g):
        return -(-g.outputs // (self.kernel(g).vectors * g.lanes))

    def _panel_bytes(self, g):
        """Return the bytes of a panel of the weight for one product of a line."""
        return g.inputs * self.phases * g.dims[2].taps * self.kernel(g).vectors * g.lanes * g.item


@functools.lru_cache(None)
def _filter_task(kernel):
    return compile_module(text_of(kernel, "filter_text"), [kernel.filter_symbol])[kernel.filter_symbol]


def choose(g: Geometry) -> Rows | None:
    """Return the algorithm if it pays."""
    depth, height, width = g.dims
    if (g.item != 4 or g.groups != 1 or g.x_full or not few_inputs(g) or depth.taps != 1 or depth.size != 1 or depth.out != 1
            or height.dilation != 1 or width.dilation != 1 or height.low < 0 or width.low < 0 or height.stride > MOST_PHASES
            or -(-height.taps // height.stride) not in _REACHES or not host().fma or config.current().numerics == "strict"):
        return None
    rows = Rows(height.stride)
    kernel = rows.kernel(g, width.stride)
    lines = g.images * -(-height.out // kernel.rows) * codegen.PLACES
    pixels, planes = -(-width.out // kernel.pixels) * kernel.pixels, g.inputs * rows.phases
    vectors = -(-g.outputs // (kernel.vectors * g.lanes)) * kernel.vectors
    time = lines * (pixels * vectors * (_PRODUCT * planes * width.taps + _MOVE) + _TAKE * planes * width.size / g.lanes)
    return rows if time < _DIRECT * g.work / g.lanes else None
