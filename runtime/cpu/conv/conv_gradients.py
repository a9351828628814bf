"""Gradients of convolutions, of blocked images and of plain arrays.

The gradient of the input is a convolution of the gradient with the flipped weight, for each phase of the strides; a transposed
convolution is the same. `FlippedWeight` is the layout of its weight.
"""

import dataclasses
import functools
import itertools
import math

from ....passes.codegen.llvm.conv.conv_epilogue import Lines, following
from ..calls.plan import EXTRA, WORKSPACE, SlotJobs, W, X, Y
from . import conv_algorithm, conv_depthwise, conv_grad_plan, conv_layout, conv_plan, winograd
from .conv_layout import Bias, FusedPlan, PlannedConv, blocked_bytes
from .conv_plan import Geometry, Scatter, Window, geometry_of

_KEPT = 1024            # plans of each kind
Convolution = tuple     # (filters, spatial size of the input, stride, padding, dilation, groups, bytes of an element)


@functools.lru_cache(_KEPT)
def forward_geometry(convolution, images: int) -> Geometry:
    """Return the geometry of the forward convolution, with operands in whole blocks."""
    filters, size, stride, padding, dilation, groups, item = convolution
    g = geometry_of((images, filters[1] * groups, *size), filters, stride, padding, dilation, groups, item)
    return dataclasses.replace(g, x_full=True)


def takes(convolution, images: int = 1) -> bool:
    """Whether groups are whole blocks, single channels, or one."""
    g = forward_geometry(convolution, images)
    return g.outputs == 1 if conv_depthwise.takes(g) else g.groups == 1 or not (g.inputs % g.lanes or g.outputs % g.lanes)


def algorithm(convolution, images: int, prepared: bool) -> winograd.Algorithm | None:
    """Return the algorithm for the gradient of the input (`winograd.choose`)."""
    flipped = flipped_weight(convolution, images)
    return None if flipped.depthwise or not flipped.whole else winograd.choose(flipped.phases[0].geometry, prepared)


@dataclasses.dataclass(frozen=True)
class Phase:
    """A convolution of stride 1 that makes the results of one phase.

    tap_positions  position of each tap of the forward weight among the phase's own, or -1
    start          of its weight among all, in bytes
    """

    first: tuple
    geometry: Geometry
    tap_positions: list
    start: int


class FlippedWeight:
    """The packed weight of an input gradient: that of one phase after the other, in an algorithm's order."""

    def __init__(self, forward: Geometry, algorithm: conv_algorithm.Algorithm | None = None):
        self.forward, self.algorithm, self.depthwise = forward, algorithm, conv_depthwise.takes(forward)
        self.base = dataclasses.replace(forward, inputs=forward.outputs, outputs=forward.inputs,
                                        dims=tuple(Window(d.out, d.size) for d in forward.dims))
        self.whole = all(d.stride == 1 for d in forward.dims)
        self.phases: list = []
        size = 0
        for phase in itertools.product(*map(conv_plan.phases, forward.dims)):
            g = dataclasses.replace(self.base, dims=tuple(window for _, window, _ in phase))
            positions = conv_plan.tap_positions(forward, [taps for *_, taps in phase])
            self.phases.append(Phase(tuple(first for first, *_ in phase), g, positions, size))
            size += self.bytes_of(g)
        # Phases without pixels read no taps: kernels of 2 with stride 4 over 1 pixel. The reference keeps the whole weight.
        taps, pairs = math.prod(d.taps for d in forward.dims), forward.groups * forward.outputs * forward.inputs
        self.size = max(size, pairs * taps * forward.item)

    def bytes_of(self, g) -> int:
        if self.depthwise:
            return conv_depthwise.blocks_of(g).count * g.taps * g.lanes * g.item
        return self.algorithm.filter_bytes(g) if self.algorithm else g.groups * conv_plan.filters_of(g).group

    def add_pack(self, steps, phase: Phase, source, target):
        """Add the steps that bring a plain weight into the layout of a phase; both operands are (slot, offset)."""
        g = phase.geometry
        if not g.taps:
            return
        if self.depthwise:
            conv_layout.pack_depthwise_weight(steps, source, target, conv_depthwise.blocks_of(g), phase.tap_positions)
        elif self.algorithm:
            self.algorithm.add_weight(steps, g, winograd.PlainWeight(source, flipped=True), target)
        else:
            conv_layout.pack_flipped_weight(steps, source, target, g.groups, conv_plan.filters_of(g), phase.tap_positions)

    def add(self, steps, phase: Phase, x, plain, w, y, epilogue=None):
        """Add the step of a phase, from blocks at x, the plain weight, and the packed one at w."""
        g = phase.geometry
        scatter = None if self.whole else Scatter(tuple(d.size for d in self.forward.dims),
                                                  tuple(d.stride for d in self.forward.dims), phase.first)
        if self.depthwise:
            conv_depthwise.add_depthwise(steps, g, x, w, y, epilogue=epilogue, scatter=scatter)
        elif self.algorithm:
            self.algorithm.add(steps, g, x, winograd.PlainWeight(plain, flipped=True), w, y, epilogue=epilogue)
        else:
            conv_plan.add_direct(steps, g, conv_plan.filters_of(g), x, w, y, epilogue=epilogue, scatter=scatter)


