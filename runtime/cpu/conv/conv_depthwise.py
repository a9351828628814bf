"""Depthwise convolutions in blocks: steps of the forward pass and of the weight's gradient, and plans of plain arrays.

With several results for each channel (O = m * C) the input is repeated m times first, and its gradient summed after.
"""

import dataclasses
import functools
from math import prod

from ....ir.target import host
from ....passes.codegen.llvm.contract.epilogue import ColumnBias
from ....passes.codegen.llvm.conv import conv_depthwise as codegen
from ..calls.plan import OPERANDS, WORKSPACE, SlotJobs, W, X, Y, share
from ..compiler.compile import compile_module, task_of
from ..compiler.ir_cache import text_of
from ..loops.copies import dense
from . import conv_layout, conv_plan
from .conv_layout import Bias, PlannedConv, window_words
from .conv_plan import Geometry, Scatter, Window

_FAR_BYTES = 8 << 20                # an x that comes from memory
_MOST_WRITTEN = 32                  # vectors of weights of a row of a window
_SMALL_PLANE = 128                  # pixels of a plane below which layers are cut by channels
_ELEMENTS = {4: "float", 8: "double"}


def takes(g: Geometry) -> bool:
    """Whether every group has one channel, and taps along the width are few enough to be unrolled."""
    return g.inputs == 1 and g.groups > 1 and g.dims[2].taps <= 16


def is_narrow(g: Geometry) -> bool:
    """Whether groups of a few channels, as many as their results, fill blocks, and taps are few enough to be unrolled."""
    return (1 < g.inputs == g.outputs < g.lanes and g.groups > 1 and g.lanes % g.inputs == 0
            and g.inputs * g.dims[2].taps <= _MOST_WRITTEN)


def pattern_of(width: Window) -> codegen.Pattern:
    """Return the tiles of a row."""
    tiles = tuple((at, count, pixels, tuple(width.taps_seen(at, pixels, tap) for tap in range(width.taps)))
                  for at, pixels, count in conv_plan.tiles_of(width, codegen.tile_pixels(host())))
    spans = tuple(width.taps_seen(0, width.out, tap) for tap in range(width.taps))
    return codegen.Pattern(tiles, spans, width.taps, width.stride, width.dilation, width.low)


@functools.lru_cache(None)
def _task(item, pattern, epilogue, far, inputs):
    return task_of(codegen.DepthwiseKernel(host(), _ELEMENTS[item], pattern, epilogue, far, inputs))


@functools.lru_cache(None)
def _weight_task(item, pattern):
    made = codegen.DepthwiseKernel(host(), _ELEMENTS[item], pattern)
    return compile_module(text_of(made, "weight_text"), [made.weight_symbol])[made.weight_symbol]


def add_depthwise(steps, g: Geometry, x, w, y, operands=(OPERANDS, 0), epilogue=None, scatter: Scatter | None = None,
                  by_rows: bool = False):
    """Add the step of a depthwise convolution on blocked operands; `g` has one channel per group, or few (`is_narrow`). Threads
    share out rows if the neighbouring layers do so, else channels."""
    # Processors follow windows that move by one by themselves.
    far = g.dims[2].stride > 1 and g.images * blocks_of(g).count * g.pixels * blocks_of(g).pixel >= _FAR_BYTES
    task = _task(g.item, pattern_of(g.dims[2]), epilogue or ColumnBias(_ELEMENTS[g.item]), far, g.inputs)
    scatter = scatter or conv_plan.every_pixel(g)
    words, start = _words(g, scatter)
    planes, rows, threads = words["planes"], words["out_rows"], steps.threads
    blocks = _row_blocks(planes, rows, threads, by_rows and g.images % threads > 0 and g.pixels >= _SMALL_PLANE)
    items = planes * blocks
    chunks = share(g.work * g.lanes, items, threads)
    words |= {"items": items, "chunks": chunks, "row_blocks": blocks}
    steps.add(task, chunks, codegen.WORDS, words, {"x": x, "w": w, "y": (y[0], y[1] + start), "operands": operands})


