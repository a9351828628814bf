"""Which compiled kernel runs convolutions, pools, resampling and batch normalisation in eager mode; see `eager.py`.

The kernels take float32 and float64. Narrower floats are widened and rounded once, as the references do, but for what
`conv_pointwise_bf16.py` takes; what remains (integers, empty arrays, more than three spatial dims) is the references'.
"""

import functools
import inspect
from math import prod
from typing import Any

import numpy as np

from ....ir import dtype as dt
from ....ir.lazy import lazy
from ....ir.opdef.op import Op
from ....ir.ops.nn import conv as conv_ops
from ....ir.ops.nn import norm as norm_ops
from ....ir.ops.nn import pool as pool_ops
from ....ir.ops.nn import resample as resample_ops
from ....ir.ops.nn import sampled_points as taps_ops
from ..calls.kernel_table import KernelTable
from ..conv import adaptive_max_pool, batch_norm, conv, conv_pointwise_bf16, pooling
from ..gemm import complex_products
from ..index import sampled_points
from ..loops import kernels, linear_maps

composites = lazy(__package__, "..graph.composites")

TABLE = KernelTable()
_LOW = (dt.float16.np, dt.bfloat16.np)


def _wide(array):
    return kernels.converted(array, dt.float32.np) if array is not None and array.dtype in _LOW else array


def _widened(op, run, takes):
    """`run` on wide operands where it takes them, else the reference."""
    def call(*arrays, **params):
        kind, wide = arrays[0].dtype, arrays
        if kind in _LOW:
            wide = tuple([_wide(a) for a in arrays])
        if not takes(*wide):
            return op.ref(*arrays, **params)
        return kernels.converted(run(*wide, **params), kind)

    return call


def _in_low(run, other):
    """`run`, which gives None for what it leaves to `other`."""
    def call(x, *others, **params):
        result = run(x, *others, **params) if x.dtype == dt.bfloat16.np else None
        return other(x, *others, **params) if result is None else result

    return call


def _in_parts(run, other):
    """Complex arrays by what `run` makes of their parts, and their bias added; `other` takes what `run` does not."""
    by_parts = complex_products.by_parts(run)

    def call(x, y, *bias, **params):
        if x.dtype.kind != "c" or x.dtype != y.dtype or not conv.supported(x.real, y):
            return other(x, y, *bias, **params)
        out = by_parts(x, y, *[None] * len(bias), **params)
        for b in bias:
            if b is not None:
                np.add(out, b.reshape(-1, *[1] * (out.ndim - 2)), out)
        return out

    return call


@TABLE.makes(conv_ops.conv)
def convolution(op: Op):
    """The forward convolution."""
    return _in_parts(conv.forward, _in_low(conv_pointwise_bf16.forward, _widened(op, conv.forward, conv.supported)))


@TABLE.makes(conv_ops.conv_input_grad)
def convolution_input_grad(op: Op):
    """Its gradient for the input: transposed convolutions too."""
    return _in_parts(conv.input_grad, _in_low(conv_pointwise_bf16.input_grad, _widened(op, conv.input_grad, conv.supported)))


@TABLE.makes(conv_ops.conv_weight_grad)
def convolution_weight_grad(op: Op):
    """Its gradient for the weight."""
    return _in_parts(conv.weight_grad, _widened(op, conv.weight_grad, conv.supported))


def _plane_op(op, run):
    """A pool: its kernel where it applies, else the reference."""
    def call(x, *others, **params):
        wide = _wide(x)
        result = run(wide, *others, **params) if pooling.supported(wide) and all(a.size for a in others) else None
        if result is None:
            return op.ref(x, *others, **params)
        if type(result) is tuple:
            return kernels.converted(result[0], x.dtype), *result[1:]
        return kernels.converted(result, x.dtype)

    return call


_LARGE_WINDOW = 512         # elements from which windows that do not meet are reduced as bins
_MANY_IN_BINS = 1 << 13     # elements of all planes from which bins are; below, the reference looks at each by itself


