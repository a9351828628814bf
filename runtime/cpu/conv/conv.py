"""Convolutions of plain arrays (N, C, *spatial): forward, and the gradients of input and weight.

The kernels take float32 and float64, up to three spatial dims. Results do not depend on the number of threads. A plan is made
once per shape: how the operands are brought into blocks, by which algorithm, and back.
"""

import dataclasses
import functools
import itertools
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
from ..calls.step_list import At, Table
from ..gemm import complex_products, gemm
from ..loops.copies import plain
from ..loops.low_precision import LOW, widened
from . import conv_algorithm, conv_depthwise, conv_grad_plan, conv_layout, conv_plan, winograd
from .conv_algorithm import Algorithm
from .conv_layout import Bias
from .conv_plan import Geometry, Window

DTYPES = (np.dtype(np.float32), np.dtype(np.float64))
MAX_DIMS = 3
_KEPT = 2048                        # plans of each kind, 4 KB each: those of a large network for some forty image sizes
_WIDE_PIXELS = 192                  # planes from which 1x1 windows are matrix products in place


def supported(*arrays) -> bool:
    """Whether the kernels take these arrays, or operands of a step (None stands for those that are left out)."""
    first = arrays[0]
    return first.dtype in DTYPES and first.dtype.isnative and _fits(*arrays)


def _fits(first, *others) -> bool:
    return first.size > 0 and all([a is None or a.size for a in others]) and 3 <= len(first.shape) <= 2 + MAX_DIMS  # noqa: C419