def _row_blocks(planes, rows, threads, by_rows):
    """Return the number of parts of an image's rows: at least one for each thread if these share out rows."""
    parts = threads if by_rows else 1
    while parts < rows and planes * parts < 4 * threads and threads > 1:
        parts *= 2
    return min(parts, rows)


def add_depthwise_weight(steps, g: Geometry, x, y, w):
    """Add the step that makes a packed depthwise dw from a blocked x and dy."""
    words, _ = _words(g, conv_plan.every_pixel(g))
    items = words["blocks"] * g.dims[0].taps * g.dims[1].taps
    chunks = share(g.work * g.lanes, items, steps.threads)
    steps.add(_weight_task(g.item, pattern_of(g.dims[2])), chunks, codegen.WORDS,
              words | {"items": items, "chunks": chunks}, {"x": x, "w": w, "y": y})


def _words(g, scatter):
    """Return (words, offset of the first pixel of y)."""
    pixel, blocks = g.lanes * g.item, blocks_of(g).count
    depth, height, width = g.dims
    row, slice_ = scatter.sizes[2] * pixel, scatter.sizes[1] * scatter.sizes[2] * pixel
    words = {"blocks": blocks, "images": g.images, "planes": g.images * blocks, "x_row": width.size * pixel,
             "x_slice": height.size * width.size * pixel, "x_plane": (g.x_plane or g.pixels) * pixel,
             "y_plane": (g.y_plane or prod(scatter.sizes)) * pixel, "y_slice": scatter.steps[0] * slice_,
             "y_row": scatter.steps[1] * row, "y_pixel": scatter.steps[2] * pixel,
             "w_block": g.taps * g.inputs * pixel, "out_rows": depth.out * height.out, "out_height": height.out,
             "depth": depth.size, "height": height.size}
    return words | window_words((depth, height)), scatter.first[0] * slice_ + scatter.first[1] * row + scatter.first[2] * pixel


def blocks_of(g):
    """Return the channels of all groups in blocks."""
    return conv_layout.Blocks(g.groups * g.inputs, g.lanes, g.item, full=True)


def depthwise(g: Geometry, dtype, shape) -> PlannedConv:
    """Return the forward convolution of plain arrays: blocks of x, the kernel, y back."""
    repeats = 1 if is_narrow(g) else g.outputs
    g = dataclasses.replace(g, groups=g.groups * repeats, outputs=g.outputs // repeats)
    steps, blocks = SlotJobs(), blocks_of(g)
    x = conv_layout.into_blocks(steps, X, g.images, blocks, g.pixels)
    w = WORKSPACE, steps.room(blocks.count * g.taps * g.inputs * g.lanes * g.item)
    conv_layout.pack_depthwise_weight(steps, (W, 0), w, blocks, range(g.taps), g.inputs)
    y = WORKSPACE, steps.room(conv_layout.blocked_bytes(g.images, blocks, g.out_pixels))
    add_depthwise(steps, g, x, w, y)
    conv_layout.unpack_activation(steps, y, (Y, 0), g.images, blocks, g.out_pixels)
    return PlannedConv(steps.plan(), shape, Bias(1, g.groups * g.outputs, g.lanes, dtype), repeats)


def flipped(forward: Geometry) -> Geometry:
    """Return the convolution of the gradient, with flipped taps, that gives the gradient of the input, for strides of 1."""
    return dataclasses.replace(forward, dims=tuple(
        [Window(d.out, d.size, d.taps, 1, (d.taps - 1) * d.dilation - d.low, d.dilation) for d in forward.dims]))


class NarrowGrad:
    """The input gradient of groups of a few channels for stride 1: the same kernel with the flipped weight."""

    def __init__(self, forward: Geometry, dtype, shape):
        self.groups, self.inputs = forward.groups, forward.inputs
        self.forward = depthwise(flipped(forward), dtype, shape)

    def __call__(self, grad, w):
        split = w.reshape(self.groups, self.inputs, self.inputs, -1)[..., ::-1]
        return self.forward(grad, dense(split.swapaxes(1, 2)).reshape(w.shape), None)
