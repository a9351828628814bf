"""Gradients of convolutions of blocked images: only the weight is brought into another layout.

The gradient of the input is a convolution of the gradient with the flipped weight, for each phase of the strides; a transposed
convolution is the same. `FlippedWeight` is the layout of its weight.
"""

import dataclasses
import functools
import itertools
from typing import Any

from ....passes.codegen.llvm.conv.conv_epilogue import Lines, following
from ..calls import pool
from ..calls.plan import EXTRA, WORKSPACE, SlotJobs, W, X, Y
from ..loops.copies import plain
from ..memory import alloc
from . import conv_depthwise, conv_grad_plan, conv_layout, conv_plan, winograd
from .conv import geometry
from .conv_layout import blocked_bytes, run_with_epilogue
from .conv_plan import Geometry, Scatter, Window

_KEPT = 1024            # plans of each kind
Convolution = tuple     # (filters, spatial size of the input, stride, padding, dilation, groups, bytes of an element)


@functools.lru_cache(_KEPT)
def forward_geometry(convolution, images: int) -> Geometry:
    """Return the geometry of the forward convolution, with operands in whole blocks."""
    filters, size, stride, padding, dilation, groups, item = convolution
    g = geometry((images, filters[1] * groups, *size), filters, stride, padding, dilation, groups, item)
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
    """A convolution of stride 1 that makes the results of one phase, from the weight's taps at `places`."""

    first: tuple
    geometry: Geometry
    places: list
    start: int                      # of its weight among all, in bytes


class FlippedWeight:
    """The packed weight of an input gradient: that of one phase after the other, in an algorithm's order."""

    def __init__(self, forward: Geometry, algorithm: winograd.Algorithm | None = None):
        self.forward, self.algorithm, self.depthwise = forward, algorithm, conv_depthwise.takes(forward)
        self.base = dataclasses.replace(forward, inputs=forward.outputs, outputs=forward.inputs,
                                        dims=tuple(Window(d.out, d.size) for d in forward.dims))
        self.whole = all(d.stride == 1 for d in forward.dims)
        self.phases: list = []
        size = 0
        for phase in itertools.product(*map(conv_plan.phases, forward.dims)):
            g = dataclasses.replace(self.base, dims=tuple(window for _, window, _ in phase))
            places = conv_plan.tap_places(forward, [taps for *_, taps in phase])
            self.phases.append(Phase(tuple(first for first, *_ in phase), g, places, size))
            size += self.bytes_of(g)
        self.size = size

    def bytes_of(self, g) -> int:
        if self.depthwise:
            return conv_depthwise.blocks_of(g).count * g.taps * g.lanes * g.item
        return self.algorithm.filter_bytes(g) if self.algorithm else g.groups * conv_plan.filters_of(g).group

    def add_pack(self, steps, source, target):
        """Add the steps that bring a plain weight into this layout; both operands are (slot, offset)."""
        for phase in self.phases:
            g, at = phase.geometry, (target[0], target[1] + phase.start)
            if not g.taps:
                continue
            if self.depthwise:
                conv_layout.pack_depthwise_weight(steps, source, at, conv_depthwise.blocks_of(g), phase.places)
                continue
            if self.algorithm:
                self.algorithm.add_weight(steps, g, winograd.Taps(source, turned=True), at)
            else:
                conv_layout.pack_flipped_weight(steps, source, at, g.groups, conv_plan.filters_of(g), phase.places)

    def add(self, steps, x, w, y, epilogue):
        """Add the steps that make the gradient from blocks at x and a packed weight at w; EXTRA has the plain one."""
        for phase in self.phases:
            g, at = phase.geometry, (w[0], w[1] + phase.start)
            scatter = None if self.whole else Scatter(tuple(d.size for d in self.forward.dims),
                                                      tuple(d.stride for d in self.forward.dims), phase.first)
            if self.depthwise:
                conv_depthwise.add_depthwise(steps, g, x, at, y, epilogue=epilogue, scatter=scatter)
            elif self.algorithm:
                taps = winograd.Taps((EXTRA, 0), turned=True)
                self.algorithm.add(steps, g, x, taps, at, y, epilogue=epilogue)
            else:
                conv_plan.add_direct(steps, g, conv_plan.filters_of(g), x, at, y, epilogue=epilogue, scatter=scatter)