def geometry(x_shape, w_shape, stride, padding, dilation, groups, item) -> Geometry:
    """Return the geometry of a convolution of shapes; missing spatial dims in front have size 1."""
    dims: list[Window] = []
    for size, taps, step, (low, high), gap in zip(x_shape[2:], w_shape[2:], stride, padding, dilation):
        out = (size + low + high - gap * (taps - 1) - 1) // step + 1
        dims.append(Window(size, out, taps, step, low, gap))
    missing = (Window(1, 1),) * (MAX_DIMS - len(dims))
    return Geometry(x_shape[0], groups, w_shape[1], w_shape[0] // groups, (*missing, *dims), item)


def state():
    """Return what plans depend on besides shapes."""
    return pool.get_num_threads(), config.current().numerics


# Forward.


def forward(x, w, b, *, stride, padding, dilation, groups):
    """Return conv(x, w) + b."""
    x, w = plain(x), plain(w)
    run = forward_plan(x.shape, w.shape, stride, padding, dilation, groups, x.dtype, state())
    return run(x, w, b)


@functools.lru_cache(_KEPT)
def forward_plan(x_shape, w_shape, stride, padding, dilation, groups, dtype, state):
    """Return the forward convolution of these shapes."""
    g = geometry(x_shape, w_shape, stride, padding, dilation, groups, dtype.itemsize)
    algorithm = conv_algorithm.choose(g)
    shape = (x_shape[0], w_shape[0], *(d.out for d in g.dims[MAX_DIMS - len(stride):]))
    if conv_depthwise.takes(g):
        return conv_depthwise.forward(g, dtype, shape)
    if conv_depthwise.is_narrow(g):
        return conv_depthwise.Depthwise(g, dtype, shape)
    return Pointwise(g, dtype, shape) if is_pointwise(g) else Direct(g, dtype, shape, algorithm)


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
            b = plain(b)
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


class Direct:
    """A forward convolution: blocks of x, panels of w, the direct or the Winograd kernel, y back."""

    def __init__(self, g: Geometry, dtype, shape, algorithm: Algorithm | None):
        self.shape, self.dtype = shape, dtype
        steps = SlotJobs()
        self.bias = Bias(g.groups, g.outputs, g.lanes, dtype)
        g = dataclasses.replace(g, x_plain=reads_planes(g, algorithm))
        x = _packed_input(steps, g)
        y = WORKSPACE, steps.room(conv_layout.blocked_bytes(g.images * g.groups, g.y_blocks, g.out_pixels))
        if algorithm:
            _add_winograd(steps, g, algorithm, x, winograd.Taps((W, 0)), y)
        else:
            filters = conv_plan.filters_of(g)
            w = WORKSPACE, steps.room(g.groups * filters.group)
            conv_layout.pack_weight(steps, (W, 0), w, g.groups, filters)
            conv_plan.add_direct(steps, g, filters, x, w, y)
        conv_layout.unpack_activation(steps, y, (Y, 0), g.images * g.groups, g.y_blocks, g.out_pixels)
        self.plan = steps.plan()

    def __call__(self, x, w, b):
        _bias, words = self.bias(b)       # the words hold its address
        return self.plan.new(self.shape, x, w, call.address_of(words))


def _add_winograd(steps, g, algorithm, x, taps, y):
    u = WORKSPACE, steps.room(algorithm.filter_bytes(g))
    algorithm.add_weight(steps, g, taps, u)
    algorithm.add(steps, g, x, taps, u, y)


def reads_planes(g: Geometry, algorithm: Algorithm | None) -> bool:
    """Whether a plain x is read in place."""
    return algorithm.planes if algorithm else conv_plan.few_inputs(g)


def _packed_input(steps, g):
    """Return the location of x in blocks: its own if it is in blocks already."""
    if g.inputs == 1 or g.x_plain:
        return X, 0
    x = WORKSPACE, steps.room(conv_layout.blocked_bytes(g.images * g.groups, g.x_blocks, g.pixels))
    conv_layout.pack_activation(steps, (X, 0), x, g.images * g.groups, g.x_blocks, g.pixels)
    return x


# The gradient of the input.


def input_grad(g, w, *, size, stride, padding, dilation, groups):
    """Return the transposed convolution: the gradient of conv for an input of spatial `size`."""
    g, w = plain(g), plain(w)
    run = input_grad_plan(g.shape, w.shape, tuple(size), stride, padding, dilation, groups, g.dtype, state())
    return run(g, w)


@functools.lru_cache(_KEPT)
def input_grad_plan(g_shape, w_shape, size, stride, padding, dilation, groups, dtype, state):
    """Return the gradient of the input for these shapes."""
    shape = (g_shape[0], w_shape[1] * groups, *size)
    forward = geometry(shape, w_shape, stride, padding, dilation, groups, dtype.itemsize)
    if conv_depthwise.takes(forward):
        return conv_depthwise.input_grad(forward, dtype, shape)
    if conv_depthwise.is_narrow(forward) and all(d.stride == 1 for d in forward.dims):
        return conv_depthwise.NarrowGrad(forward, dtype, shape)
    return PointwiseGrad(forward, dtype, shape) if is_pointwise(forward) else DirectGrad(forward, dtype, shape)


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


class DirectGrad:
    """The input gradient. Stride 1: a convolution of the gradient with the flipped weight; else one for each phase of the
    strides."""

    def __init__(self, forward: Geometry, dtype, shape):
        self.shape, self.dtype = shape, dtype
        flipped = Geometry(forward.images, forward.groups, forward.outputs, forward.inputs,
                          tuple(Window(d.out, d.size) for d in forward.dims), forward.item)
        self.bias, steps = Bias(flipped.groups, flipped.outputs, flipped.lanes, dtype), SlotJobs()
        x = _packed_input(steps, flipped)
        y = WORKSPACE, steps.room(conv_layout.blocked_bytes(flipped.images * flipped.groups, flipped.y_blocks, forward.pixels))
        for phase in itertools.product(*map(conv_plan.phases, forward.dims)):
            self._add_phase(steps, forward, flipped, phase, x, y)
        conv_layout.unpack_activation(steps, y, (Y, 0), flipped.images * flipped.groups, flipped.y_blocks, forward.pixels)
        self.plan = steps.plan()

    @staticmethod
    def _add_phase(steps, forward, flipped, phase, x, y):
        g = dataclasses.replace(flipped, dims=tuple(window for _, window, _ in phase))
        one = all(d.stride == 1 for d in forward.dims)
        algorithm = conv_algorithm.choose(g) if one else None
        if algorithm:
            _add_winograd(steps, g, algorithm, x, winograd.Taps((W, 0), turned=True), y)
            return
        filters = conv_plan.filters_of(g)
        w = WORKSPACE, steps.room(g.groups * filters.group)
        places = conv_plan.tap_places(forward, [taps for *_, taps in phase])
        if g.taps:
            conv_layout.pack_flipped_weight(steps, (W, 0), w, g.groups, filters, places)
        scatter = None if one else conv_plan.Scatter(tuple(d.size for d in forward.dims), tuple(d.stride for d in forward.dims),
                                    tuple(first for first, *_ in phase))
        conv_plan.add_direct(steps, g, filters, x, w, y, scatter=scatter)

    def __call__(self, grad, w):
        return self.plan.new(self.shape, grad, w, call.address_of(self.bias.nothing[1]))


# The gradient of the weight.


def weight_grad(x, g, *, size, stride, padding, dilation, groups):
    """Return the gradient of conv for a weight whose kernel has `size`."""
    x, g = plain(x), plain(g)
    run = weight_grad_plan(x.shape, g.shape, tuple(size), stride, padding, dilation, groups, x.dtype, state())
    return run(x, g)


@functools.lru_cache(_KEPT)
def weight_grad_plan(x_shape, g_shape, size, stride, padding, dilation, groups, dtype, state):
    """Return the gradient of the weight for these shapes."""
    shape = (g_shape[1], x_shape[1] // groups, *size)
    g = geometry(x_shape, shape, stride, padding, dilation, groups, dtype.itemsize)
    if conv_depthwise.takes(g):
        return conv_depthwise.DepthwiseWeightGrad(g, dtype, shape)
    small = g.outputs * g.inputs <= 2 * g.pixels * (g.outputs + g.inputs)
    return (PointwiseWeightGrad if small and is_pointwise(g) else WeightGrad)(g, dtype, shape)


class PointwiseWeightGrad:
    """The weight gradient of 1x1 windows on every pixel: a product for each image, added in the order of the images."""

    def __init__(self, g: Geometry, dtype, shape):
        self.shape, self.product = shape, gemm.product_of(dtype)
        self.x_shape, self.g_shape = ((g.images, g.groups, n, g.pixels) for n in (g.inputs, g.outputs))

    def __call__(self, x, g):
        each = self.product(g.reshape(self.g_shape), x.reshape(self.x_shape).swapaxes(-1, -2))
        return each.sum(axis=0).reshape(self.shape)


class WeightGrad:
    """The weight gradient: blocks of x and of the gradient, the weight gradient kernel, panels back."""

    def __init__(self, g: Geometry, dtype, shape):
        self.shape, self.dtype = shape, dtype
        steps = SlotJobs()
        x = _packed_input(steps, g)
        y = WORKSPACE, steps.room(conv_layout.blocked_bytes(g.images * g.groups, g.y_blocks, g.out_pixels))
        conv_layout.pack_activation(steps, (W, 0), y, g.images * g.groups, g.y_blocks, g.out_pixels)
        conv_grad_plan.add_plain_weight_grad(steps, g, x, y, (Y, 0))
        self.plan = steps.plan()

    def __call__(self, x, g):
        return self.plan.new(self.shape, x, g)


# 1x1 convolutions of bfloat16: products of their planes, if products have matrix tiles. Others run in float32. Sums are rounded
# once either way, after the bias.

_LEAST_TILE = 16     # channels and pixels that fill a tile


def forward_bf16(x, w, b, *, stride, padding, dilation, groups):
    """Return conv(x, w) + b, or None if float32 is faster."""
    if not _takes_bf16(x, w, stride, padding, groups):
        return None
    w, x = plain(w).reshape(w.shape[:2]), plain(x)
    planes = x.reshape(x.shape[0], x.shape[1], -1)
    if b is None:
        out = _product_bf16()(w, planes)
    else:
        b = plain(b)
        words = np.array([call.address_of(b)], np.int64)
        out = _product_bf16(RowBias(BF16))(w, planes, None, call.address_of(words))
    return out.reshape(x.shape[0], w.shape[0], *x.shape[2:])


def input_grad_bf16(g, w, *, size, stride, padding, dilation, groups):
    """Return the gradient for the input, or None."""
    if not _takes_bf16(g, w, stride, padding, groups) or tuple(size) != g.shape[2:]:
        return None
    g, w = plain(g), plain(w).reshape(w.shape[:2])
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
        (x, y, *rest), params = operands, node.params
        if not supported(x, y):
            return None
        size = (tuple(params["size"]),) if "size" in params else ()
        window = [params[name] for name in ("stride", "padding", "dilation", "groups")]
        made = plan_of(x.shape, y.shape, *size, *window, x.dtype, state())
        words = _bias_words(made, *rest) if hasattr(made, "plan") and getattr(made, "times", 1) == 1 else None
        return None if words is None else made.plan.native({X: At(0), W: At(1), Y: At(len(operands))}, words)

    return step


def _bias_words(made, bias=None):
    """Return the words of a bias (operand 2, or zeros), none for the gradient of a weight; None if it must be padded."""
    if not hasattr(made, "bias"):
        return ()
    if bias is not None:
        return (At(2),) if made.bias.width == made.bias.outputs else None
    return (Table(np.zeros(-(-made.bias.groups * made.bias.width * made.dtype.itemsize // 8), np.int64)),)


OPERATORS = {
    conv_ops.conv: OperatorKernel(make=_eager(forward, forward_bf16), step=_step(forward_plan)),
    conv_ops.conv_input_grad: OperatorKernel(make=_eager(input_grad, input_grad_bf16), step=_step(input_grad_plan)),
    conv_ops.conv_weight_grad: OperatorKernel(make=_eager(weight_grad), step=_step(weight_grad_plan)),
}
