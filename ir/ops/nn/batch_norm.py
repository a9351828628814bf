"""Batch normalisation: with given statistics, and with those of the batch.

In training the statistics come out beside the result, in the accumulator's type, and are differentiable themselves.
"""

from math import prod

import numpy as np

from ... import dtype as dt
from ...errors import ShapeError
from ...opdef.batch_rules import Images
from ...opdef.derived_gradients import derived_vjp
from ...opdef.op import NO_GRAD, Composite, op
from ...symbols.substitute import as_float
from ..core import elementwise as ew
from ..core import reduce as rd
from ..core.batching import channel_values, from_channels, into_channels, parted
from ..core.shape import reshape
from .norm import _check_affine, _check_float, _in, _over, _widened
from .windows import wide


def _check(name, x, mean=None, var=None, **given):
    """What there is of each channel is of the input's dtype or of its accumulator's."""
    _check_float(name, x)
    if x.ndim < 2:
        raise ShapeError(f"{name} takes (N, C, ...), got {x}")
    for which, v in (*given.items(), ("mean", mean), ("var", var)):
        if v is not None:
            kind = x.dtype if v.dtype is x.dtype else dt.accumulator(x.dtype)
            _check_affine(name, x.with_dtype(kind), x.shape[1:2], **{which: v})


def _beside(v, x):
    """A value for each channel, broadcastable over the array (N, C, ...)."""
    return wide(v).astype(x.dtype, copy=False).reshape((-1,) + (1,) * (x.ndim - 2))


def _others(x):
    return (0, *range(2, x.ndim))


def _channel(v, x):
    """A value for each channel, laid out over (N, C, ...)."""
    return _over(reshape(v, shape=(1, x.shape[1]) + (1,) * (x.ndim - 2)), x)


def _channel_sum(x):
    return rd.sum_(x, dim=_others(x), keepdim=False)


def _count(x):
    return prod(x.shape) // max(1, x.shape[1])


# With given statistics.


def _infer_batch_norm(x, w, b, mean, var, *, eps):
    _check("batch_norm", x, weight=w, bias=b, mean=mean, var=var)
    return x


def _batch_norm(x, w, b, mean, var, *, eps):
    rows = wide(x)
    scale = 1 / np.sqrt(_beside(var, rows) + rows.dtype.type(eps))
    if w is not None:
        scale = scale * _beside(w, rows)
    y = (rows - _beside(mean, rows)) * scale
    if b is not None:
        y += _beside(b, rows)
    return y.astype(x.dtype, copy=False)


def _scale(w, var, eps, wanted):
    """What each channel is multiplied by."""
    inverse = ew.rsqrt(ew.add(_in(var, wanted), eps))
    return inverse if w is None else ew.mul(inverse, _in(w, wanted))


def _batch_norm_body(x, w, b, mean, var, *, eps):
    rows = _widened(x)
    wanted = dt.of(rows)
    y = ew.mul(ew.sub(rows, _channel(_in(mean, wanted), rows)), _channel(_scale(w, var, eps, wanted), rows))
    if b is not None:
        y = ew.add(y, _channel(_in(b, wanted), rows))
    return _in(y, dt.of(x))


def _batch_norm_vjp(g, out, x, w, b, mean, var, *, eps, needs):
    gr = _widened(g)
    wanted = dt.of(gr)
    scale = _scale(w, var, eps, wanted)
    dx = _in(ew.mul(gr, _channel(scale, gr)), dt.of(x)) if needs[0] else None
    db = _in(_channel_sum(gr), dt.of(b)) if needs[2] else None
    dmean = _in(ew.neg(ew.mul(_channel_sum(gr), scale)), dt.of(mean)) if needs[3] else None
    dw = dvar = None
    if needs[1] or needs[4]:
        rows = _widened(x)
        shared = _channel_sum(ew.mul(gr, ew.sub(rows, _channel(_in(mean, wanted), rows))))
        inverse = ew.rsqrt(ew.add(_in(var, wanted), eps))
        dw = _in(ew.mul(shared, inverse), dt.of(w)) if needs[1] else None
        if needs[4]:
            dvar = _in(ew.mul(ew.mul(shared, scale), ew.mul(ew.mul(inverse, inverse), -0.5)), dt.of(var))
    return dx, dw, db, dmean, dvar


