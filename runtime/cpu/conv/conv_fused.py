"""Convolutions with an epilogue and packed weights; their results are in blocks of channels (N, blocks, *spatial, lanes)."""

import dataclasses
import functools

import numpy as np

from ....ir.cached_property import cached_property
from ....ir.errors import ShapeError
from ....ir.target import host
from ....passes.codegen.llvm.conv.conv_epilogue import Lines, following
from ..calls.plan import EXTRA, FACTORS, SlotJobs, W, X, Y
from . import conv_depthwise, conv_layout, conv_plan, winograd
from .conv import reads_planes
from .conv_algorithm import Algorithm
from .conv_layout import FusedPlan
from .conv_plan import MAX_DIMS, Geometry, Window, geometry_of


@functools.lru_cache(512)
def block_plan(images, channels, pixels, item, back, threads):
    """Return the job that brings channels into blocks, or `back`."""
    steps, blocks = SlotJobs(threads), conv_layout.Blocks(channels, host().lanes(item), item, full=True)
    copy = conv_layout.unpack_activation if back else conv_layout.pack_activation
    copy(steps, (X, 0), (Y, 0), images, blocks, pixels)
    return steps.plan()


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
        algorithm.add_weight(steps, g, winograd.PlainWeight((W, 0), (FACTORS, 0) if factors else None), (Y, 0))
    else:
        conv_layout.pack_weight(steps, (W, 0), (Y, 0), g.groups, conv_plan.filters_of(g))
    return steps.plan(), weight_bytes(g, algorithm)


class FusedConv(FusedPlan):
    """One convolution of fixed shapes and its epilogue; its result is in blocks, x is if `x_blocked`."""

    def __init__(self, x_shape, w_shape, dtype, *, stride, padding, dilation, groups, lines: Lines, x_blocked: bool,
                 algorithm: Algorithm | None):
        self.lines, self.x_blocked, self.algorithm = lines, x_blocked, algorithm
        g = self.geometry = geometry_of(x_shape, w_shape, stride, padding, dilation, groups, np.dtype(dtype).itemsize)
        self.depthwise = runs_in_lanes(g)
        if groups > 1 and not self.depthwise and (g.inputs % g.lanes or g.outputs % g.lanes):
            raise ShapeError(f"a blocked convolution of {list(x_shape)} with weight {list(w_shape)}: the channels of each of "
                             f"{groups} groups must be a multiple of {g.lanes}; use plain arrays")
        self.channels = w_shape[0]
        shape = (x_shape[0], -(-w_shape[0] // g.lanes), *[d.out for d in g.dims[MAX_DIMS - len(stride):]], g.lanes)
        super().__init__(shape, np.dtype(dtype), following(lines, shares=not self.depthwise))

    @property
    def inner(self) -> Geometry:
        """The geometry, with x in whole blocks if it comes so."""
        return read_as(self.geometry, self.x_blocked, self.algorithm)

    @cached_property
    def weight_bytes(self) -> int:
        return weight_bytes(self.inner, self.algorithm)

    @cached_property
    def plan(self):
        g, steps = self.inner, SlotJobs()
        if self.x_blocked or (g.x_plain and not self.depthwise):
            x = X, 0
        else:
            images = g.images if self.depthwise else g.images * g.groups
            blocks = conv_depthwise.blocks_of(g) if self.depthwise else g.x_blocks
            x = conv_layout.into_blocks(steps, X, images, blocks, g.pixels)
        if self.algorithm:
            weight = winograd.PlainWeight((EXTRA, 0), (FACTORS, 0))
            self.algorithm.add(steps, g, x, weight, (W, 0), (Y, 0), epilogue=self.after.code)
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
