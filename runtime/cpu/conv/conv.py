"""Convolutions of plain arrays (N, C, *spatial): forward, and the gradients of input and weight.

The kernels take float32 and float64, up to three spatial dims. Results do not depend on the number of threads. A plan is made
once per shape: how the operands are brought into blocks, by which algorithm, and back.
"""

import dataclasses
import functools
from math import prod

import numpy as np

from ....ir import config
from ....ir import dtype as dt
from ....ir.ops.nn import conv as conv_ops
from ....passes.codegen.llvm.contract.epilogue import RowBias
from ....passes.codegen.llvm.ir.types import BF16
from ..calls import call, pool
from ..calls.operator_kernel import OperatorKernel
from ..calls.plan import WORKSPACE, SlotJobs, W, X, Y
from ..gemm import complex_products, gemm
from ..loops.copies import dense
from ..loops.kernels import LOW, widened
from . import conv_algorithm, conv_depthwise, conv_depthwise_planar, conv_gradients, conv_layout, conv_plan, winograd
from .conv_algorithm import Algorithm
from .conv_layout import Bias, PlannedConv
from .conv_plan import MAX_DIMS, Geometry, geometry_of

DTYPES = (np.dtype(np.float32), np.dtype(np.float64))
_KEPT = 2048                        # plans of each kind, 4 KB each: those of a large network for some forty image sizes
_MOST_PHASES = 512                  # of a transposed convolution: each is a step of its plan, even one without taps
_WIDE_PIXELS = 192                  # planes from which 1x1 windows are matrix products in place


def supported(*arrays) -> bool:
    """Whether the kernels take these arrays, or operands of a step (None stands for those that are left out)."""
    first = arrays[0]
    return first.dtype in DTYPES and first.dtype.isnative and _fits(*arrays)


def _fits(first, *others) -> bool:
    return first.size > 0 and all([a is None or a.size for a in others]) and 3 <= len(first.shape) <= 2 + MAX_DIMS  # noqa: C419


def state():
    """Return what plans depend on besides shapes."""
    return pool.get_num_threads(), config.current().numerics


# Forward.


def forward(x, w, b, *, stride, padding, dilation, groups):
    """Return conv(x, w) + b."""
    x, w = dense(x), dense(w)
    run = forward_plan(x.shape, w.shape, stride, padding, dilation, groups, x.dtype, state())
    return run(x, w, b)


@functools.lru_cache(_KEPT)
def forward_plan(x_shape, w_shape, stride, padding, dilation, groups, dtype, state):
    """Return the forward convolution of these shapes."""
    g = geometry_of(x_shape, w_shape, stride, padding, dilation, groups, dtype.itemsize)
    algorithm = conv_algorithm.choose(g)
    shape = (x_shape[0], w_shape[0], *(d.out for d in g.dims[MAX_DIMS - len(stride):]))
    if conv_depthwise.takes(g) or conv_depthwise.is_narrow(g):
        if conv_depthwise_planar.takes(g):
            return conv_depthwise_planar.planes(g, dtype, shape)
        return conv_depthwise.depthwise(g, dtype, shape)
    return Pointwise(g, dtype, shape) if is_pointwise(g) else direct(g, dtype, shape, algorithm)


class Pointwise:
    """1x1 windows on every pixel: a matrix product of each image, read and written in place."""

    def __init__(self, g: Geometry, dtype, shape):
        self.g, self.shape = g, shape
        self.product = gemm.product_of(dtype, RowBias("float" if g.item == 4 else "double"))
        self.plain = gemm.product_of(dtype)
        self.taken = (g.images, g.inputs, g.pixels) if g.groups == 1 else (g.images, g.groups, g.inputs, g.pixels)

    def __call__(self, x, w, b):
        g = self.g
        if g.groups == 1 and b is not None:
            b = dense(b)
            words = np.array([call.address_of(b)], np.int64)
            return self.product(w.reshape(g.outputs, g.inputs), x.reshape(self.taken), None,
                                call.address_of(words)).reshape(self.shape)
        w = w.reshape(g.outputs, g.inputs) if g.groups == 1 else w.reshape(g.groups, g.outputs, g.inputs)
        out = self.plain(w, x.reshape(self.taken)).reshape(self.shape)
        if b is not None:
            out += b.reshape((-1,) + (1,) * (len(self.shape) - 2))
        return out


def is_pointwise(g):
    """Whether a matrix product per image is faster: whole vectors of pixels, and windows of one pixel."""
    return (g.pixels == g.out_pixels and all(d.taps == d.stride == 1 and d.low == 0 for d in g.dims)
            and (g.pixels >= _WIDE_PIXELS or g.pixels % (4 * g.lanes) == 0 or (g.images == 1 and g.pixels > 1)))


