"""Normalisations as composites: over trailing dims (layer, RMS), over groups of channels, over the batch.

Low precision is normalised in float32 and rounded once. Each gradient is a record of its own with a body, so it can be
differentiated again.
"""

from math import prod

import numpy as np

from ... import dtype as dt
from ...errors import DTypeError, ShapeError
from ...opdef.batch_rules import Images
from ...opdef.derived_gradients import derived_vjp
from ...opdef.op import Composite, op
from ...symbols.substitute import as_float
from ..core import elementwise as ew
from ..core import reduce as rd
from ..core.shape import expand, reshape
from .windows import wide

# What the bodies and gradient rules share.


def _in(x, dtype):
    return x if dt.of(x) is dtype else ew.cast(x, dtype=dtype)


def _widened(x):
    return _in(x, dt.accumulator(dt.of(x)))


def _sum(x, dims):
    return rd.sum_(x, dim=dims, keepdim=True)


def _mean(x, dims):
    return ew.div(_sum(x, dims), as_float(prod([x.shape[d] for d in dims])))


def _over(v, x):
    """A value with size 1 dims laid out over `x`."""
    return expand(v, shape=x.shape)


def _trailing(x, dims):
    return tuple(range(x.ndim - dims, x.ndim))


def _leading(x, dims):
    return tuple(range(x.ndim - dims))


def _affine(y, w, b, kind):
    if w is not None:
        y = ew.mul(y, _over(_in(w, dt.of(y)), y))
    if b is not None:
        y = ew.add(y, _over(_in(b, dt.of(y)), y))
    return _in(y, kind)


def _check_float(name, x):
    if not x.dtype.is_inexact:
        raise DTypeError(f"{name} takes floating point tensors, got {x}; cast with .to()")


def _check_affine(name, x, shape, **given):
    for which, v in given.items():
        if v is None:
            continue
        if v.shape != tuple(shape):
            raise ShapeError(f"{name} of {x}: {which} must have shape {tuple(shape)}, got {v}")
        if v.dtype is not x.dtype:
            raise DTypeError(f"{name} of {x}: {which} must be {x.dtype} too, got {v}; cast one with .to()")


def _rows(x, dims):
    """An array as (rows, elements normalised together), in the type that sums are carried in."""
    return wide(x).reshape(-1 if x.size else prod(x.shape[:x.ndim - dims]), prod(x.shape[x.ndim - dims:]))


def _row_mean(rows):
    return np.add.reduce(rows, axis=1, keepdims=True) / rows.dtype.type(rows.shape[1])


def _scaled(rows, w):
    return rows if w is None else rows * wide(w).reshape(1, -1).astype(rows.dtype, copy=False)


def _like(total, x, w):
    return total.reshape(w.shape).astype(w.dtype, copy=False)


# Over the trailing dims: layer norm.


def _check_rows(name, x, dims, **given):
    _check_float(name, x)
    if not 0 < dims <= x.ndim:
        raise ShapeError(f"{name} of {x} over its last {dims} dimensions: it has {x.ndim}")
    _check_affine(name, x, x.shape[x.ndim - dims:], **given)


def _infer_layer_norm(x, w, b, *, dims, eps):
    _check_rows("layer_norm", x, dims, weight=w, bias=b)
    return x


def _standardised(rows, eps):
    """Rows with mean 0 and variance 1, and what they were divided by, inverted."""
    centred = rows - _row_mean(rows)
    inverse = 1 / np.sqrt(_row_mean(np.square(centred)) + rows.dtype.type(eps))
    centred *= inverse
    return centred, inverse


def _layer_norm(x, w, b, *, dims, eps):
    y = _scaled(_standardised(_rows(x, dims), eps)[0], w)
    if b is not None:
        y += wide(b).reshape(1, -1)
    return y.reshape(x.shape).astype(x.dtype, copy=False)


