"""Convolutions with what follows them, on plain or blocked arrays, with weights brought into their layout beforehand.

    fused = FusedConv(x.shape, w.shape, x.dtype, stride=..., padding=..., dilation=..., groups=..., fusion=Fusion(...))
    ready = fused.prepare(w, bias, scale)               # once for each version of the weight
    y = fused(x, ready, residual)                       # act(conv(x, w) * scale + bias + residual)

A blocked array is (N, channel blocks, *spatial, lanes), as `block` makes it and `unblock` takes it apart. With `x_blocked` and
`y_blocked` a chain of convolutions passes blocks on, and nothing is copied between.
"""

import dataclasses
import functools
from math import prod
from typing import Literal

import numpy as np

from ...ir import config
from ...ir.errors import ShapeError
from ...ir.target import host
from ...passes.codegen.llvm.conv_epilogue import Fusion
from ...passes.codegen.llvm.epilogue import Chain, Residual, RowBias
from . import alloc, call, conv_algorithm, conv_depthwise, conv_layout, conv_plan, conv_steps, gemm, pool, winograd
from .conv import MAX_DIMS, geometry, is_pointwise, reads_planes
from .conv_algorithm import Algorithm
from .conv_bias import Bias
from .conv_plan import Geometry, Window
from .conv_steps import EXTRA, FACTORS, WORKSPACE, W, X, Y, plain

_ELEMENTS = {4: "float", 8: "double"}


def lanes_of(dtype) -> int:
    """Channels of a block."""
    return host().lanes(np.dtype(dtype).itemsize)


@functools.lru_cache(512)
def block_plan(images, channels, pixels, item, back, threads):
    """The job that brings channels into blocks, or `back`."""
    steps, blocks = conv_steps.Steps(), conv_layout.Blocks(channels, host().lanes(item), item, full=True)
    copy = conv_layout.unpack_activation if back else conv_layout.pack_activation
    copy(steps, (X, 0), (Y, 0), images, blocks, pixels)
    return steps.plan()


