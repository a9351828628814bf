"""autograd.Function under autocast: casts of forward's inputs, and backward in forward's mode."""

import collections.abc
import functools

from ...ir.ops.core.elementwise import cast
from ..core.tensor import Tensor
from .autocast_mode import autocast, get_autocast_dtype, is_autocast_enabled

__all__ = ["custom_bwd", "custom_fwd"]


def _in_dtype(value, kind, dtype):
    """Return a value with its floating point tensors (except float64) on one kind of device in another dtype."""
    if isinstance(value, Tensor):
        eligible = value.dtype.is_floating_point and value.device.type == kind and value.dtype.itemsize < 8
        return cast(value, dtype=dtype) if eligible and value.dtype is not dtype else value
    if isinstance(value, (str, bytes)):
        return value
    if isinstance(value, collections.abc.Mapping):
        return {_in_dtype(k, kind, dtype): _in_dtype(v, kind, dtype) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_in_dtype(v, kind, dtype) for v in value)
    return value


def custom_fwd(fwd=None, *, device_type, cast_inputs=None):
    """Decorate `forward` of a Function. With `cast_inputs`, under autocast its inputs are cast to that dtype and autocast is
    off inside. Without it forward runs under the current autocast."""
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(ctx, *args, **kwargs):
        on = is_autocast_enabled(device_type)
        ctx._dtype, ctx._fwd_used_autocast = get_autocast_dtype(device_type), on and cast_inputs is None
        if cast_inputs is None or not on:
            return fwd(ctx, *args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(ctx, *_in_dtype(args, device_type, cast_inputs), **_in_dtype(kwargs, device_type, cast_inputs))

    return forward


def custom_bwd(bwd=None, *, device_type):
    """Decorate `backward` of a Function with custom_fwd: it runs under the autocast of forward."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(ctx, *args, **kwargs):
        with autocast(device_type, dtype=ctx._dtype, enabled=ctx._fwd_used_autocast):
            return bwd(ctx, *args, **kwargs)

    return backward