def _standardise(x, dims, eps):
    """The body of `_standardised`, in operators."""
    centred = ew.sub(x, _over(_mean(x, dims), x))
    inverse = ew.rsqrt(ew.add(_mean(ew.mul(centred, centred), dims), eps))
    return ew.mul(centred, _over(inverse, x)), inverse


def _layer_norm_body(x, w, b, *, dims, eps):
    y, _ = _standardise(_widened(x), _trailing(x, dims), eps)
    return _affine(y, w, b, dt.of(x))


def _layer_norm_vjp(g, out, x, w, b, *, dims, eps, needs):
    found = layer_norm_grad(g, x, w, dims=dims, eps=eps)
    if w is not None:
        return found
    return found, None, _in(_row_sum(_widened(g), dims), dt.of(b)) if needs[2] else None


def _infer_rows_grad(g, x, w, *, dims, eps):
    _check_rows("the gradient of a norm", x, dims, weight=w)
    if g != x:
        raise ShapeError(f"the gradient of a norm of {x} must be like it, got {g}")
    return x if w is None else (x, w)


def _infer_layer_norm_grad(g, x, w, *, dims, eps):
    dx = _infer_rows_grad(g, x, w, dims=dims, eps=eps)
    return dx if w is None else (*dx, w)


def _row_sum(x, dims):
    """The sum of all rows."""
    return rd.sum_(x, dim=_leading(x, dims), keepdim=False)


def _row_gradients(x, w, gr, gw, y, inverse, rest, dims):
    """The gradients for rows that were scaled by `inverse` to y, and for the weight; `rest` is what flows through the
    statistics of a row."""
    dx = _in(ew.mul(ew.sub(gw, rest), _over(inverse, gw)), dt.of(x))
    if w is None:
        return dx
    return dx, _in(_row_sum(ew.mul(gr, y), dims), dt.of(w))


def _layer_norm_grad(g, x, w, *, dims, eps):
    y, inverse = _standardised(_rows(x, dims), eps)
    gr = _rows(g, dims)
    gw = _scaled(gr, w)
    dx = (gw - _row_mean(gw) - y * _row_mean(gw * y)) * inverse
    dx = dx.reshape(x.shape).astype(x.dtype, copy=False)
    return dx if w is None else (dx, _like((gr * y).sum(axis=0), x, w), _like(gr.sum(axis=0), x, w))


def _layer_norm_grad_body(g, x, w, *, dims, eps):
    last = _trailing(x, dims)
    y, inverse = _standardise(_widened(x), last, eps)
    gr = _widened(g)
    gw = gr if w is None else ew.mul(gr, _over(_in(w, dt.of(gr)), gr))
    rest = ew.add(_over(_mean(gw, last), gw), ew.mul(y, _over(_mean(ew.mul(gw, y), last), gw)))
    found = _row_gradients(x, w, gr, gw, y, inverse, rest, dims)
    return found if w is None else (*found, _in(_row_sum(gr, dims), dt.of(w)))


def _batch_rows(size, op, args, held, params):
    return NotImplemented if any(held[1:]) else op(*args, **params)


layer_norm = op("layer_norm", infer=_infer_layer_norm, ref=_layer_norm, vjp=_layer_norm_vjp, saves=(1, 2),
                lower=Composite(_layer_norm_body), numbers=("eps",), batch=_batch_rows, traits=("reads_weight",),
                doc="Each row over the last `dims` dims to mean 0 and variance 1, times weight, plus bias.")
layer_norm_grad = op("layer_norm_grad", infer=_infer_layer_norm_grad, ref=_layer_norm_grad,
                     vjp=derived_vjp(_layer_norm_grad_body), saves=(1, 2, 3), lower=Composite(_layer_norm_grad_body),
                     numbers=("eps",), traits=("gaps", "rule_as_one"),
                     doc="The gradients of layer_norm for its input and, if there is a weight, for that and the bias.")

# Over the trailing dims: RMS norm.


def _infer_rms_norm(x, w, *, dims, eps):
    _check_rows("rms_norm", x, dims, weight=w)
    return x