def block(x: np.ndarray) -> np.ndarray:
    """(N, C, *spatial) as (N, blocks, *spatial, lanes); missing channels are zeros."""
    x, lanes = plain(x), lanes_of(x.dtype)
    out = alloc.empty((x.shape[0], -(-x.shape[1] // lanes), *x.shape[2:], lanes), x.dtype)
    block_plan(x.shape[0], x.shape[1], prod(x.shape[2:]), x.itemsize, False, pool.get_num_threads())(x, x, out)
    return out


def unblock(x: np.ndarray, channels: int) -> np.ndarray:
    """(N, blocks, *spatial, lanes) as (N, channels, *spatial)."""
    out = alloc.empty((x.shape[0], channels, *x.shape[2:-1]), x.dtype)
    block_plan(x.shape[0], channels, prod(x.shape[2:-1]), x.itemsize, True, pool.get_num_threads())(x, x, out)
    return out


@dataclasses.dataclass(frozen=True)
class Prepared:
    """A weight in the layout of its kernel and as it was, with bias and scale padded to whole blocks."""

    weight: np.ndarray
    plain: np.ndarray
    bias: np.ndarray
    scale: np.ndarray | None


def read_as(g: Geometry, x_blocked: bool, algorithm: Algorithm | None) -> Geometry:
    """The geometry with x as it lies: in whole blocks, in planes where those are few, or copied to blocks first."""
    return dataclasses.replace(g, x_full=x_blocked, x_plain=not x_blocked and reads_planes(g, algorithm))


def runs_in_lanes(g: Geometry) -> bool:
    """Whether all groups of a block of channels run side by side in its lanes: single channels, or a few."""
    return (conv_depthwise.takes(g) and g.outputs == 1) or conv_depthwise.is_narrow(g)


def weight_bytes(g, algorithm) -> int:
    """Size of a weight as its kernel reads it."""
    if runs_in_lanes(g):
        blocks = conv_depthwise.blocks_of(g)
        return blocks.count * g.taps * g.inputs * blocks.pixel
    return algorithm.filter_bytes(g) if algorithm else g.groups * conv_plan.filters_of(g).group


@functools.lru_cache(512)
def weight_plan(shape, item, groups, x_blocked, algorithm, threads, factors=False):
    """(plan that brings a weight into its layout, times `factors` if there are some, size of the result)"""
    dims = tuple(Window(1, 1, taps) for taps in (1,) * (2 + MAX_DIMS - len(shape)) + shape[2:])
    g, steps = Geometry(1, groups, shape[1], shape[0] // groups, dims, item), conv_steps.Steps()
    g = read_as(g, x_blocked, algorithm)
    if runs_in_lanes(g):
        conv_layout.pack_depthwise_weight(steps, (W, 0), (Y, 0), conv_depthwise.blocks_of(g), range(g.taps), g.inputs)
    elif algorithm:
        algorithm.add_weight(steps, g, winograd.Taps((W, 0), (FACTORS, 0) if factors else None), (Y, 0))
    else:
        conv_layout.pack_weight(steps, (W, 0), (Y, 0), g.groups, conv_plan.filters_of(g))
    return steps.plan(), weight_bytes(g, algorithm)


def pack_weight(w, groups: int, x_blocked: bool, algorithm, factors=None) -> np.ndarray:
    """A plain weight in the layout in which the kernel of an algorithm, or the direct one for None, reads it; for the
    first times a factor for each output channel, if these are given."""
    plan, size = weight_plan(w.shape, w.itemsize, groups, x_blocked, algorithm, pool.get_num_threads(), factors is not None)
    made = alloc.aligned_zeros((-(-size // w.itemsize),), w.dtype)
    plan(w, w, made, factors=0 if factors is None else call.address_of(factors))
    return made


class FusedConv:
    """One convolution of fixed shapes with its epilogue."""

    def __init__(self, x_shape, w_shape, dtype, *, stride, padding, dilation, groups, fusion=Fusion(), x_blocked=False,
                 y_blocked=False, algorithm: Algorithm | Literal["best"] | None = "best"):
        self.dtype, self.fusion, self.y_blocked = np.dtype(dtype), fusion, y_blocked
        g = self.geometry = geometry(x_shape, w_shape, stride, padding, dilation, groups, self.dtype.itemsize)
        self.depthwise = runs_in_lanes(g)
        if (x_blocked or y_blocked) and groups > 1 and not self.depthwise and (g.inputs % g.lanes or g.outputs % g.lanes):
            raise ShapeError(f"a blocked convolution of {x_shape} with weight {w_shape}: the channels of each of {groups} "
                             f"groups must be a multiple of {g.lanes}; use plain arrays")
        sizes = tuple(d.out for d in g.dims[MAX_DIMS - len(stride):])
        self.channels = w_shape[0]
        blocks = -(-w_shape[0] // g.lanes)
        self.shape = (x_shape[0], blocks, *sizes, g.lanes) if y_blocked else (x_shape[0], w_shape[0], *sizes)
        if algorithm == "best":
            given = dataclasses.replace(g, x_full=x_blocked)
            algorithm = None if self.depthwise else conv_algorithm.choose(given, prepared=True)
        self.algorithm = algorithm
        bands, outputs = (1, w_shape[0]) if self.depthwise else (groups, g.outputs)
        self.bias = Bias(bands, outputs, g.lanes, self.dtype)
        self.x_blocked = x_blocked

    @property
    def inner(self) -> Geometry:
        """The geometry with x in whole blocks where it comes so."""
        return read_as(self.geometry, self.x_blocked, self.algorithm)

    @functools.cached_property
    def plan(self):
        """The jobs of a call."""
        x_blocked = self.x_blocked
        g, steps = self.inner, conv_steps.Steps()
        images = g.images if self.depthwise else g.images * g.groups
        x_blocks, y_blocks = (conv_depthwise.blocks_of(g),) * 2 if self.depthwise else (g.x_blocks, g.y_blocks)
        x = y = None
        if x_blocked or (g.x_plain and not self.depthwise):
            x = X, 0
        else:
            x = WORKSPACE, steps.room(conv_layout.blocked_bytes(images, x_blocks, g.pixels))
            conv_layout.pack_activation(steps, (X, 0), x, images, x_blocks, g.pixels)
        y = (Y, 0) if self.y_blocked else (WORKSPACE, steps.room(conv_layout.blocked_bytes(images, y_blocks, g.out_pixels)))
        if self.algorithm:
            taps, epilogue = winograd.Taps((EXTRA, 0), (FACTORS, 0)), self.fusion.epilogue(_ELEMENTS[g.item])
            self.algorithm.add(steps, g, x, taps, (W, 0), y, epilogue=epilogue)
        else:
            self.add_kernel(steps, g, x, (W, 0), y, by_rows=x_blocked)
        if not self.y_blocked:
            conv_layout.unpack_activation(steps, y, (Y, 0), images, y_blocks, g.out_pixels)
        return steps.plan()

    def add_kernel(self, steps, g, x, w, y, threads=None, by_rows=False):
        """The step of a direct kernel on blocked operands, for this convolution or some rows of it."""
        epilogue = self.fusion.epilogue(_ELEMENTS[g.item])
        if self.depthwise:
            conv_depthwise.add_depthwise(steps, g, x, w, y, epilogue=epilogue, by_rows=by_rows, threads=threads)
        else:
            conv_plan.add_direct(steps, g, conv_plan.filters_of(g), x, w, y, epilogue=epilogue, threads=threads)

    def prepare(self, w, bias=None, scale=None) -> Prepared:
        """Bring a weight, a bias and a scale into the layout of the kernel."""
        w = plain(w)
        made = pack_weight(w, self.geometry.groups, self.x_blocked, self.algorithm)
        return Prepared(made, w, self.bias(bias)[0], None if scale is None else self.bias(plain(scale))[0])

    def __call__(self, x, ready: Prepared, residual=None, out=None):
        """act(conv(x, w) * scale + bias + residual); `residual` has the layout of the result."""
        if (ready.scale is not None) != self.fusion.scale or (residual is not None) != self.fusion.residual:
            raise ShapeError(f"fused convolution made for {self.fusion} takes a scale and a residual exactly where that "
                             "says so")
        out = alloc.empty(self.shape, self.dtype) if out is None else out
        kept = [array for array in (ready.scale, ready.bias) if array is not None]
        if residual is not None:
            kept.append(residual if self.y_blocked else self._blocked_residual(residual))
        words = np.array([call.address_of(array) for array in kept], np.int64)
        self.plan(plain(x), ready.weight, out, call.address_of(words), call.address_of(ready.plain))
        return out

    def run(self, x, w, beside=(), taps=()):
        """The convolution with a packed weight; `beside` are the arrays that the epilogue reads, laid out as it reads them,
        `taps` the weight itself, and maybe a factor for each output channel, where the packed one is transformed."""
        return self.plan.result(self.shape, x, w, beside, taps)

    def _blocked_residual(self, residual):
        """A plain residual in the blocks of the result, each group's apart."""
        g = self.geometry
        if self.depthwise or g.groups == 1:
            return block(residual)
        return block(residual.reshape(g.images * g.groups, g.outputs, *residual.shape[2:]))


@functools.lru_cache(512)
def _fused(x_shape, w_shape, dtype, stride, padding, dilation, groups, fusion, state):
    return FusedConv(x_shape, w_shape, dtype, stride=stride, padding=padding, dilation=dilation, groups=groups, fusion=fusion)


@functools.lru_cache(None)
def _product(item, fusion):
    element = _ELEMENTS[item]
    parts = (RowBias(element), *((Residual(element),) if fusion.residual else ()), *fusion.functions())
    return gemm.Product(np.float32 if item == 4 else np.float64, None, Chain(parts))


def conv_fused(x, w, bias=None, residual=None, scale=None, activation=None, *, stride, padding, dilation, groups):
    """act(conv(x, w) * scale + bias + residual) of plain arrays in one go; `activation` as in `Fusion`."""
    x, w = plain(x), plain(w)
    fusion = Fusion(scale is not None, residual is not None, activation)
    residual = None if residual is None else plain(residual)
    g = geometry(x.shape, w.shape, stride, padding, dilation, groups, x.itemsize)
    if scale is None and groups == 1 and is_pointwise(g):
        return _pointwise(g, x, w, bias, residual, fusion)
    fused = _fused(x.shape, w.shape, x.dtype, stride, padding, dilation, groups, fusion,
                   (pool.get_num_threads(), config.current().numerics))
    return fused(x, fused.prepare(w, bias, scale), residual)


def _pointwise(g, x, w, bias, residual, fusion):
    """1x1 windows as matrix products of the plain arrays."""
    bias = np.zeros(g.outputs, x.dtype) if bias is None else plain(bias)
    words = [call.address_of(bias)]
    if residual is not None:
        words += [call.address_of(residual), g.pixels * g.item, g.outputs * g.pixels * g.item]
    block_ = np.array(words, np.int64)
    out = _product(g.item, fusion)(w.reshape(g.outputs, g.inputs), x.reshape(g.images, g.inputs, g.pixels), None,
                                   call.address_of(block_))
    return out.reshape(g.images, g.outputs, *x.shape[2:])
