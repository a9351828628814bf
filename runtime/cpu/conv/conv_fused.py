"""Convolutions with an epilogue and packed weights; their results are blocked arrays.

    fused = FusedConv(x.shape, w.shape, x.dtype, stride=..., padding=..., dilation=..., groups=..., lines=lines, x_blocked=True)
    ready = pack_weight(w, groups, True, fused.algorithm)           # once for each version of the weight
    y = fused.run(x, ready, beside)                                 # the epilogue `lines` of conv(x, w) and the arrays `beside`

A blocked array is (N, channel blocks, *spatial, lanes): `block` makes it, `unblock` undoes it.
"""

import dataclasses
import functools
from math import prod

import numpy as np

from ....ir.errors import ShapeError
from ....ir.target import host
from ....passes.codegen.llvm.conv.conv_epilogue import Lines, following
from ..calls import call, pool
from ..calls.plan import EXTRA, FACTORS, WORKSPACE, SlotJobs, W, X, Y
from ..loops.copies import plain
from ..memory import alloc
from . import conv_depthwise, conv_layout, conv_plan, winograd
from .conv import MAX_DIMS, geometry, reads_planes
from .conv_algorithm import Algorithm
from .conv_layout import run_with_epilogue
from .conv_plan import Geometry, Window


def lanes_of(dtype) -> int:
    """Return the channels of a block."""
    return host().lanes(np.dtype(dtype).itemsize)


@functools.lru_cache(512)
def block_plan(images, channels, pixels, item, back, threads):
    """Return the job that brings channels into blocks, or `back`."""
    steps, blocks = SlotJobs(threads), conv_layout.Blocks(channels, host().lanes(item), item, full=True)
    copy = conv_layout.unpack_activation if back else conv_layout.pack_activation
    copy(steps, (X, 0), (Y, 0), images, blocks, pixels)
    return steps.plan()