def direct(g: Geometry, dtype, shape, algorithm: Algorithm | None) -> PlannedConv:
    """Return a forward convolution: blocks of x, panels of w, the direct or the Winograd kernel, y back."""
    steps, g = SlotJobs(), dataclasses.replace(g, x_plain=reads_planes(g, algorithm))
    images, in_place = g.images * g.groups, g.inputs == 1 or g.x_plain
    x = (X, 0) if in_place else conv_layout.into_blocks(steps, X, images, g.x_blocks, g.pixels)
    y = WORKSPACE, steps.room(conv_layout.blocked_bytes(images, g.y_blocks, g.out_pixels))
    if algorithm:
        weight, w = winograd.PlainWeight((W, 0)), (WORKSPACE, steps.room(algorithm.filter_bytes(g)))
        algorithm.add_weight(steps, g, weight, w)
        algorithm.add(steps, g, x, weight, w, y)
    else:
        filters = conv_plan.filters_of(g)
        w = WORKSPACE, steps.room(g.groups * filters.group)
        conv_layout.pack_weight(steps, (W, 0), w, g.groups, filters)
        conv_plan.add_direct(steps, g, filters, x, w, y)
    conv_layout.unpack_activation(steps, y, (Y, 0), images, g.y_blocks, g.out_pixels)
    return PlannedConv(steps.plan(), shape, Bias(g.groups, g.outputs, g.lanes, dtype))


def reads_planes(g: Geometry, algorithm: Algorithm | None) -> bool:
    """Whether a plain x is read in place."""
    return algorithm.planes if algorithm else conv_plan.few_inputs(g)


# The gradient of the input.


def input_grad(g, w, *, size, stride, padding, dilation, groups):
    """Return the transposed convolution: the gradient of conv for an input of spatial `size`."""
    g, w = dense(g), dense(w)
    run = input_grad_plan(g.shape, w.shape, tuple(size), stride, padding, dilation, groups, g.dtype, state())
    return run(g, w)


@functools.lru_cache(_KEPT)
def input_grad_plan(g_shape, w_shape, size, stride, padding, dilation, groups, dtype, state):
    """Return the gradient of the input for these shapes."""
    if prod(map(min, stride, size)) > _MOST_PHASES:
        return functools.partial(conv_ops.conv_input_grad.ref, size=size, stride=stride, padding=padding, dilation=dilation,
                                 groups=groups)
    shape = (g_shape[0], w_shape[1] * groups, *size)
    forward = geometry_of(shape, w_shape, stride, padding, dilation, groups, dtype.itemsize)
    if conv_depthwise.takes(forward):
        back = conv_depthwise_planar.input_geometry(forward)
        if back is not None:
            return conv_depthwise_planar.planes(back, dtype, shape, flipped=True)
    elif conv_depthwise.is_narrow(forward) and all(d.stride == 1 for d in forward.dims):
        return conv_depthwise.NarrowGrad(forward, dtype, shape)
    elif is_pointwise(forward):
        return PointwiseGrad(forward, dtype, shape)
    return conv_gradients.plain_input_grad(forward, dtype, shape)


class PointwiseGrad:
    """The input gradient of 1x1 windows on every pixel."""

    def __init__(self, g: Geometry, dtype, shape):
        self.g, self.shape = g, shape
        self.product = gemm.product_of(dtype)

    def __call__(self, grad, w):
        g = self.g
        if g.groups == 1:
            w, grad = w.reshape(g.outputs, g.inputs), grad.reshape(g.images, g.outputs, g.pixels)
        else:
            w, grad = w.reshape(g.groups, g.outputs, g.inputs), grad.reshape(g.images, g.groups, g.outputs, g.pixels)
        return self.product(w.swapaxes(-1, -2), grad).reshape(self.shape)


# The gradient of the weight.


def weight_grad(x, g, *, size, stride, padding, dilation, groups):
    """Return the gradient of conv for a weight whose kernel has `size`."""
    x, g = dense(x), dense(g)
    run = weight_grad_plan(x.shape, g.shape, tuple(size), stride, padding, dilation, groups, x.dtype, state())
    return run(x, g)