@functools.lru_cache(_KEPT)
def flipped_weight(convolution, images: int, algorithm=None) -> FlippedWeight:
    """Return the cached `FlippedWeight` of a convolution."""
    return FlippedWeight(forward_geometry(convolution, images), algorithm)


@functools.lru_cache(_KEPT)
def pack_plan(convolution, algorithm, threads: int):
    """Return the plan that packs a weight for the gradient of the input."""
    steps, flipped = SlotJobs(threads), flipped_weight(convolution, 1, algorithm)
    for phase in flipped.phases:
        flipped.add_pack(steps, phase, (W, 0), (Y, phase.start))
    return steps.plan()


@functools.lru_cache(_KEPT)
def input_grad(convolution, images, algorithm, lines: Lines, threads) -> FusedPlan:
    """Return the gradient of the input in blocks, from one in blocks and a packed weight, and its epilogue."""
    flipped, steps = flipped_weight(convolution, images, algorithm), SlotJobs()
    forward, after = flipped.forward, following(lines, shares=not flipped.depthwise)
    for phase in flipped.phases:
        flipped.add(steps, phase, (X, 0), (EXTRA, 0), (W, phase.start), (Y, 0), after.code)
    blocks = conv_depthwise.blocks_of(forward) if flipped.depthwise else flipped.base.y_blocks
    count = blocks.count * (1 if flipped.depthwise else forward.groups)
    return FusedPlan((images, count, *convolution[1], forward.lanes), None, after).with_plan(steps.plan(), flipped.size)


def plain_input_grad(forward: Geometry, dtype, shape) -> PlannedConv:
    """Return the gradient of the input of plain arrays: blocks of the gradient, packed weights, blocks of the result back."""
    sums = forward.outputs if conv_depthwise.takes(forward) else 1
    forward = dataclasses.replace(forward, groups=forward.groups * sums, outputs=forward.outputs // sums)
    flipped, steps = FlippedWeight(forward), SlotJobs()
    base = flipped.base
    images, x_blocks, y_blocks = base.images * base.groups, base.x_blocks, base.y_blocks
    if flipped.depthwise:
        images, x_blocks = base.images, conv_depthwise.blocks_of(base)
        y_blocks = x_blocks
    elif flipped.whole:
        flipped = FlippedWeight(forward, conv_algorithm.choose(flipped.phases[0].geometry))
    in_place = base.inputs == 1 and not flipped.depthwise
    x = (X, 0) if in_place else conv_layout.into_blocks(steps, X, images, x_blocks, base.pixels)
    y = WORKSPACE, steps.room(blocked_bytes(images, y_blocks, forward.pixels))
    for phase in flipped.phases:
        w = WORKSPACE, steps.room(flipped.bytes_of(phase.geometry))
        flipped.add_pack(steps, phase, (W, 0), w)
        flipped.add(steps, phase, x, (W, 0), w, y)
    conv_layout.unpack_activation(steps, y, (Y, 0), images, y_blocks, forward.pixels)
    bias = Bias(1, base.groups, base.lanes, dtype) if flipped.depthwise else Bias(base.groups, base.outputs, base.lanes, dtype)
    return PlannedConv(steps.plan(), (shape[0], base.groups * base.outputs, *shape[2:]), bias, sums=sums)


def weight_plan(g: Geometry, x_in_blocks: bool, y_in_blocks: bool):
    """Return the plan of the gradient of a plain weight, from x and a gradient that are in blocks or plain."""
    steps = SlotJobs()
    if conv_depthwise.takes(g):
        blocks = conv_depthwise.blocks_of(g)
        x = (X, 0) if x_in_blocks else conv_layout.into_blocks(steps, X, g.images, blocks, g.pixels)
        y = (W, 0) if y_in_blocks else conv_layout.into_blocks(steps, W, g.images, blocks, g.out_pixels)
        w = WORKSPACE, steps.room(blocks.count * g.taps * g.lanes * g.item)
        conv_depthwise.add_depthwise_weight(steps, g, x, y, w)
        conv_layout.unpack_activation(steps, w, (Y, 0), 1, blocks, g.taps)
        return steps.plan()
    g, images = dataclasses.replace(g, x_full=x_in_blocks), g.images * g.groups
    in_place = x_in_blocks or g.inputs == 1
    x = (X, 0) if in_place else conv_layout.into_blocks(steps, X, images, g.x_blocks, g.pixels)
    y = (W, 0) if y_in_blocks else conv_layout.into_blocks(steps, W, images, g.y_blocks, g.out_pixels)
    conv_grad_plan.add_plain_weight_grad(steps, g, x, y, (Y, 0))
    return steps.plan()


@functools.lru_cache(_KEPT)
def weight_grad(convolution, images, in_blocks, state):
    """Return the cached plan of the gradient of a weight, for a gradient in blocks and a state of `conv.state`."""
    return weight_plan(forward_geometry(convolution, images), in_blocks, True)