@functools.lru_cache(_KEPT)
def flipped_weight(convolution, images: int, algorithm=None) -> FlippedWeight:
    """Return the cached `FlippedWeight` of a convolution."""
    return FlippedWeight(forward_geometry(convolution, images), algorithm)


@functools.lru_cache(_KEPT)
def pack_plan(convolution, algorithm, threads: int):
    """Return (the plan that packs a weight for the gradient of the input, bytes of the result)."""
    steps, flipped = SlotJobs(threads), flipped_weight(convolution, 1, algorithm)
    flipped.add_pack(steps, (W, 0), (Y, 0))
    return steps.plan(), flipped.size


def pack(w, convolution, algorithm, elements: int):
    """Pack a plain weight for `InputGrad`."""
    w, made = plain(w), alloc.aligned_zeros((elements,), w.dtype)
    pack_plan(convolution, algorithm, pool.get_num_threads())[0](w, w, made)
    return made


class InputGrad:
    """The gradient of the input for fixed shapes, and its epilogue."""

    def __init__(self, convolution, images: int, algorithm, lines: Lines):
        forward, steps = forward_geometry(convolution, images), SlotJobs()
        blocks = forward.groups if conv_depthwise.takes(forward) else forward.groups * forward.inputs
        blocks = -(-blocks // forward.lanes)
        self.shape = (images, blocks, *convolution[1], forward.lanes)
        self.after = following(lines, shares=not conv_depthwise.takes(forward))
        flipped_weight(convolution, images, algorithm).add(steps, (X, 0), (W, 0), (Y, 0), self.after.code)
        self.plan: Any = steps.plan()

    def run(self, g, w, beside=(), taps=()):
        """Return the gradient, from one in blocks and a packed weight; `beside` and `taps` as in `FusedConv.run`."""
        return run_with_epilogue(self.plan, self.shape, g, w, self.after, beside, taps)


class WeightGrad:
    """The gradient of the weight for fixed shapes, from a gradient in blocks; x is in blocks, or plain."""

    def __init__(self, convolution, images: int, in_blocks: bool):
        g = forward_geometry(convolution, images)
        self.filters, steps = convolution[0], SlotJobs()
        if conv_depthwise.takes(g):
            self._add_depthwise(steps, g, in_blocks)
        else:
            self._add(steps, dataclasses.replace(g, x_full=in_blocks), in_blocks)
        self.plan: Any = steps.plan()

    @staticmethod
    def _add_depthwise(steps, g, in_blocks):
        blocks, x = conv_depthwise.blocks_of(g), (X, 0)
        if not in_blocks:
            x = WORKSPACE, steps.room(blocked_bytes(g.images, blocks, g.pixels))
            conv_layout.pack_activation(steps, (X, 0), x, g.images, blocks, g.pixels)
        w = WORKSPACE, steps.room(blocks.count * g.taps * g.lanes * g.item)
        conv_depthwise.add_depthwise_weight(steps, g, x, (W, 0), w)
        conv_layout.unpack_activation(steps, w, (Y, 0), 1, blocks, g.taps)

    @staticmethod
    def _add(steps, g, in_blocks):
        x = X, 0
        if not in_blocks and g.inputs > 1:
            x = WORKSPACE, steps.room(blocked_bytes(g.images * g.groups, g.x_blocks, g.pixels))
            conv_layout.pack_activation(steps, (X, 0), x, g.images * g.groups, g.x_blocks, g.pixels)
        conv_grad_plan.add_plain_weight_grad(steps, g, x, (W, 0), (Y, 0))

    def run(self, x, g):
        return self.plan.new(self.filters, plain(x), plain(g))


@functools.lru_cache(_KEPT)
def input_grad(convolution, images, algorithm, lines, threads) -> InputGrad:
    """Return the cached `InputGrad` of these shapes."""
    return InputGrad(convolution, images, algorithm, lines)


@functools.lru_cache(_KEPT)
def weight_grad(convolution, images, in_blocks, state) -> WeightGrad:
    """Return the cached `WeightGrad` of these shapes, for a state of `conv.state`."""
    return WeightGrad(convolution, images, in_blocks)
