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
from ...opdef.op import NO_GRAD, Composite, op
from ...opdef.param_checks import check_int, check_number
from ...symbols.substitute import as_float
from ..core import elementwise as ew
from ..core import reduce as rd
from ..core.batching import channel_values, from_channels, into_channels, parted
from ..core.elementwise_rules import wide
from ..core.pointwise import wants_float
from ..core.shape import expand, reshape

# Shared by bodies and gradient rules.


def _sum(x, dims):
    return rd.sum_(x, dim=dims, keepdim=True)


def _mean(x, dims):
    return ew.div(_sum(x, dims), as_float(prod([x.shape[d] for d in dims])))


def _over(v, x):
    return expand(v, shape=x.shape)


def _trailing(x, dims):
    return tuple(range(x.ndim - dims, x.ndim))


def _affine(y, w, b, kind):
    if w is not None:
        y = ew.mul(y, _over(ew.in_dtype(w, dt.of(y)), y))
    if b is not None:
        y = ew.add(y, _over(ew.in_dtype(b, dt.of(y)), y))
    return ew.in_dtype(y, kind)


def _check_affine(name, x, shape, **values):
    for which, v in values.items():
        if v is None:
            continue
        if v.shape != tuple(shape):
            raise ShapeError(f"{name} of {x}: {which} must have shape {list(shape)}, got {v}")
        if v.dtype is not x.dtype:
            raise DTypeError(f"{name} of {x}: {which} must be {x.dtype.name} too, got {v}; cast one with .to()")


def _rows(x, dims):
    """Return an array as (rows, elements normalised together), in the accumulator dtype."""
    return wide(x).reshape(-1 if x.size else prod(x.shape[:x.ndim - dims]), prod(x.shape[x.ndim - dims:]))


def _row_mean(rows):
    return np.add.reduce(rows, axis=1, keepdims=True) / rows.dtype.type(rows.shape[1])


def _scaled(rows, w):
    return rows if w is None else rows * wide(w).reshape(1, -1).astype(rows.dtype, copy=False)


def _like(total, x, w):
    return total.reshape(w.shape).astype(w.dtype, copy=False)


# Over the trailing dims: layer norm.


def _check_rows(name, x, dims, **values):
    wants_float(name, x)
    check_int(dims, f"{name} of {x}: the number of its last dimensions", 1, x.ndim)
    _check_affine(name, x, x.shape[x.ndim - dims:], **values)


def _infer_layer_norm(x, w, b, *, dims, eps):
    check_number(eps, "layer_norm: eps")
    _check_rows("layer_norm", x, dims, weight=w, bias=b)
    return x


def _standardised(rows, eps):
    """Return rows with mean 0 and variance 1, and their inverse deviation."""
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
    centred = ew.sub(x, _over(_mean(x, dims), x))
    inverse = ew.rsqrt(ew.add(_mean(ew.mul(centred, centred), dims), eps))
    return ew.mul(centred, _over(inverse, x)), inverse


def _layer_norm_body(x, w, b, *, dims, eps):
    y, _ = _standardise(ew.widened(x), _trailing(x, dims), eps)
    return _affine(y, w, b, dt.of(x))


def _layer_norm_vjp(g, out, x, w, b, *, dims, eps, needs):
    found = layer_norm_grad(g, x, w, dims=dims, eps=eps)
    if w is not None:
        return found
    return found, None, ew.in_dtype(_row_sum(ew.widened(g), dims), dt.of(b)) if needs[2] else None


def _infer_rows_grad(g, x, w, *, dims, eps):
    check_number(eps, "the gradient of a norm: eps")
    _check_rows("the gradient of a norm", x, dims, weight=w)
    if g != x:
        raise ShapeError(f"the gradient of a norm of {x} must be like it, got {g}")
    return x if w is None else (x, w)


def _infer_layer_norm_grad(g, x, w, *, dims, eps):
    dx = _infer_rows_grad(g, x, w, dims=dims, eps=eps)
    return dx if w is None else (*dx, w)


def _row_sum(x, dims):
    return rd.sum_(x, dim=tuple(range(x.ndim - dims)), keepdim=False)


def _row_gradients(x, w, gr, gw, y, inverse, rest, dims):
    """Return the gradients for the rows and the weight; `rest` is the part through a row's statistics."""
    dx = ew.in_dtype(ew.mul(ew.sub(gw, rest), _over(inverse, gw)), dt.of(x))
    if w is None:
        return dx
    return dx, ew.in_dtype(_row_sum(ew.mul(gr, y), dims), dt.of(w))