def _batch_by_channels(size, op, args, held, params):
    """Samples that have statistics of their own are channels beside each other."""
    x, *rest = args
    values = [channel_values(v, size, has) for v, has in zip(rest, held[1:])]
    return from_channels(op(into_channels(x, size, held[0]), *values, **params), size)


batch_norm = op("batch_norm", infer=_infer_batch_norm, ref=_batch_norm, vjp=_batch_norm_vjp, saves=(1, 2, 4, 5),
                lower=Composite(_batch_norm_body), numbers=("eps",), batch=Images((0,), _batch_by_channels),
                traits=("reads_weight",),
                doc="(x - mean) / sqrt(var + eps) * weight + bias for each channel, with given statistics.")

# With the statistics of the batch.


def _infer_train(x, w, b, *, eps):
    _check("batch_norm_train", x, weight=w, bias=b)
    stat = x.with_shape(x.shape[1:2]).with_dtype(dt.accumulator(x.dtype))
    return x, stat, stat


def _train(x, w, b, *, eps):
    rows = wide(x)
    n = rows.dtype.type(_count(x))
    mean = rows.sum(axis=_others(x)) / n
    centred = rows - _beside(mean, rows)
    var = np.square(centred).sum(axis=_others(x)) / n
    scale = 1 / np.sqrt(var + rows.dtype.type(eps))
    if w is not None:
        scale = scale * wide(w)
    centred *= _beside(scale, rows)
    if b is not None:
        centred += _beside(b, rows)
    return centred.astype(x.dtype, copy=False), mean, var


def _train_body(x, w, b, *, eps):
    rows = _widened(x)
    wanted, n = dt.of(rows), as_float(_count(x))
    mean = ew.div(_channel_sum(rows), n)
    centred = ew.sub(rows, _channel(mean, rows))
    var = ew.div(_channel_sum(ew.mul(centred, centred)), n)
    y = ew.mul(centred, _channel(_scale(w, var, eps, wanted), rows))
    if b is not None:
        y = ew.add(y, _channel(_in(b, wanted), rows))
    return _in(y, dt.of(x)), mean, var


def _train_vjp(g, out, x, w, b, *, eps, needs):
    dx, scale, shift = batch_norm_grad(g[0], g[1], g[2], x, w, out[1], out[2], eps=eps)
    return (dx, _in(scale, dt.of(w)) if needs[1] else None, _in(shift, dt.of(b)) if needs[2] else None)


def _infer_grad(g, g_mean, g_var, x, w, mean, var, *, eps):
    _check("batch_norm_grad", x, weight=w, mean=mean, var=var)
    if g != x or g_mean != mean or g_var != var:
        raise ShapeError(f"batch_norm_grad: gradients {g}, {g_mean} and {g_var} must be like the results {x}, {mean} and {var}")
    return x, mean, mean


def _grad(g, g_mean, g_var, x, w, mean, var, *, eps):
    gr, rows = wide(g), wide(x)
    n = rows.dtype.type(_count(x))
    inverse = 1 / np.sqrt(var + rows.dtype.type(eps))
    scale = inverse if w is None else inverse * wide(w)
    centred = rows - _beside(mean, rows)
    shift = gr.sum(axis=_others(x))
    slope = (gr * centred).sum(axis=_others(x))
    centred *= _beside((2 * g_var - scale * inverse * inverse * slope) / n, rows)
    centred += gr * _beside(scale, rows)
    centred += _beside((g_mean - scale * shift) / n, rows)
    return centred.astype(x.dtype, copy=False), slope * inverse, shift