def _inverse_rms(rows, eps):
    return 1 / np.sqrt(_row_mean(np.square(rows)) + rows.dtype.type(eps))


def _rms_norm(x, w, *, dims, eps):
    rows = _rows(x, dims)
    return _scaled(rows * _inverse_rms(rows, eps), w).reshape(x.shape).astype(x.dtype, copy=False)


def _rms(x, dims, eps):
    """The body of `_inverse_rms`, in operators."""
    return ew.rsqrt(ew.add(_mean(ew.mul(x, x), dims), eps))


def _rms_norm_body(x, w, *, dims, eps):
    rows = _widened(x)
    return _affine(ew.mul(rows, _over(_rms(rows, _trailing(x, dims), eps), rows)), w, None, dt.of(x))


def _rms_norm_vjp(g, out, x, w, *, dims, eps, needs):
    found = rms_norm_grad(g, x, w, dims=dims, eps=eps)
    return found if w is not None else (found, None)


def _rms_norm_grad(g, x, w, *, dims, eps):
    rows, gr = _rows(x, dims), _rows(g, dims)
    inverse = _inverse_rms(rows, eps)
    y, gw = rows * inverse, _scaled(gr, w)
    dx = ((gw - y * _row_mean(gw * y)) * inverse).reshape(x.shape).astype(x.dtype, copy=False)
    return dx if w is None else (dx, _like((gr * y).sum(axis=0), x, w))


def _rms_norm_grad_body(g, x, w, *, dims, eps):
    last, rows, gr = _trailing(x, dims), _widened(x), _widened(g)
    inverse = _rms(rows, last, eps)
    y = ew.mul(rows, _over(inverse, rows))
    gw = gr if w is None else ew.mul(gr, _over(_in(w, dt.of(gr)), gr))
    rest = ew.mul(y, _over(_mean(ew.mul(gw, y), last), y))
    return _row_gradients(x, w, gr, gw, y, inverse, rest, dims)


rms_norm = op("rms_norm", infer=_infer_rms_norm, ref=_rms_norm, vjp=_rms_norm_vjp, saves=(1, 2),
              lower=Composite(_rms_norm_body), numbers=("eps",), batch=_batch_rows, traits=("reads_weight",),
              doc="Each row over the last `dims` dims divided by the root of its mean square, times weight.")
rms_norm_grad = op("rms_norm_grad", infer=_infer_rows_grad, ref=_rms_norm_grad, vjp=derived_vjp(_rms_norm_grad_body),
                   saves=(1, 2, 3), lower=Composite(_rms_norm_grad_body), numbers=("eps",), traits=("gaps", "rule_as_one"),
                   doc="The gradients of rms_norm for its input and, if there is one, its weight.")

# Over groups of channels.


def _infer_group_norm(x, w, b, *, groups, eps):
    _check_float("group_norm", x)
    if x.ndim < 2 or groups < 1 or x.shape[1] % groups:
        raise ShapeError(f"group_norm of {x}: the channels (dim 1) must divide into groups={groups}")
    _check_affine("group_norm", x, x.shape[1:2], weight=w, bias=b)
    return x