def _layer_norm_grad(g, x, w, *, dims, eps):
    y, inverse = _standardised(_rows(x, dims), eps)
    gr = _rows(g, dims)
    gw = _scaled(gr, w)
    dx = (gw - _row_mean(gw) - y * _row_mean(gw * y)) * inverse
    dx = dx.reshape(x.shape).astype(x.dtype, copy=False)
    return dx if w is None else (dx, _like((gr * y).sum(axis=0), x, w), _like(gr.sum(axis=0), x, w))


def _layer_norm_grad_body(g, x, w, *, dims, eps):
    last = _trailing(x, dims)
    y, inverse = _standardise(ew.widened(x), last, eps)
    gr = ew.widened(g)
    gw = gr if w is None else ew.mul(gr, _over(ew.in_dtype(w, dt.of(gr)), gr))
    rest = ew.add(_over(_mean(gw, last), gw), ew.mul(y, _over(_mean(ew.mul(gw, y), last), gw)))
    found = _row_gradients(x, w, gr, gw, y, inverse, rest, dims)
    return found if w is None else (*found, ew.in_dtype(_row_sum(gr, dims), dt.of(w)))


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
    check_number(eps, "rms_norm: eps")
    _check_rows("rms_norm", x, dims, weight=w)
    return x


def _inverse_rms(rows, eps):
    return 1 / np.sqrt(_row_mean(np.square(rows)) + rows.dtype.type(eps))


def _rms_norm(x, w, *, dims, eps):
    rows = _rows(x, dims)
    return _scaled(rows * _inverse_rms(rows, eps), w).reshape(x.shape).astype(x.dtype, copy=False)


def _rms(x, dims, eps):
    return ew.rsqrt(ew.add(_mean(ew.mul(x, x), dims), eps))


def _rms_norm_body(x, w, *, dims, eps):
    rows = ew.widened(x)
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
    last, rows, gr = _trailing(x, dims), ew.widened(x), ew.widened(g)
    inverse = _rms(rows, last, eps)
    y = ew.mul(rows, _over(inverse, rows))
    gw = gr if w is None else ew.mul(gr, _over(ew.in_dtype(w, dt.of(gr)), gr))
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
    wants_float("group_norm", x)
    check_number(eps, "group_norm: eps")
    check_int(groups, "group_norm: groups", 1)
    if x.ndim < 2 or x.shape[1] % groups:
        raise ShapeError(f"group_norm of {x}: the channels (dim 1) must divide into groups={groups}")
    _check_affine("group_norm", x, x.shape[1:2], weight=w, bias=b)
    return x


