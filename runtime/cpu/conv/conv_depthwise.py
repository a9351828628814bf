"""Depthwise convolutions of plain arrays: forward, and the gradients of input and weight.

With several results for each channel (O = m * C) the input is repeated m times first, and its gradient summed after.
"""

import dataclasses
import functools
import itertools
from math import prod

import numpy as np

from ....ir.target import host
from ....passes.codegen.llvm.contract.epilogue import ColumnBias
from ....passes.codegen.llvm.conv import conv_depthwise as codegen
from ..calls import call
from ..calls.plan import OPERANDS, WORKSPACE, SlotJobs, W, X, Y, share
from ..compiler.compile import compile_module, task_of
from ..compiler.ir_cache import text_of
from ..loops.copies import plain
from . import conv_depthwise_planar, conv_layout, conv_plan
from .conv_layout import Bias
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
    scatter = scatter or Scatter(tuple(d.out for d in g.dims), (1, 1, 1), (0, 0, 0))
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
    words, _ = _words(g, Scatter(tuple(d.out for d in g.dims), (1, 1, 1), (0, 0, 0)))
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
    for name, dim in (("d", depth), ("h", height)):
        words |= {f"taps_{name}": dim.taps, f"stride_{name}": dim.stride, f"pad_{name}": dim.low,
                  f"dilation_{name}": dim.dilation}
    return words, scatter.first[0] * slice_ + scatter.first[1] * row + scatter.first[2] * pixel


def blocks_of(g):
    """Return the channels of all groups in blocks."""
    return conv_layout.Blocks(g.groups * g.inputs, g.lanes, g.item, full=True)


def _blocked(steps, g, slot, pixels):
    """Copy a plain array into blocks; return its location."""
    at = WORKSPACE, steps.room(conv_layout.blocked_bytes(g.images, blocks_of(g), pixels))
    conv_layout.pack_activation(steps, (slot, 0), at, g.images, blocks_of(g), pixels)
    return at


def forward(g: Geometry, dtype, shape):
    """Return the forward convolution of plain arrays: in place if the kernel takes them so, else through blocks."""
    return conv_depthwise_planar.Planes(g, dtype, shape) if conv_depthwise_planar.takes(g) else Depthwise(g, dtype, shape)


def input_grad(g: Geometry, dtype, shape):
    """Return the gradient of the input of such a convolution."""
    back = conv_depthwise_planar.flipped(g)
    return DepthwiseGrad(g, dtype, shape) if back is None else conv_depthwise_planar.Planes(back, dtype, shape, flipped=True)


def repeated(array, times: int):
    """Repeat each channel `times` times."""
    return array if times == 1 else np.repeat(array, times, axis=1)


class Depthwise:
    """A forward depthwise convolution: blocks of x, the kernel, y back."""

    def __init__(self, g: Geometry, dtype, shape):
        self.times, self.shape, self.dtype = 1 if is_narrow(g) else g.outputs, shape, dtype
        g = dataclasses.replace(g, groups=g.groups * self.times, outputs=g.outputs // self.times)
        self.bias, steps = Bias(1, g.groups * g.outputs, g.lanes, dtype), SlotJobs()
        x = _blocked(steps, g, X, g.pixels)
        w = WORKSPACE, steps.room(blocks_of(g).count * g.taps * g.inputs * g.lanes * g.item)
        conv_layout.pack_depthwise_weight(steps, (W, 0), w, blocks_of(g), range(g.taps), g.inputs)
        y = WORKSPACE, steps.room(conv_layout.blocked_bytes(g.images, blocks_of(g), g.out_pixels))
        add_depthwise(steps, g, x, w, y)
        conv_layout.unpack_activation(steps, y, (Y, 0), g.images, blocks_of(g), g.out_pixels)
        self.plan = steps.plan()

    def __call__(self, x, w, b):
        _bias, words = self.bias(b)       # the words hold its address
        return self.plan.new(self.shape, repeated(x, self.times), w, call.address_of(words))


class NarrowGrad:
    """The input gradient of groups of a few channels for stride 1: the same kernel with the flipped weight."""

    def __init__(self, forward: Geometry, dtype, shape):
        self.groups, self.inputs = forward.groups, forward.inputs
        dims = [Window(d.out, d.size, d.taps, 1, (d.taps - 1) * d.dilation - d.low, d.dilation) for d in forward.dims]
        self.forward = Depthwise(dataclasses.replace(forward, dims=tuple(dims)), dtype, shape)

    def __call__(self, grad, w):
        split = w.reshape(self.groups, self.inputs, self.inputs, -1)[..., ::-1]
        return self.forward(grad, plain(split.swapaxes(1, 2)).reshape(w.shape), None)


class DepthwiseGrad:
    """The input gradient: a depthwise convolution of the gradient for each phase of the strides."""

    def __init__(self, forward: Geometry, dtype, shape):
        self.times, self.shape, self.dtype = forward.outputs, shape, dtype
        forward = dataclasses.replace(forward, groups=forward.groups * forward.outputs, outputs=1)
        flipped = dataclasses.replace(forward, dims=tuple(Window(d.out, d.size) for d in forward.dims))
        self.bias, steps = Bias(1, flipped.groups, flipped.lanes, dtype), SlotJobs()
        x = _blocked(steps, flipped, X, flipped.pixels)
        y = WORKSPACE, steps.room(conv_layout.blocked_bytes(flipped.images, blocks_of(flipped), forward.pixels))
        for phase in itertools.product(*map(conv_plan.phases, forward.dims)):
            g = dataclasses.replace(flipped, dims=tuple(window for _, window, _ in phase))
            w = WORKSPACE, steps.room(blocks_of(g).count * g.taps * g.lanes * g.item)
            places = conv_plan.tap_places(forward, [taps for *_, taps in phase])
            if g.taps:
                conv_layout.pack_depthwise_weight(steps, (W, 0), w, blocks_of(g), places)
            add_depthwise(steps, g, x, w, y, scatter=Scatter(
                tuple(d.size for d in forward.dims), tuple(d.stride for d in forward.dims), tuple(at for at, *_ in phase)))
        conv_layout.unpack_activation(steps, y, (Y, 0), flipped.images, blocks_of(flipped), forward.pixels)
        self.plan = steps.plan()
        self.full = (shape[0], flipped.groups, *shape[2:])

    def __call__(self, grad, w):
        out = self.plan.new(self.full, grad, w, call.address_of(self.bias.nothing[1]))
        return out if self.times == 1 else out.reshape(self.shape[0], -1, self.times, *self.shape[2:]).sum(axis=2)


class DepthwiseWeightGrad:
    """The weight gradient: blocks of x and of the gradient, the weight gradient kernel, the weight back."""

    def __init__(self, g: Geometry, dtype, shape):
        self.times, self.shape, self.dtype = g.outputs, shape, dtype
        g, steps = dataclasses.replace(g, groups=g.groups * g.outputs, outputs=1), SlotJobs()
        x, y = _blocked(steps, g, X, g.pixels), _blocked(steps, g, W, g.out_pixels)
        w = WORKSPACE, steps.room(blocks_of(g).count * g.taps * g.lanes * g.item)
        add_depthwise_weight(steps, g, x, y, w)
        conv_layout.unpack_activation(steps, w, (Y, 0), 1, blocks_of(g), g.taps)
        self.plan = steps.plan()

    def __call__(self, x, g):
        return self.plan.new(self.shape, repeated(x, self.times), g)