def _max_pool(x, *, kernel, stride, padding, dilation):
    """Large windows beside each other are bins, which are reduced in vectors along their rows."""
    if kernel == stride and prod(kernel) >= _LARGE_WINDOW and not any(map(any, padding)) and set(dilation) == {1}:
        size = [n // k for n, k in zip(x.shape[2:], kernel)]
        if all(n == k * count for n, k, count in zip(x.shape[2:], kernel, size)):
            return adaptive_max_pool.maxima(x, size=size)
    return pooling.max_pool(x, kernel=kernel, stride=stride, padding=padding, dilation=dilation)


def _adaptive_max_pool(x, *, size):
    return adaptive_max_pool.maxima(x, size=size) if x.size >= _MANY_IN_BINS else None


def _max_pool_grad(g, indices, *, size, **window):
    return pooling.plane_put(g, indices, size=size, accumulate=True)


_PLANES = {pool_ops.max_pool: _max_pool, pool_ops.adaptive_max_pool: _adaptive_max_pool, pool_ops.avg_pool: pooling.avg_pool,
           pool_ops.avg_pool_grad: pooling.avg_pool_grad, pool_ops.plane_put: pooling.plane_put,
           pool_ops.max_pool_grad: _max_pool_grad}


@TABLE.makes(*_PLANES)
def pools(op: Op):
    """Pools and the scatter of their gradients."""
    return _plane_op(op, _PLANES[op])


def _often_as_graph(op, general):
    """What runs an operator of several steps: `general`, and one native call for calls on small arrays that come often."""
    made: Any = None

    def run(x, **params):
        nonlocal made
        if x.size < _MANY_MOVED:
            made = made or composites.composites_of(op)
            graph = made.find((x,), params, _OFTEN)
            if graph is not None:
                return graph((x,))
        return general(x, **params)

    return run


_OFTEN = 128                # calls that take about as long as compiling them
_MANY_MOVED = 1 << 15       # elements from which what is between the steps does not count


@TABLE.makes(resample_ops.border_pad)
def border_pad(op: Op):
    """Large arrays are copied once, then what is around them."""

    def run(x, *, low, high, mode):
        if x.size < _MANY_PADDED or min(*low, *high) < 0:
            return op.ref(x, low=low, high=high, mode=mode, along=linear_maps.apply)
        return linear_maps.bordered(x, low, high, mode)

    return _often_as_graph(op, run)


_MANY_PADDED = 1 << 13      # elements from which a copy takes longer than finding out what is around it


@TABLE.makes(resample_ops.resample, resample_ops.resample_grad, resample_ops.border_pad_grad)
def resampling(op: Op):
    """Interpolation, even bins and borders: the reference, with generated maps along each dim."""
    return _often_as_graph(op, functools.partial(op.ref, along=linear_maps.apply))


_TAPS = {taps_ops.taps_take: sampled_points.take, taps_ops.taps_put: sampled_points.put,
         taps_ops.taps_dots: sampled_points.dots}


@TABLE.makes(*_TAPS)
def taps(op: Op):
    """Sums of elements at given places."""
    return _TAPS[op]


_NORMS: dict[Op, Any] = {norm_ops.batch_norm: batch_norm.evaluate, norm_ops.batch_norm_train: batch_norm.train,
          norm_ops.batch_norm_grad: batch_norm.gradient, norm_ops.batch_norm_relu_train: batch_norm.relu_train,
          norm_ops.batch_norm_relu_grad: batch_norm.relu_gradient}


@TABLE.makes(*_NORMS)
def batch_norms(op: Op):
    """Batch normalisation; statistics stay in the accumulator's type."""
    run = _NORMS[op]
    position = tuple(inspect.signature(op.infer).parameters).index("x")

    def call(*arrays, eps):
        kind, wide = arrays[position].dtype, arrays
        if kind in _LOW:
            wide = tuple([_wide(a) for a in arrays])
        if not batch_norm.supported(wide[position], *wide):
            return op.ref(*arrays, eps=eps)
        result = run(*wide, eps=eps)
        if type(result) is tuple:
            return kernels.converted(result[0], kind), *result[1:]
        return kernels.converted(result, kind)

    return call