@functools.lru_cache(_KEPT)
def weight_grad_plan(x_shape, g_shape, size, stride, padding, dilation, groups, dtype, state):
    """Return the gradient of the weight for these shapes."""
    shape = (g_shape[1], x_shape[1] // groups, *size)
    g = geometry_of(x_shape, shape, stride, padding, dilation, groups, dtype.itemsize)
    small = g.outputs * g.inputs <= 2 * g.pixels * (g.outputs + g.inputs)
    is_depthwise = conv_depthwise.takes(g)
    if small and is_pointwise(g) and not is_depthwise:
        return PointwiseWeightGrad(g, dtype, shape)
    repeats = g.outputs if is_depthwise else 1
    g = dataclasses.replace(g, groups=g.groups * repeats, outputs=g.outputs // repeats)
    return PlannedConv(conv_gradients.weight_plan(g, False, False), shape, repeats=repeats)


class PointwiseWeightGrad:
    """The weight gradient of 1x1 windows on every pixel: a product for each image, added in the order of the images."""

    def __init__(self, g: Geometry, dtype, shape):
        self.shape, self.product = shape, gemm.product_of(dtype)
        self.x_shape, self.g_shape = ((g.images, g.groups, n, g.pixels) for n in (g.inputs, g.outputs))

    def __call__(self, x, g):
        each = self.product(g.reshape(self.g_shape), x.reshape(self.x_shape).swapaxes(-1, -2))
        return each.sum(axis=0).reshape(self.shape)


# 1x1 convolutions of bfloat16: products of their planes, if products have matrix tiles. Others run in float32. Sums are rounded
# once either way, after the bias.

_LEAST_TILE = 16     # channels and pixels that fill a tile


def forward_bf16(x, w, b, *, stride, padding, dilation, groups):
    """Return conv(x, w) + b, or None if float32 is faster."""
    if not _takes_bf16(x, w, stride, padding, groups):
        return None
    w, x = dense(w).reshape(w.shape[:2]), dense(x)
    planes = x.reshape(x.shape[0], x.shape[1], -1)
    if b is None:
        out = _product_bf16()(w, planes)
    else:
        b = dense(b)
        words = np.array([call.address_of(b)], np.int64)
        out = _product_bf16(RowBias(BF16))(w, planes, None, call.address_of(words))
    return out.reshape(x.shape[0], w.shape[0], *x.shape[2:])


def input_grad_bf16(g, w, *, size, stride, padding, dilation, groups):
    """Return the gradient for the input, or None."""
    if not _takes_bf16(g, w, stride, padding, groups) or tuple(size) != g.shape[2:]:
        return None
    g, w = dense(g), dense(w).reshape(w.shape[:2])
    return _product_bf16()(w.T, g.reshape(g.shape[0], g.shape[1], -1)).reshape(g.shape[0], w.shape[1], *size)


def _takes_bf16(x, w, stride, padding, groups):
    return (x.dtype == w.dtype == dt.bfloat16.np and x.size > 0 and groups == 1 and set(w.shape[2:]) == {1} == {*stride}
            and not any(map(any, padding)) and min(*w.shape[:2], prod(x.shape[2:])) >= _LEAST_TILE and _product_bf16().amx)


def _product_bf16(epilogue=None):
    return gemm.product_of(dt.bfloat16.np, epilogue)


def _eager(run, run_bf16=None):
    """Return the maker of an eager convolution or gradient. Complex arrays run by their parts. Low precision is widened and
    rounded once, unless `run_bf16` takes it. The reference does the rest: integers, empty arrays, more than three spatial
    dims."""
    run_parts, run_wide = complex_products.by_parts(run), widened(run)

    def make(op):
        def call(x, y, *bias, **params):
            kind = x.dtype
            if kind in LOW:
                found = run_bf16(x, y, *bias, **params) if run_bf16 is not None and kind == dt.bfloat16.np else None
                if found is None and _fits(x, y, *bias):
                    found = run_wide(x, y, *bias, **params)
                return op.ref(x, y, *bias, **params) if found is None else found
            if kind.kind == "c" and kind == y.dtype and supported(x.real, y):
                return _biased(run_parts(x, y, *[None] * len(bias), **params), *bias)
            return (run if supported(x, y, *bias) else op.ref)(x, y, *bias, **params)

        return call

    return make


def _biased(out, bias=None):
    return out if bias is None else np.add(out, bias.reshape(-1, *[1] * (out.ndim - 2)), out)


def _step(plan_of):
    """Return the step of a convolution or gradient, if it is planned as one plan that runs once."""

    def step(node, operands, results):
        (x, y, *_), params = operands, node.params
        if not supported(x, y):
            return None
        size = (tuple(params["size"]),) if "size" in params else ()
        window = [params[name] for name in ("stride", "padding", "dilation", "groups")]
        planned = plan_of(x.shape, y.shape, *size, *window, x.dtype, state())
        return planned.native(*operands) if type(planned) is PlannedConv else None

    return step


OPERATORS = {
    conv_ops.conv: OperatorKernel(make=_eager(forward, forward_bf16), step=_step(forward_plan)),
    conv_ops.conv_input_grad: OperatorKernel(make=_eager(input_grad, input_grad_bf16), step=_step(input_grad_plan)),
    conv_ops.conv_weight_grad: OperatorKernel(make=_eager(weight_grad), step=_step(weight_grad_plan)),
}