def _in_groups(x, groups):
    """(N, C, ...) as (N, groups, channels of a group, elements of a channel)."""
    return reshape(x, shape=(x.shape[0], groups, x.shape[1] // groups, prod(x.shape[2:])))


def _channels(v, groups):
    """A value for each channel, beside `_in_groups`."""
    return reshape(v, shape=(1, groups, v.shape[0] // groups, 1))


def _group_norm(x, w, b, *, groups, eps):
    rows = wide(x).reshape(x.shape[0] * groups, prod(x.shape[1:]) // groups)
    y = _standardised(rows, eps)[0].reshape(x.shape)
    beside = (-1,) + (1,) * (x.ndim - 2)
    if w is not None:
        y *= wide(w).reshape(beside)
    if b is not None:
        y += wide(b).reshape(beside)
    return y.astype(x.dtype, copy=False)


def _group_statistics(x, eps):
    """The mean of each group, and its deviation, inverted: one number for all (N, groups, channels, elements) of a group."""
    n, groups, channels, elements = x.shape
    rows = reshape(x, shape=(n, groups, channels * elements))
    mean = _mean(rows, (2,))
    centred = ew.sub(rows, _over(mean, rows))
    inverse = ew.rsqrt(ew.add(_mean(ew.mul(centred, centred), (2,)), eps))
    return reshape(mean, shape=(n, groups, 1, 1)), reshape(inverse, shape=(n, groups, 1, 1))


def _group_norm_body(x, w, b, *, groups, eps):
    """A factor for each channel of each image, then one sweep over all; rows, where channels have nothing of their own."""
    if w is None and b is None:
        rows = reshape(_widened(x), shape=(x.shape[0], groups, prod(x.shape[1:]) // groups))
        return _in(reshape(layer_norm(rows, None, None, dims=1, eps=eps), shape=x.shape), dt.of(x))
    rows = _in_groups(_widened(x), groups)
    mean, scale = _group_statistics(rows, eps)
    if w is not None:
        scale = ew.mul(expand(scale, shape=(*rows.shape[:3], 1)),
                       expand(_channels(_in(w, dt.of(rows)), groups), shape=(*rows.shape[:3], 1)))
    y = ew.mul(ew.sub(rows, _over(mean, rows)), _over(scale, rows))
    if b is not None:
        y = ew.add(y, _over(_channels(_in(b, dt.of(rows)), groups), rows))
    return _in(reshape(y, shape=x.shape), dt.of(x))


def _group_norm_vjp(g, out, x, w, b, *, groups, eps, needs):
    gr = _in_groups(_widened(g), groups)
    summed = _sum(gr, (3,))
    dx = dw = db = None
    if needs[0] or needs[1]:
        rows = _in_groups(_widened(x), groups)
        mean, inverse = _group_statistics(rows, eps)
        along = ew.mul(_sum(ew.mul(gr, ew.sub(rows, _over(mean, rows))), (3,)), _over(inverse, summed))
    if needs[0]:
        scale = None if w is None else _over(_channels(_in(w, dt.of(gr)), groups), summed)
        dx = _group_norm_input_grad(gr, rows, scale, summed, along, mean, inverse)
        dx = _in(reshape(dx, shape=x.shape), dt.of(x))
    if needs[1]:
        dw = _in(reshape(_sum(along, (0,)), shape=w.shape), dt.of(w))
    if needs[2]:
        db = _in(reshape(_sum(summed, (0,)), shape=b.shape), dt.of(b))
    return dx, dw, db


def _group_norm_input_grad(g, x, w, summed, along, mean, inverse):
    """From the sums over each channel of g, and of g times what is normalised: a factor of g for each channel of each image,
    a factor of x less its mean and a summand for each group."""
    count = as_float(prod(x.shape[2:]))
    if w is not None:
        summed, along = ew.mul(summed, w), ew.mul(along, w)
    along_x = ew.mul(ew.div(_sum(along, (2,)), count), ew.mul(inverse, inverse))
    rest = ew.mul(ew.div(_sum(summed, (2,)), count), inverse)
    scale = inverse if w is None else ew.mul(w, _over(inverse, w))
    of_x = ew.mul(ew.sub(x, _over(mean, x)), _over(along_x, x))
    return ew.sub(ew.sub(ew.mul(g, _over(scale, g)), of_x), _over(rest, x))


group_norm = op("group_norm", infer=_infer_group_norm, ref=_group_norm, vjp=_group_norm_vjp, saves=(1, 2),
                lower=Composite(_group_norm_body), numbers=("eps",), batch=Images((0,)),
                traits=("rule_as_one", "reads_weight"),
                doc="Each group of channels of each image to mean 0 and variance 1; weight and bias for each channel.")
