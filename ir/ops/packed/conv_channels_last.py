"""Convolutions with channels last: images (N, *spatial, C), filters (O, *kernel, C); made by
`passes/layout/channels_last.py`."""

from functools import wraps
from inspect import signature

import numpy as np

from ...errors import ShapeError
from ...opdef.op import NO_GRAD, Template, op
from ...opdef.param_checks import check_int, check_ints
from ..nn.conv import conv, conv_input_grad, conv_weight_grad
from ..nn.windows import padded_sizes


def channels_first(a):
    """Return the aval or array with its channels second, as the plain operators have it."""
    if isinstance(a, np.ndarray):
        return np.moveaxis(a, -1, 1)
    return a.with_shape((a.shape[0], a.shape[-1], *a.shape[1:-1]))


def channels_last(a):
    """Return the aval or array with its channels last."""
    if isinstance(a, np.ndarray):
        return np.ascontiguousarray(np.moveaxis(a, 1, -1))
    return a.with_shape((a.shape[0], *a.shape[2:], a.shape[1]))


def _of_last(rule):
    """Return a shape rule or reference of one group with channels last, from the plain one; a bias stays as it is."""
    @wraps(rule)
    def run(*operands, **params):
        x, y, *bias = operands
        return channels_last(rule(channels_first(x), channels_first(y), *bias, groups=1, **params))

    own = [p for p in signature(rule).parameters.values() if p.name != "groups"]
    run.__signature__ = signature(rule).replace(parameters=own)  # type: ignore[attr-defined]
    return run


def _record(name, plain, doc):
    return op(name, infer=_of_last(plain.infer), ref=_of_last(plain.ref), vjp=NO_GRAD, lower=Template("conv"),
              doc=doc)


def _infer_packed(x, *, padding, channels):
    if x.ndim < 3 or len(padding) != x.ndim - 2:
        raise ShapeError(f"packed_image takes [N, C, *spatial] and padding for each spatial dimension, got {x} and {padding}")
    for pair in padding:
        check_ints(pair, "padding", 2)
    check_int(channels, "channels", x.shape[1])
    return x.with_shape((x.shape[0], *padded_sizes(x.shape[2:], padding), channels))


def _packed(x, *, padding, channels):
    around = ((0, 0), (0, channels - x.shape[1]), *padding)
    return channels_last(np.pad(x, around))


packed_image = op("packed_image", infer=_infer_packed, ref=_packed, vjp=NO_GRAD, lower=Template("gather"), traits=("exact",),
                  doc="An image with zeros around it and its channels last, filled up with channels of zeros.")
conv_last = _record("conv_last", conv, "conv of one group, of images and by filters whose channels lie last.")
conv_last_input_grad = _record("conv_last_input_grad", conv_input_grad, "conv_input_grad in the same way.")
conv_last_weight_grad = _record("conv_last_weight_grad", conv_weight_grad,
                                "conv_weight_grad in the same way: filters with their channels last.")

OPERATORS = frozenset((packed_image, conv_last, conv_last_input_grad, conv_last_weight_grad))
