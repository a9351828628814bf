"""Depthwise convolutions of plain arrays without blocks (`passes/codegen/llvm/conv/conv_depthwise_planar.py`)."""

import functools

from ....ir.target import host
from ....passes.codegen.llvm.contract.epilogue import ColumnBias
from ....passes.codegen.llvm.conv import conv_depthwise_planar as codegen
from ....passes.codegen.llvm.conv.conv_epilogue import Lines, following
from ..calls.plan import OPERANDS, SlotJobs, W, X, Y, share
from ..compiler.compile import task_of
from . import conv_depthwise
from .conv_layout import Bias, FusedPlan, PlannedConv
from .conv_plan import Geometry, Window

_MASKED_BYTES = 32                  # vectors from which loading some of their lanes is an instruction
_PLANES_A_THREAD = 4                # planes from which their rows are not shared out
_ELEMENTS = {4: "float", 8: "double"}


def takes(g: Geometry) -> bool:
    """Whether each group is one channel, in images whose windows the kernel can unroll."""
    depth, _, width = g.dims
    return (g.inputs == 1 and g.groups > 1 and depth == Window(1, 1) and width.stride in codegen.STRIDES
            and 0 < g.taps <= _most_taps() and host().vector_bytes >= _MASKED_BYTES)


def _most_taps():
    """Return the taps up to which this beats blocks: weights beyond the registers are loaded for each product."""
    return 25 if host().vector_registers >= 32 else 12


@functools.lru_cache(None)
def _task(item, window, rows, lanes, flipped, epilogue):
    made = codegen.PlanesKernel(host(), _ELEMENTS[item], window, rows, lanes, flipped, epilogue)
    return made, task_of(made)


def rows_of(height: int) -> int:
    """Return the rows of a tile: as many as registers take, all tiles about the same."""
    most = 8 if host().vector_registers >= 32 else 4
    return -(-height // -(-height // most))


def add_planes(steps, g: Geometry, flipped: bool = False, epilogue=None):
    """Add the step of a depthwise convolution from X and W to Y; `flipped` flips the taps."""
    _, height, width = g.dims
    window = codegen.PlaneWindow(*((getattr(height, name), getattr(width, name)) for name in ("taps", "stride", "dilation")))
    lanes = g.lanes // 2 if g.lanes * g.item > _MASKED_BYTES and width.out <= g.lanes // 2 else g.lanes
    made, task = _task(g.item, window, rows_of(height.out), lanes, flipped, epilogue or ColumnBias(_ELEMENTS[g.item]))
    channels, tiles, threads = g.groups * g.outputs, -(-height.out // made.rows), steps.threads
    planes = g.images * channels
    parts = 1 if threads == 1 else min(tiles, -(-_PLANES_A_THREAD * threads // planes))
    items = planes * parts
    chunks = share(g.work, items, threads)
    last = min(width.out - lanes, (width.size - made.span[1] + width.low) // width.stride)
    words = {"items": items, "chunks": chunks, "inputs": g.groups, "channels": channels, "times": g.outputs, "parts": parts,
             "tiles": tiles, "x_plane": g.pixels * g.item, "y_plane": g.out_pixels * g.item, "height": height.size,
             "width": width.size, "out_height": height.out, "out_width": width.out, "pad_h": height.low, "pad_w": width.low,
             "inner_first": max(0, -(-width.low // (width.stride * lanes)) * lanes), "inner_end": last + 1}
    steps.add(task, chunks, codegen.WORDS, words, {"x": (X, 0), "w": (W, 0), "y": (Y, 0), "operands": (OPERANDS, 0)})


def input_geometry(forward: Geometry) -> Geometry | None:
    """Return the convolution of the gradient with flipped taps that gives the gradient of the input, or None."""
    if forward.outputs != 1 or any(d.stride != 1 for d in forward.dims):
        return None
    g = conv_depthwise.flipped(forward)
    return g if takes(g) else None


def planes(g: Geometry, dtype, shape, flipped: bool = False) -> PlannedConv:
    """Return a depthwise convolution with a bias, or its gradient for the input."""
    steps = SlotJobs()
    add_planes(steps, g, flipped)
    return PlannedConv(steps.plan(), shape, Bias(1, g.groups * g.outputs, 1, dtype))


def fused_planes(g: Geometry, dtype, shape, lines: Lines) -> FusedPlan:
    """Return a depthwise convolution with its epilogue, for compiled graphs."""
    steps, after = SlotJobs(), following(lines, shares=False)
    add_planes(steps, g, epilogue=after.code)
    return FusedPlan(shape, dtype, after).with_plan(steps.plan(), g.groups * g.outputs * g.inputs * g.taps * g.item)