def block(x: np.ndarray) -> np.ndarray:
    """Return (N, C, *spatial) as (N, blocks, *spatial, lanes); missing channels are zeros."""
    x, lanes = plain(x), lanes_of(x.dtype)
    plan = block_plan(x.shape[0], x.shape[1], prod(x.shape[2:]), x.itemsize, False, pool.get_num_threads())
    return plan.new((x.shape[0], -(-x.shape[1] // lanes), *x.shape[2:], lanes), x, x)


def unblock(x: np.ndarray, channels: int) -> np.ndarray:
    """Return (N, blocks, *spatial, lanes) as (N, channels, *spatial)."""
    plan = block_plan(x.shape[0], channels, prod(x.shape[2:-1]), x.itemsize, True, pool.get_num_threads())
    return plan.new((x.shape[0], channels, *x.shape[2:-1]), x, x)


def read_as(g: Geometry, x_blocked: bool, algorithm: Algorithm | None) -> Geometry:
    """Return the geometry with the layout of x: in whole blocks, in planes if those are few, or copied to blocks first."""
    return dataclasses.replace(g, x_full=x_blocked, x_plain=not x_blocked and reads_planes(g, algorithm))


def runs_in_lanes(g: Geometry) -> bool:
    """Whether all groups of a block of channels run in parallel in its lanes: single channels, or a few."""
    return (conv_depthwise.takes(g) and g.outputs == 1) or conv_depthwise.is_narrow(g)


def weight_bytes(g, algorithm) -> int:
    """Return the size of a weight in its kernel's order."""
    if runs_in_lanes(g):
        blocks = conv_depthwise.blocks_of(g)
        return blocks.count * g.taps * g.inputs * blocks.pixel
    return algorithm.filter_bytes(g) if algorithm else g.groups * conv_plan.filters_of(g).group


@functools.lru_cache(512)
def weight_plan(shape, item, groups, x_blocked, algorithm, threads, factors=False):
    """Return (plan that packs a weight, times `factors` if there are some; size of the result)."""
    dims = tuple(Window(1, 1, taps) for taps in (1,) * (2 + MAX_DIMS - len(shape)) + shape[2:])
    g, steps = Geometry(1, groups, shape[1], shape[0] // groups, dims, item), SlotJobs(threads)
    g = read_as(g, x_blocked, algorithm)
    if runs_in_lanes(g):
        conv_layout.pack_depthwise_weight(steps, (W, 0), (Y, 0), conv_depthwise.blocks_of(g), range(g.taps), g.inputs)
    elif algorithm:
        algorithm.add_weight(steps, g, winograd.Taps((W, 0), (FACTORS, 0) if factors else None), (Y, 0))
    else:
        conv_layout.pack_weight(steps, (W, 0), (Y, 0), g.groups, conv_plan.filters_of(g))
    return steps.plan(), weight_bytes(g, algorithm)


def pack_weight(w, groups: int, x_blocked: bool, algorithm, factors=None) -> np.ndarray:
    """Pack a plain weight for the kernel of an algorithm, or the direct one for None. With `factors`, it is first multiplied by
    one for each output channel."""
    plan, size = weight_plan(w.shape, w.itemsize, groups, x_blocked, algorithm, pool.get_num_threads(), factors is not None)
    made = alloc.aligned_zeros((-(-size // w.itemsize),), w.dtype)
    plan(w, w, made, 0, 0, *[] if factors is None else [call.address_of(factors)])
    return made


class FusedConv:
    """One convolution of fixed shapes and its epilogue; its result is in blocks, x is if `x_blocked`."""

    def __init__(self, x_shape, w_shape, dtype, *, stride, padding, dilation, groups, lines: Lines, x_blocked: bool,
                 algorithm: Algorithm | None):
        self.dtype, self.lines, self.x_blocked, self.algorithm = np.dtype(dtype), lines, x_blocked, algorithm
        g = self.geometry = geometry(x_shape, w_shape, stride, padding, dilation, groups, self.dtype.itemsize)
        self.depthwise = runs_in_lanes(g)
        if groups > 1 and not self.depthwise and (g.inputs % g.lanes or g.outputs % g.lanes):
            raise ShapeError(f"a blocked convolution of {x_shape} with weight {w_shape}: the channels of each of {groups} "
                             f"groups must be a multiple of {g.lanes}; use plain arrays")
        self.channels, self.after = w_shape[0], following(lines, shares=not self.depthwise)
        self.shape = (x_shape[0], -(-w_shape[0] // g.lanes), *[d.out for d in g.dims[MAX_DIMS - len(stride):]], g.lanes)

    @property
    def inner(self) -> Geometry:
        """The geometry, with x in whole blocks if it comes so."""
        return read_as(self.geometry, self.x_blocked, self.algorithm)

    @functools.cached_property
    def plan(self):
        g, steps = self.inner, SlotJobs()
        if self.x_blocked or (g.x_plain and not self.depthwise):
            x = X, 0
        else:
            images = g.images if self.depthwise else g.images * g.groups
            blocks = conv_depthwise.blocks_of(g) if self.depthwise else g.x_blocks
            x = WORKSPACE, steps.room(conv_layout.blocked_bytes(images, blocks, g.pixels))
            conv_layout.pack_activation(steps, (X, 0), x, images, blocks, g.pixels)
        if self.algorithm:
            taps = winograd.Taps((EXTRA, 0), (FACTORS, 0))
            self.algorithm.add(steps, g, x, taps, (W, 0), (Y, 0), epilogue=self.after.code)
        else:
            self.add_kernel(steps, g, x, (W, 0), (Y, 0), by_rows=self.x_blocked)
        return steps.plan()

    def add_kernel(self, steps, g, x, w, y, by_rows=False):
        """Add the step of a direct kernel on blocked operands, for this convolution or some rows of it."""
        epilogue = self.after.code
        if self.depthwise:
            conv_depthwise.add_depthwise(steps, g, x, w, y, epilogue=epilogue, by_rows=by_rows)
        else:
            conv_plan.add_direct(steps, g, conv_plan.filters_of(g), x, w, y, epilogue=epilogue)

    def run(self, x, w, beside=(), taps=()):
        """Run the convolution with a packed weight. The epilogue reads the arrays `beside`, in its layout. `taps` are the plain
        weight, and perhaps a factor for each output channel, if the packed one is transformed."""
        return run_with_epilogue(self.plan, self.shape, x, w, self.after, beside, taps)