def _in_groups(x, groups):
    return reshape(x, shape=(x.shape[0], groups, x.shape[1] // groups, prod(x.shape[2:])))


def _channels(v, groups):
    return reshape(v, shape=(1, groups, v.shape[0] // groups, 1))


def _group_norm(x, w, b, *, groups, eps):
    rows = wide(x).reshape(x.shape[0] * groups, prod(x.shape[1:]) // groups)
    y = _standardised(rows, eps)[0].reshape(x.shape)
    per_channel = (-1,) + (1,) * (x.ndim - 2)
    if w is not None:
        y *= wide(w).reshape(per_channel)
    if b is not None:
        y += wide(b).reshape(per_channel)
    return y.astype(x.dtype, copy=False)


def _group_statistics(x, eps):
    """Return the mean and the inverse deviation of each group, broadcast over (N, groups, channels, elements)."""
    n, groups, channels, elements = x.shape
    rows = reshape(x, shape=(n, groups, channels * elements))
    mean = _mean(rows, (2,))
    centred = ew.sub(rows, _over(mean, rows))
    inverse = ew.rsqrt(ew.add(_mean(ew.mul(centred, centred), (2,)), eps))
    return reshape(mean, shape=(n, groups, 1, 1)), reshape(inverse, shape=(n, groups, 1, 1))


def _group_norm_body(x, w, b, *, groups, eps):
    """Scale and shift each channel of each image, then sweep once; without channel values, normalise rows."""
    if w is None and b is None:
        rows = reshape(ew.widened(x), shape=(x.shape[0], groups, prod(x.shape[1:]) // groups))
        return ew.in_dtype(reshape(layer_norm(rows, None, None, dims=1, eps=eps), shape=x.shape), dt.of(x))
    rows = _in_groups(ew.widened(x), groups)
    mean, scale = _group_statistics(rows, eps)
    if w is not None:
        scale = ew.mul(expand(scale, shape=(*rows.shape[:3], 1)),
                       expand(_channels(ew.in_dtype(w, dt.of(rows)), groups), shape=(*rows.shape[:3], 1)))
    y = ew.mul(ew.sub(rows, _over(mean, rows)), _over(scale, rows))
    if b is not None:
        y = ew.add(y, _over(_channels(ew.in_dtype(b, dt.of(rows)), groups), rows))
    return ew.in_dtype(reshape(y, shape=x.shape), dt.of(x))


def _group_norm_vjp(g, out, x, w, b, *, groups, eps, needs):
    gr = _in_groups(ew.widened(g), groups)
    summed = _sum(gr, (3,))
    dx = dw = db = None
    if needs[0] or needs[1]:
        rows = _in_groups(ew.widened(x), groups)
        mean, inverse = _group_statistics(rows, eps)
        along = ew.mul(_sum(ew.mul(gr, ew.sub(rows, _over(mean, rows))), (3,)), _over(inverse, summed))
    if needs[0]:
        scale = None if w is None else _over(_channels(ew.in_dtype(w, dt.of(gr)), groups), summed)
        dx = _group_norm_input_grad(gr, rows, scale, summed, along, mean, inverse)
        dx = ew.in_dtype(reshape(dx, shape=x.shape), dt.of(x))
    if needs[1]:
        dw = ew.in_dtype(reshape(_sum(along, (0,)), shape=w.shape), dt.of(w))
    if needs[2]:
        db = ew.in_dtype(reshape(_sum(summed, (0,)), shape=b.shape), dt.of(b))
    return dx, dw, db


def _group_norm_input_grad(g, x, w, summed, along, mean, inverse):
    """Compute x's gradient from channel sums of g and of g * normalised: factors by channel of g, by group of x - mean."""
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


def _check_channels(name, x, mean=None, var=None, **values):
    """Raise unless channel values have the input's dtype or its accumulator's."""
    wants_float(name, x)
    if x.ndim < 2:
        raise ShapeError(f"{name} takes [N, C, ...], got {x}")
    for which, v in (*values.items(), ("mean", mean), ("var", var)):
        if v is not None:
            kind = x.dtype if v.dtype is x.dtype else dt.accumulator(x.dtype)
            _check_affine(name, x.with_dtype(kind), x.shape[1:2], **{which: v})


def _per_channel(v, x):
    return wide(v).astype(x.dtype, copy=False).reshape((-1,) + (1,) * (x.ndim - 2))


def _all_but_channels(x):
    return (0, *range(2, x.ndim))


def _channel(v, x):
    return _over(reshape(v, shape=(1, x.shape[1]) + (1,) * (x.ndim - 2)), x)


def _channel_sum(x):
    return rd.sum_(x, dim=_all_but_channels(x), keepdim=False)


def _count_each(x):
    return prod(x.shape) // max(1, x.shape[1])


# With given statistics.


def _infer_batch_norm(x, w, b, mean, var, *, eps):
    check_number(eps, "batch_norm: eps")
    _check_channels("batch_norm", x, weight=w, bias=b, mean=mean, var=var)
    return x


def _batch_norm(x, w, b, mean, var, *, eps):
    rows = wide(x)
    scale = 1 / np.sqrt(_per_channel(var, rows) + rows.dtype.type(eps))
    if w is not None:
        scale = scale * _per_channel(w, rows)
    y = (rows - _per_channel(mean, rows)) * scale
    if b is not None:
        y += _per_channel(b, rows)
    return y.astype(x.dtype, copy=False)


def _channel_scale(w, var, eps, wanted):
    inverse = ew.rsqrt(ew.add(ew.in_dtype(var, wanted), eps))
    return inverse if w is None else ew.mul(inverse, ew.in_dtype(w, wanted))


def _batch_norm_body(x, w, b, mean, var, *, eps):
    rows = ew.widened(x)
    wanted = dt.of(rows)
    y = ew.mul(ew.sub(rows, _channel(ew.in_dtype(mean, wanted), rows)), _channel(_channel_scale(w, var, eps, wanted), rows))
    if b is not None:
        y = ew.add(y, _channel(ew.in_dtype(b, wanted), rows))
    return ew.in_dtype(y, dt.of(x))


def _batch_norm_vjp(g, out, x, w, b, mean, var, *, eps, needs):
    gr = ew.widened(g)
    wanted = dt.of(gr)
    scale = _channel_scale(w, var, eps, wanted)
    dx = ew.in_dtype(ew.mul(gr, _channel(scale, gr)), dt.of(x)) if needs[0] else None
    db = ew.in_dtype(_channel_sum(gr), dt.of(b)) if needs[2] else None
    dmean = ew.in_dtype(ew.neg(ew.mul(_channel_sum(gr), scale)), dt.of(mean)) if needs[3] else None
    dw = dvar = None
    if needs[1] or needs[4]:
        rows = ew.widened(x)
        shared = _channel_sum(ew.mul(gr, ew.sub(rows, _channel(ew.in_dtype(mean, wanted), rows))))
        inverse = ew.rsqrt(ew.add(ew.in_dtype(var, wanted), eps))
        dw = ew.in_dtype(ew.mul(shared, inverse), dt.of(w)) if needs[1] else None
        if needs[4]:
            dvar = ew.in_dtype(ew.mul(ew.mul(shared, scale), ew.mul(ew.mul(inverse, inverse), -0.5)), dt.of(var))
    return dx, dw, db, dmean, dvar


def _batch_by_channels(size, op, args, held, params):
    """Samples with statistics of their own become channels beside each other."""
    x, *rest = args
    values = [channel_values(v, size, has) for v, has in zip(rest, held[1:])]
    return from_channels(op(into_channels(x, size, held[0]), *values, **params), size)


batch_norm = op("batch_norm", infer=_infer_batch_norm, ref=_batch_norm, vjp=_batch_norm_vjp, saves=(1, 2, 4, 5),
                lower=Composite(_batch_norm_body), numbers=("eps",), batch=Images((0,), _batch_by_channels),
                traits=("reads_weight",),
                doc="(x - mean) / sqrt(var + eps) * weight + bias for each channel, with given statistics.")

# With the statistics of the batch.


def _infer_train(x, w, b, *, eps):
    check_number(eps, "batch_norm: eps")
    _check_channels("batch_norm", x, weight=w, bias=b)
    stat = x.with_shape(x.shape[1:2]).with_dtype(dt.accumulator(x.dtype))
    return x, stat, stat


def _batch_norm_train(x, w, b, *, eps):
    rows = wide(x)
    n = rows.dtype.type(_count_each(x))
    mean = rows.sum(axis=_all_but_channels(x)) / n
    centred = rows - _per_channel(mean, rows)
    var = np.square(centred).sum(axis=_all_but_channels(x)) / n
    scale = 1 / np.sqrt(var + rows.dtype.type(eps))
    if w is not None:
        scale = scale * wide(w)
    centred *= _per_channel(scale, rows)
    if b is not None:
        centred += _per_channel(b, rows)
    return centred.astype(x.dtype, copy=False), mean, var


def _train_body(x, w, b, *, eps):
    rows = ew.widened(x)
    wanted, n = dt.of(rows), as_float(_count_each(x))
    mean = ew.div(_channel_sum(rows), n)
    centred = ew.sub(rows, _channel(mean, rows))
    var = ew.div(_channel_sum(ew.mul(centred, centred)), n)
    y = ew.mul(centred, _channel(_channel_scale(w, var, eps, wanted), rows))
    if b is not None:
        y = ew.add(y, _channel(ew.in_dtype(b, wanted), rows))
    return ew.in_dtype(y, dt.of(x)), mean, var


def _train_vjp(g, out, x, w, b, *, eps, needs):
    dx, scale, shift = batch_norm_grad(g[0], g[1], g[2], x, w, out[1], out[2], eps=eps)
    return (dx, ew.in_dtype(scale, dt.of(w)) if needs[1] else None, ew.in_dtype(shift, dt.of(b)) if needs[2] else None)


def _infer_batch_norm_grad(g, g_mean, g_var, x, w, mean, var, *, eps):
    check_number(eps, "batch_norm_grad: eps")
    _check_channels("batch_norm_grad", x, weight=w, mean=mean, var=var)
    if g != x or g_mean != mean or g_var != var:
        raise ShapeError(f"batch_norm_grad: gradients {g}, {g_mean} and {g_var} must be like the results {x}, {mean} and {var}")
    return x, mean, mean


def _batch_norm_grad(g, g_mean, g_var, x, w, mean, var, *, eps):
    gr, rows = wide(g), wide(x)
    n = rows.dtype.type(_count_each(x))
    inverse = 1 / np.sqrt(var + rows.dtype.type(eps))
    scale = inverse if w is None else inverse * wide(w)
    centred = rows - _per_channel(mean, rows)
    shift = gr.sum(axis=_all_but_channels(x))
    slope = (gr * centred).sum(axis=_all_but_channels(x))
    centred *= _per_channel((2 * g_var - scale * inverse * inverse * slope) / n, rows)
    centred += gr * _per_channel(scale, rows)
    centred += _per_channel((g_mean - scale * shift) / n, rows)
    return centred.astype(x.dtype, copy=False), slope * inverse, shift


def _batch_norm_grad_body(g, g_mean, g_var, x, w, mean, var, *, eps):
    gr, rows = ew.widened(g), ew.widened(x)
    wanted, n = dt.of(rows), as_float(_count_each(x))
    inverse = ew.rsqrt(ew.add(var, eps))
    scale = inverse if w is None else ew.mul(inverse, ew.in_dtype(w, wanted))
    centred = ew.sub(rows, _channel(mean, rows))
    shift = _channel_sum(gr)
    slope = _channel_sum(ew.mul(gr, centred))
    by_centred = ew.div(ew.sub(ew.mul(g_var, 2.0), ew.mul(ew.mul(scale, ew.mul(inverse, inverse)), slope)), n)
    constant = ew.div(ew.sub(g_mean, ew.mul(scale, shift)), n)
    sloped = ew.add(ew.mul(centred, _channel(by_centred, rows)), ew.mul(gr, _channel(scale, rows)))
    dx = ew.add(sloped, _channel(constant, rows))
    return ew.in_dtype(dx, dt.of(x)), ew.mul(slope, inverse), shift


def _relu_train(x, w, b, *, eps):
    y, mean, var = _batch_norm_train(x, w, b, eps=eps)
    return np.maximum(y, np.asarray(0, y.dtype)), mean, var


def _relu_train_body(x, w, b, *, eps):
    y, mean, var = _train_body(x, w, b, eps=eps)
    return ew.maximum(y, 0.0), mean, var


def _infer_relu_grad(g, out, g_mean, g_var, x, w, mean, var, *, eps):
    if out != x:
        raise ShapeError(f"batch_norm_relu_grad: the result {out} must be like the input {x}")
    return _infer_batch_norm_grad(g, g_mean, g_var, x, w, mean, var, eps=eps)


def _relu_grad(g, out, *others, eps):
    return _batch_norm_grad(np.where(out <= 0, np.asarray(0, g.dtype), g), *others, eps=eps)


def _relu_grad_body(g, out, *others, eps):
    return _batch_norm_grad_body(ew.where(ew.le(out, 0.0), 0.0, g), *others, eps=eps)


def _batch_train(size, op, args, held, params):
    return _apart(size, op(into_channels(args[0], size, held[0]),
                           *[channel_values(v, size, has) for v, has in zip(args[1:], held[1:])], **params))


def _batch_grad(size, op, args, held, params):
    put = (into_channels, channel_values, channel_values, into_channels, *(channel_values,) * 3)
    return _apart(size, op(*[into(a, size, has) for into, a, has in zip(put, args, held)], **params))


def _apart(size, results):
    """Split results (images, values of channels ...) by the samples that lay in the channels."""
    images, *of_channels = results
    return (from_channels(images, size), *[parted(v, size) for v in of_channels])


batch_norm_train = op("batch_norm_train", infer=_infer_train, ref=_batch_norm_train, vjp=_train_vjp, saves=((1, 2), 1, 2),
                      lower=Composite(_train_body), numbers=("eps",), batch=_batch_train, traits=("reads_weight",),
                      title="batch_norm",
                      doc="Batch normalisation by the batch's own statistics: the result, the mean and the biased variance.")
batch_norm_grad = op("batch_norm_grad", infer=_infer_batch_norm_grad, ref=_batch_norm_grad,
                     vjp=derived_vjp(_batch_norm_grad_body), saves=(1, 2, 3, 4, 5, 6, 7),
                     lower=Composite(_batch_norm_grad_body), numbers=("eps",), batch=_batch_grad,
                     traits=("gaps", "rule_as_one"),
                     doc="The gradients of batch_norm_train for its input, weight and bias, from those of its three results.")

# With a relu behind it, in one sweep: what passes make of the two.

batch_norm_relu_train = op("batch_norm_relu_train", infer=_infer_train, ref=_relu_train, vjp=NO_GRAD,
                           lower=Composite(_relu_train_body), numbers=("eps",), doc="batch_norm_train with relu of its result.")
batch_norm_relu_grad = op("batch_norm_relu_grad", infer=_infer_relu_grad, ref=_relu_grad, vjp=NO_GRAD,
                          lower=Composite(_relu_grad_body), numbers=("eps",),
                          doc="The gradients of batch_norm_relu_train, given its result `out`, as those of batch_norm_train.")
