"""Convolutions with channels last: images (N, *spatial, C), filters (O, *kernel, C); made by
`passes/layout/channels_last.py`."""

import numpy as np

from ...opdef.op import NO_GRAD, Template, op
from ..nn import conv as plain
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


def _window(stride, padding, dilation):
    return {"stride": stride, "padding": padding, "dilation": dilation, "groups": 1}


def _infer(x, w, b, *, stride, padding, dilation):
    window = _window(stride, padding, dilation)
    return channels_last(plain.conv.infer(channels_first(x), channels_first(w), b, **window))


def _infer_input_grad(g, w, *, size, stride, padding, dilation):
    window = _window(stride, padding, dilation)
    return channels_last(plain.conv_input_grad.infer(channels_first(g), channels_first(w), size=size, **window))


def _infer_weight_grad(x, g, *, size, stride, padding, dilation):
    window = _window(stride, padding, dilation)
    return channels_last(plain.conv_weight_grad.infer(channels_first(x), channels_first(g), size=size, **window))


def _conv(x, w, b, *, stride, padding, dilation):
    return channels_last(plain.conv.ref(channels_first(x), channels_first(w), b, **_window(stride, padding, dilation)))


def _input_grad(g, w, *, size, stride, padding, dilation):
    window = _window(stride, padding, dilation)
    return channels_last(plain.conv_input_grad.ref(channels_first(g), channels_first(w), size=size, **window))


def _weight_grad(x, g, *, size, stride, padding, dilation):
    window = _window(stride, padding, dilation)
    return channels_last(plain.conv_weight_grad.ref(channels_first(x), channels_first(g), size=size, **window))


def _infer_packed(x, *, padding, channels):
    return x.with_shape((x.shape[0], *padded_sizes(x.shape[2:], padding), channels))


def _packed(x, *, padding, channels):
    around = ((0, 0), (0, channels - x.shape[1]), *padding)
    return channels_last(np.pad(x, around))


packed_image = op("packed_image", infer=_infer_packed, ref=_packed, vjp=NO_GRAD, lower=Template("gather"), traits=("exact",),
                  doc="An image with zeros around it and its channels last, filled up with channels of zeros.")
conv_last = op("conv_last", infer=_infer, ref=_conv, vjp=NO_GRAD, lower=Template("conv"),
               doc="conv of one group, of images and by filters whose channels lie last.")
conv_last_input_grad = op("conv_last_input_grad", infer=_infer_input_grad, ref=_input_grad, vjp=NO_GRAD, lower=Template("conv"),
                          doc="conv_input_grad in the same way.")
conv_last_weight_grad = op("conv_last_weight_grad", infer=_infer_weight_grad, ref=_weight_grad, vjp=NO_GRAD,
                           lower=Template("conv"), doc="conv_weight_grad in the same way: filters with their channels last.")
