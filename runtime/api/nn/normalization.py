"""Normalisations under `ingot.*`, and helpers that all normalisations share."""


import numpy as np

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, DTypeError, ShapeError, kind_of
from ....ir.opdef.aval import canonical_dim, integers
from ....ir.ops.core import complex_numbers as co
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core.moments import vector_norm
from ....ir.ops.core.shape import expand
from ....ir.ops.nn import norm as ops
from ....ir.symbols.substitute import as_float
from ...core.tensor import Tensor, shape_of
from ...state.mode import tls
from ..register.register import api, deliver
from ..register.type_promotion import to_dtype


def floating(input, name):
    """Return the input; raise unless it is a tensor of a floating type."""
    if not isinstance(input, Tensor) or not input.dtype.is_inexact:
        got = input.aval if isinstance(input, Tensor) else kind_of(input)
        raise DTypeError(f"{name} takes a floating point tensor, got {got}; cast it with .to()")
    return input


def in_one_dtype(x, *others, low_input=False):
    """Return the input and its weight, bias and statistics (None stays) in one dtype.

    That is the input's dtype, or the accumulator dtype of low precision if another one differs. With `low_input` the operator
    takes a low precision input beside wide parameters. Recorded functions still cast it, as passes fuse casts.
    """
    same = x._a.dtype
    for v in others:
        if v is not None and v._a.dtype is not same and v.dtype is not x.dtype:
            break
    else:
        return x, *others
    wide = dt.accumulator(x.dtype)
    x = x if low_input and tls.m.recorder is None else to_dtype(x, wide)
    return x, *(None if v is None else to_dtype(v, wide) for v in others)


def trailing_dims(input, normalized_shape, name) -> int:
    """Return how many trailing dims are normalised together."""
    shape = integers(normalized_shape, "normalized_shape")
    if not shape:
        raise ArgumentError(f"{name}: normalized_shape must have at least one dimension")
    if tuple(shape_of(input)[-len(shape):]) != shape:
        raise ShapeError(f"{name}: the last dimensions of the input {input.aval} must be normalized_shape {list(shape)}")
    return len(shape)


@api(method=False, memoised=True)
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05):
    """Normalise the last dims to mean 0 and variance 1, then multiply by weight and add bias."""
    x = floating(input, "layer_norm")
    dims = trailing_dims(x, normalized_shape, "layer_norm")
    work, w, b = in_one_dtype(x, weight, bias)
    return to_dtype(ops.layer_norm(work, w, b, dims=dims, eps=as_float(eps)), x.dtype)


@api(method=False, memoised=True)
def rms_norm(input, normalized_shape, weight=None, eps=None):
    """Divide by the root of the mean square over the last dims, then multiply by weight."""
    x = floating(input, "rms_norm")
    dims = trailing_dims(x, normalized_shape, "rms_norm")
    if eps is None:
        eps = np.finfo(dt.accumulator(x.dtype).np).eps
    work, w = in_one_dtype(x, weight)
    return to_dtype(ops.rms_norm(work, w, dims=dims, eps=as_float(eps)), x.dtype)


@api(method=False, memoised=True)
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-05):
    """Normalise each group of channels of each image to mean 0 and variance 1; weight and bias are per channel."""
    x = floating(input, "group_norm")
    work, w, b = in_one_dtype(x, weight, bias)
    return to_dtype(ops.group_norm(work, w, b, groups=int(num_groups), eps=as_float(eps)), x.dtype)


@api(inplace=True, memoised=True)
def renorm(input, p, dim, maxnorm, *, out=None):
    """Scale each slice along `dim` down to a norm of at most maxnorm."""
    if input.ndim < 2:
        raise ShapeError(f"renorm takes a tensor of at least two dimensions, got {input.aval}")
    d = canonical_dim(dim, input.ndim)
    others = tuple(i for i in range(input.ndim) if i != d)
    size = vector_norm(co.magnitude(input) if input.dtype.is_complex else input, ord=as_float(p), dim=others, keepdim=True)
    scale = ew.where(ew.gt(size, maxnorm), ew.div(as_float(maxnorm), ew.add(size, 1e-7)), 1.0)
    return deliver(ew.mul(input, expand(to_dtype(scale, input.dtype), shape=input.shape)), out, "renorm")