def _grad_body(g, g_mean, g_var, x, w, mean, var, *, eps):
    gr, rows = _widened(g), _widened(x)
    wanted, n = dt.of(rows), as_float(_count(x))
    inverse = ew.rsqrt(ew.add(var, eps))
    scale = inverse if w is None else ew.mul(inverse, _in(w, wanted))
    centred = ew.sub(rows, _channel(mean, rows))
    shift = _channel_sum(gr)
    slope = _channel_sum(ew.mul(gr, centred))
    by_centred = ew.div(ew.sub(ew.mul(g_var, 2.0), ew.mul(ew.mul(scale, ew.mul(inverse, inverse)), slope)), n)
    constant = ew.div(ew.sub(g_mean, ew.mul(scale, shift)), n)
    sloped = ew.add(ew.mul(centred, _channel(by_centred, rows)), ew.mul(gr, _channel(scale, rows)))
    dx = ew.add(sloped, _channel(constant, rows))
    return _in(dx, dt.of(x)), ew.mul(slope, inverse), shift




def _relu_train(x, w, b, *, eps):
    y, mean, var = _train(x, w, b, eps=eps)
    return np.maximum(y, np.asarray(0, y.dtype)), mean, var


def _relu_train_body(x, w, b, *, eps):
    y, mean, var = _train_body(x, w, b, eps=eps)
    return ew.maximum(y, 0.0), mean, var


def _infer_relu_grad(g, out, g_mean, g_var, x, w, mean, var, *, eps):
    if out != x:
        raise ShapeError(f"batch_norm_relu_grad: the result {out} must be like the input {x}")
    return _infer_grad(g, g_mean, g_var, x, w, mean, var, eps=eps)


def _relu_grad(g, out, *others, eps):
    return _grad(np.where(out <= 0, np.asarray(0, g.dtype), g), *others, eps=eps)


def _relu_grad_body(g, out, *others, eps):
    return _grad_body(ew.where(ew.le(out, 0.0), 0.0, g), *others, eps=eps)


def _batch_train(size, op, args, held, params):
    return _apart(size, op(into_channels(args[0], size, held[0]),
                           *[channel_values(v, size, has) for v, has in zip(args[1:], held[1:])], **params))


def _batch_grad(size, op, args, held, params):
    put = (into_channels, channel_values, channel_values, into_channels, *(channel_values,) * 3)
    return _apart(size, op(*[into(a, size, has) for into, a, has in zip(put, args, held)], **params))


def _apart(size, found):
    """Results (images, values of channels ...) of samples that lay in the channels."""
    images, *of_channels = found
    return (from_channels(images, size), *[parted(v, size) for v in of_channels])


batch_norm_train = op("batch_norm_train", infer=_infer_train, ref=_train, vjp=_train_vjp, saves=((1, 2), 1, 2),
                      lower=Composite(_train_body), numbers=("eps",), batch=_batch_train, traits=("reads_weight",),
                      doc="Batch normalisation by the batch's own statistics: the result, the mean and the biased variance.")
batch_norm_grad = op("batch_norm_grad", infer=_infer_grad, ref=_grad, vjp=derived_vjp(_grad_body), saves=(1, 2, 3, 4, 5, 6, 7),
                     lower=Composite(_grad_body), numbers=("eps",), batch=_batch_grad, traits=("gaps", "rule_as_one"),
                     doc="The gradients of batch_norm_train for its input, weight and bias, from those of its three results.")

# With a relu behind it, in one sweep: what passes make of the two.

batch_norm_relu_train = op("batch_norm_relu_train", infer=_infer_train, ref=_relu_train, vjp=NO_GRAD,
                           lower=Composite(_relu_train_body), numbers=("eps",), doc="batch_norm_train with relu of its result.")
batch_norm_relu_grad = op("batch_norm_relu_grad", infer=_infer_relu_grad, ref=_relu_grad, vjp=NO_GRAD,
                          lower=Composite(_relu_grad_body), numbers=("eps",),
                          doc="The gradients of batch_norm_relu_train, given its result `out`, as those of batch_norm_train.")
