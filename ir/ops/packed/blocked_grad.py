"""Training on images in blocked channels (`blocked.py`): gradients of convolutions and pools, batch normalisation.

The layout pass makes these operators. Channel values (statistics, gains, their gradients) and gradients of weights stay plain
arrays.
"""

from math import prod

import numpy as np

from ... import dtype as dt
from ...errors import ShapeError
from ...opdef.op import NO_GRAD, OPS, Template, op
from ...opdef.param_checks import check_flag, check_ints, check_sizes
from ..nn import conv as plain_conv
from ..nn import norm
from ..nn import pool as plain_pool
from .blocked import _from, _infer_from, _plain_aval, _to, blocks_of, check_originals, lines_of, run_epilogue

# Convolutions.


def _infer_pack(w, *, size, stride, padding, dilation, groups, kernel, elements):
    check_sizes((elements,), "elements")
    if elements < w.size:
        raise ShapeError(f"pack_turned: {elements} elements are too few for the weight {w}")
    return w.with_shape((elements,))


def _pack(w, *, size, stride, padding, dilation, groups, kernel, elements):
    out = np.zeros(elements, w.dtype)
    out[:w.size] = w.reshape(-1)
    return out


pack_turned = op("pack_turned", infer=_infer_pack, ref=_pack, vjp=NO_GRAD, lower=Template("layout"),
                 traits=("exact", "packs"),
                 doc="A convolution's weight as the kernel of its input gradient reads it, for an input of spatial `size`.")


def _infer_input_grad(g, w, *operands, filters, size, stride, padding, dilation, groups, lanes, kernel, epilogue, taps=0):
    check_originals("conv_input_grad_blocked", operands, filters, taps)
    check_ints((groups, lanes), "groups and lanes", least=1)
    found = plain_conv.conv_input_grad.infer(_infer_from(g, channels=filters[0]), g.with_shape(filters), size=size,
                                             stride=stride, padding=padding, dilation=dilation, groups=groups)
    out = g.with_shape((g.shape[0], blocks_of(found.shape[1], lanes), *size, lanes))
    channel = (1, out.shape[1], *(1 for _ in size), lanes)
    for v in operands[taps:]:
        if v.dtype is not g.dtype or v.shape not in (channel, out.shape):
            raise ShapeError(f"conv_input_grad_blocked: {v} beside a result {out} must be like it, or like {channel}")
    return out


def _input_grad(g, w, *operands, filters, size, stride, padding, dilation, groups, lanes, kernel, epilogue, taps=0):
    weight = w[:prod(filters)].reshape(filters)
    x = plain_conv.conv_input_grad.ref(_from(g, channels=filters[0]), weight, size=size, stride=stride, padding=padding,
                                       dilation=dilation, groups=groups)
    x = _to(x, lanes=lanes)
    return run_epilogue(epilogue, x, [np.broadcast_to(v, x.shape) for v in operands[taps:]],
                        lambda name, *arguments: OPS[name].ref(*arguments))


conv_input_grad_blocked = op(
    "conv_input_grad_blocked", infer=_infer_input_grad, ref=_input_grad, vjp=NO_GRAD, lower=Template("conv"),
    flops=lambda args, outs, params: 2 * args[0].shape[0] * prod(args[0].shape[2:-1]) * prod(params["filters"]),
    doc="The gradient of a convolution for its input, in blocks, from one in blocks and a weight of `pack_turned`; a "
        "transposed convolution. `epilogue`, `taps` and the arrays beside it are those of conv_blocked.")


def _infer_weight_grad(x, g, *, filters, stride, padding, dilation, groups, lanes, in_blocks, kernel):
    check_sizes(filters, "filters")
    check_ints((groups, lanes), "groups and lanes", least=1)
    check_flag(in_blocks, "in_blocks")
    plain = _plain_aval(x, filters[1] * groups, in_blocks)
    plain_conv.conv_weight_grad.infer(plain, _infer_from(g, channels=filters[0]), size=filters[2:], stride=stride,
                                      padding=padding, dilation=dilation, groups=groups)
    return x.with_shape(filters)


def _weight_grad(x, g, *, filters, stride, padding, dilation, groups, lanes, in_blocks, kernel):
    plain = _from(x, channels=filters[1] * groups) if in_blocks else x
    return plain_conv.conv_weight_grad.ref(plain, _from(g, channels=filters[0]), size=filters[2:], stride=stride,
                                           padding=padding, dilation=dilation, groups=groups)


conv_weight_grad_blocked = op(
    "conv_weight_grad_blocked", infer=_infer_weight_grad, ref=_weight_grad, vjp=NO_GRAD, lower=Template("conv"),
    flops=lambda args, outs, params: 2 * args[1].shape[0] * prod(args[1].shape[2:-1]) * prod(params["filters"]),
    doc="The gradient of a convolution for its weight, a plain array, from a gradient in blocks and an input that is in blocks "
        "or plain.")

# Batch normalisation.


def _infer_train(x, w, b, *, eps, channels, relu):
    check_flag(relu, "relu")
    _, mean, var = norm.batch_norm_train.infer(_infer_from(x, channels=channels), w, b, eps=eps)
    return x, mean, var


