"""Initialisation of parameters, in place and without history."""

import math

import numpy as np

from ....ir.errors import ArgumentError, ShapeError
from ....ir.suggestions import unknown_choice
from ....ir.symbols.number_functions import erf, sqrt
from ...api.register.register import FUNCTIONS
from ...autograd.grad_mode import no_grad
from ...core.tensor import Tensor, class_for, wrap
from ...core.writes import write
from ...state.messages import warn

_LINEAR = {"linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid"}
_GAINS = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}


def calculate_gain(nonlinearity: str, param=None) -> float:
    """Return the factor that keeps the variance through a nonlinearity."""
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity in _GAINS:
        return _GAINS[nonlinearity]
    if nonlinearity == "leaky_relu":
        if param is not None and (isinstance(param, bool) or not isinstance(param, (int, float))):
            raise ArgumentError(f"negative_slope {param!r} is not a number")
        slope = 0.01 if param is None else param
        return sqrt(2.0 / (1 + slope ** 2))
    raise ArgumentError(f"unsupported nonlinearity {nonlinearity!r}")


@no_grad()
def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Fill with uniform values in [a, b)."""
    return tensor.uniform_(a, b, generator=generator)


def uniform_around_zero(tensor, fan, generator=None):
    """Fill with uniform values in +-1/sqrt(fan)."""
    bound = 1 / sqrt(fan) if fan > 0 else 0.0
    return uniform_(tensor, -bound, bound, generator)


@no_grad()
def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Fill with normal values of a mean and standard deviation."""
    return tensor.normal_(mean, std, generator=generator)


def _normal_cdf(x):
    return (1 + erf(x / math.sqrt(2))) / 2


@no_grad()
def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Fill with normal values truncated to [a, b]."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warn("the mean is more than 2 std from [a, b] in trunc_normal_; the distribution of values may be wrong")
    low, high = _normal_cdf((a - mean) / std), _normal_cdf((b - mean) / std)
    tensor.uniform_(2 * low - 1, 2 * high - 1, generator=generator)
    return tensor.erfinv_().mul_(std * math.sqrt(2.0)).add_(mean).clamp_(min=a, max=b)


@no_grad()
def constant_(tensor, val):
    """Fill with one value."""
    return tensor.fill_(val)


@no_grad()
def ones_(tensor):
    """Fill with ones."""
    return tensor.fill_(1.0)


@no_grad()
def zeros_(tensor):
    """Fill with zeros."""
    return tensor.fill_(0.0)


def _is_sharded(tensor) -> bool:
    """Return whether a tensor is sharded, so that all processes must draw the same values."""
    return class_for(tensor._a) is not Tensor


def _write_all(tensor, values, name):
    """Write the values of another tensor, on every process of a sharded tensor."""
    return write(tensor, values, name) if _is_sharded(tensor) else tensor.copy_(values)


@no_grad()
def eye_(tensor):
    """Fill with the identity matrix."""
    if tensor.ndim != 2:
        raise ArgumentError(f"eye_ takes a matrix, got {tensor.aval}")
    return _write_all(tensor, FUNCTIONS["eye"](*tensor.shape), "eye_")


@no_grad()
def dirac_(tensor, groups=1):
    """Fill with the convolution kernel that returns its input."""
    if tensor.ndim not in (3, 4, 5):
        raise ArgumentError(f"dirac_ takes a tensor of 3, 4 or 5 dimensions, got {tensor.aval}")
    if tensor.shape[0] % groups:
        raise ArgumentError(f"dirac_ with groups={groups} needs a first size divisible by it, got {tensor.aval}")
    per_group = tensor.shape[0] // groups
    middle = tuple(n // 2 for n in tensor.shape[2:])
    tensor.fill_(0.0)
    for group in range(groups):
        for d in range(min(per_group, tensor.shape[1])):
            tensor[(group * per_group + d, d, *middle)] = 1.0
    return tensor


def _calculate_fan_in_and_fan_out(tensor):
    if tensor.ndim < 2:
        raise ArgumentError(f"fan in and fan out need a tensor of at least 2 dimensions, got {tensor.aval}")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _calculate_correct_fan(tensor, mode):
    if mode.lower() not in ("fan_in", "fan_out"):
        raise unknown_choice("mode", mode, ("fan_in", "fan_out"))
    return _calculate_fan_in_and_fan_out(tensor)[mode.lower() == "fan_out"]


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Fill with uniform values of variance gain^2 * 2 / (fan_in + fan_out)."""
    bound = gain * sqrt(6.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Fill with normal values of variance gain^2 * 2 / (fan_in + fan_out)."""
    return normal_(tensor, 0.0, gain * sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor))), generator)


def _kaiming_std(tensor, a, mode, nonlinearity):
    return calculate_gain(nonlinearity, a) / sqrt(_calculate_correct_fan(tensor, mode))


def _is_empty(tensor, name):
    if 0 in tensor.shape:
        warn(f"{name} on a tensor without elements does nothing")
        return True
    return False


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Fill with uniform values of variance gain^2 / fan."""
    if _is_empty(tensor, "kaiming_uniform_"):
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Fill with normal values of variance gain^2 / fan."""
    if _is_empty(tensor, "kaiming_normal_"):
        return tensor
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


@no_grad()
def orthogonal_(tensor, gain=1, generator=None):
    """Fill with a (semi-)orthogonal matrix; dimensions after the first count as one."""
    if tensor.ndim < 2:
        raise ArgumentError(f"orthogonal_ takes a tensor of at least 2 dimensions, got {tensor.aval}")
    if 0 in tensor.shape:
        return tensor
    rows, cols = tensor.shape[0], math.prod(tensor.shape[1:])
    sizes = max(rows, cols), min(rows, cols)
    if _is_sharded(tensor):
        flat = tensor.new_empty(sizes).normal_(generator=generator)
    else:
        flat = FUNCTIONS["randn"](*sizes, generator=generator)
    q, r = _qr(flat)
    q = q * r.diagonal().sign()
    q = q if rows >= cols else q.t()
    return _write_all(tensor, q.reshape(tensor.shape), "orthogonal_").mul_(gain)


def _qr(matrix):
    return [wrap(np.ascontiguousarray(f)) for f in np.linalg.qr(matrix.numpy(force=True))]


@no_grad()
def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Fill with normal values, and set a fraction `sparsity` of each column to zero."""
    if tensor.ndim != 2:
        raise ShapeError(f"sparse_ takes a matrix, got {tensor.aval}")
    rows, cols = tensor.shape
    zeros = math.ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    for col in range(cols):
        order = tensor.new_empty((rows,)).uniform_().argsort() if _is_sharded(tensor) else FUNCTIONS["randperm"](rows)
        for row in order.tolist()[:zeros]:
            tensor[row, col] = 0.0
    return tensor


def _deprecated(fn):
    name = fn.__name__.rstrip("_")

    def old(*args, **kwargs):
        warn(f"nn.init.{name} is deprecated; use nn.init.{name}_", FutureWarning)
        return fn(*args, **kwargs)

    old.__name__ = old.__qualname__ = name
    old.__doc__ = f"Call {name}_(), under its old name."
    return old


uniform, normal, constant, eye, dirac, xavier_uniform, xavier_normal, kaiming_uniform, kaiming_normal, orthogonal, sparse = map(
    _deprecated, (uniform_, normal_, constant_, eye_, dirac_, xavier_uniform_, xavier_normal_, kaiming_uniform_,
                  kaiming_normal_, orthogonal_, sparse_))