def _train(x, w, b, *, eps, channels, relu):
    train = norm.batch_norm_relu_train if relu else norm.batch_norm_train
    y, mean, var = train.ref(_from(x, channels=channels), w, b, eps=eps)
    return _to(y, lanes=x.shape[-1]), mean, var


batch_norm_train_blocked = op(
    "batch_norm_train_blocked", infer=_infer_train, ref=_train, vjp=NO_GRAD, lower=Template("norm"),
    doc="batch_norm_train of blocks (batch_norm_relu_train with `relu`), with the same bits.")


def _infer_norm_grad(g, out, g_mean, g_var, x, w, mean, var, *, eps, channels, relu):
    check_flag(relu, "relu")
    if g != x or (out is not None) != relu or (relu and out != x):
        raise ShapeError(f"batch_norm_grad_blocked: gradient {g} and result {out} must be like the input {x}")
    plain = _infer_from(x, channels=channels)
    _, scale, shift = norm.batch_norm_grad.infer(plain, g_mean, g_var, plain, w, mean, var, eps=eps)
    return x, scale, shift


def _norm_grad(g, out, g_mean, g_var, x, w, mean, var, *, eps, channels, relu):
    images = [_from(v, channels=channels) for v in ((g, out) if relu else (g,))]
    grad = norm.batch_norm_relu_grad if relu else norm.batch_norm_grad
    dx, scale, shift = grad.ref(*images, g_mean, g_var, _from(x, channels=channels), w, mean, var, eps=eps)
    return _to(dx, lanes=x.shape[-1]), scale, shift


batch_norm_grad_blocked = op(
    "batch_norm_grad_blocked", infer=_infer_norm_grad, ref=_norm_grad, vjp=NO_GRAD, lower=Template("norm"),
    doc="batch_norm_grad of blocks (batch_norm_relu_grad with `relu`; else `out` is None), with the same bits.")

# Pools.


def _merged(x):
    """Return blocked planes as planes: blocks as images, lanes as channels."""
    return x.with_shape((x.shape[0], x.shape[1], *x.shape[2:-1]))


def _infer_positions(x, *, kernel, stride, padding, dilation):
    best, _ = plain_pool.max_pool.infer(_merged(x), kernel=kernel, stride=stride, padding=padding, dilation=dilation)
    best = x.with_shape((*best.shape, x.shape[-1]))
    return best, best.with_dtype(dt.int32)


def _max_pool(x, **params):
    best, indices = plain_pool.max_pool.ref(lines_of(x), **params)
    return _blocks(best, x.shape), _blocks(indices, x.shape).astype(np.int32)


def _blocks(planes, like):
    """Undo `lines_of`."""
    return np.ascontiguousarray(np.moveaxis(planes.reshape(*like[:2], *planes.shape[1:]), 2, -1))


max_pool_places_blocked = op(
    "max_pool_places_blocked", infer=_infer_positions, ref=_max_pool, vjp=NO_GRAD, lower=Template("pool"), traits=("exact",),
    doc="The largest of each window of blocked planes, and its flat place in its plane.")


def _infer_max_grad(g, indices, *, size, kernel, stride, padding, dilation):
    check_sizes(size, "size")
    if indices.shape != g.shape:
        raise ShapeError(f"max_pool_grad_blocked: gradient {g} and places {indices} must be of one shape")
    found, _ = plain_pool.max_pool.infer(g.with_shape((*g.shape[:2], *size)), kernel=kernel, stride=stride, padding=padding,
                                         dilation=dilation)
    if found.shape[2:] != g.shape[2:-1]:
        raise ShapeError(f"max_pool_grad_blocked: a pool of {list(size)} gives {list(found.shape[2:])}, not the "
                         f"{list(g.shape[2:-1])} of {g}")
    return g.with_shape((*g.shape[:2], *size, g.shape[-1]))


def _max_grad(g, indices, *, size, kernel, stride, padding, dilation):
    planes = lines_of(g), lines_of(indices).astype(np.int64)
    return _blocks(plain_pool.plane_put.ref(*planes, size=size, accumulate=True), g.shape)


max_pool_grad_blocked = op(
    "max_pool_grad_blocked", infer=_infer_max_grad, ref=_max_grad, vjp=NO_GRAD, lower=Template("pool"),
    doc="The gradient of max_pool_places_blocked for its input of spatial `size`: values added at their places.")


def _infer_avg_grad(g, *, size, kernel, stride, padding, counted, divisor):
    plain_pool.avg_pool_grad.infer(_merged(g), size=size, kernel=kernel, stride=stride, padding=padding, counted=counted,
                                   divisor=divisor)
    return g.with_shape((*g.shape[:2], *size, g.shape[-1]))


avg_pool_grad_blocked = op(
    "avg_pool_grad_blocked", infer=_infer_avg_grad,
    ref=lambda g, **params: _blocks(plain_pool.avg_pool_grad.ref(lines_of(g), **params), g.shape),
    vjp=NO_GRAD, lower=Template("pool"), doc="The gradient of avg_pool_blocked for its input of spatial `size`.")

OPERATORS = frozenset((pack_turned, conv_input_grad_blocked, conv_weight_grad_blocked, batch_norm_train_blocked,
                       batch_norm_grad_blocked, max_pool_places_blocked, max_pool_grad_blocked, avg_pool_grad_blocked))
