"""Functions of neural networks under `ingot.*`: activations, softmax, dropout."""

import numpy as np

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, DTypeError, ShapeError, kind_of
from ....ir.opdef.aval import canonical_dim
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core.shape import reshape
from ....ir.ops.nn import activations as ops
from ....ir.ops.nn import softmax as softmax_ops
from ....ir.symbols.substitute import as_float
from ...core.inplace import overwrite
from ...core.node import INEXACT
from ...core.tensor import Tensor, numel_of
from ...state.mode import tls
from ..math.elementwise import operate, unary
from ..register.register import api, deliver, store
from ..register.type_promotion import to_dtype


def finish(result, input, inplace: bool, name: str):
    """Return the result, written into the input if `inplace`."""
    return store(input, result, name + "_") if inplace else result


def activated(op, input, inplace: bool, /, called="", **params):
    """Apply a record of one argument, in place if asked; `called` is the function's name if that differs from the record's."""
    name = called or op.name
    if inplace and not tls.m.special and isinstance(input, Tensor) and overwrite(op, input, name + "_", **params):
        return input
    x = floating(input, name)
    return finish(op(spared(x, inplace and op.plan((True,))[1] == "value"), **params), input, inplace, name)


def spared(input, inplace: bool):
    """Return the operand of an activation: a copy if it will be overwritten and its gradient reads it, else the input."""
    return ew.copy(input) if inplace and tls.m.grad and input._node is not None else input


def floating(input, name: str):
    """Return the input; raise unless it is a floating point tensor."""
    if not isinstance(input, Tensor):
        raise DTypeError(f"{name} takes a tensor, got {kind_of(input)}")
    if input._a.dtype.kind not in INEXACT:
        raise DTypeError(f"{name} takes floating point tensors, got {input.aval}; cast with .to()")
    return input


def _relu(op, input, out=None):
    if input.dtype is dt.bool_:
        raise DTypeError("relu does not take bool; cast with .to()")
    return operate(op, input, out=out)


relu = api(inplace=ops.relu, name="relu", checked=False)(unary(ops.relu, _relu))
relu.__name__, relu.__doc__ = "relu", "max(input, 0)"


@api(function=False)
def hardshrink(input, lambd=0.5):
    """Return 0 where |input| <= lambd, the input elsewhere."""
    return ops.hardshrink(floating(input, "hardshrink"), lambd=as_float(lambd))


@api(method=False, inplace=False, checked=True)
def threshold(input, threshold, value):
    """Return the input where it is above the threshold, `value` elsewhere."""
    threshold, value = (v.item() if isinstance(v, (Tensor, np.generic)) else v for v in (threshold, value))
    return ops.threshold(input, threshold=threshold, value=dt.fitted(value, input.dtype, "threshold"))


@api(method=False)
def celu(input, alpha=1.0):
    """Return max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""
    return activated(ops.elu, input, False, "celu", **celu_shape(alpha))


def celu_shape(alpha) -> dict:
    """Return the parameters of elu that make it celu."""
    alpha = as_float(alpha)
    if not alpha:
        raise ArgumentError("celu needs an alpha other than 0")
    return {"alpha": alpha, "scale": 1.0, "input_scale": 1.0 / alpha}


SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946
SELU_SHAPE = {"alpha": SELU_ALPHA, "scale": SELU_SCALE, "input_scale": 1.0}


@api(method=False)
def selu(input):
    """Return scale * elu(x, alpha), with the constants that keep mean and variance."""
    return activated(ops.elu, input, False, "selu", **SELU_SHAPE)


@api(checked=True)
def prelu(input, weight):
    """Return the input above 0, weight * input below; the weight is one number or one for each channel (dimension 1)."""
    floating(input, "prelu")
    if input.dtype is not weight.dtype and tls.m.autocast is None:
        raise DTypeError(f"prelu takes an input and a weight of one dtype, got {input.dtype.name} and {weight.dtype.name}")
    n = numel_of(weight)
    channels = input.shape[1] if input.ndim > 1 else 1
    if weight.ndim > 1 or (n != 1 and n != channels):
        raise ShapeError(f"prelu of {input.aval} takes a weight of one element or of {channels}, got {weight.aval}")
    shape = (1, n, *(1,) * (input.ndim - 2)) if n != 1 else (1,) * input.ndim
    return ops.prelu(input, reshape(weight, shape=shape))


def with_a_dim(fn, input, dim):
    """Return fn(input, dim); a 0-d input counts as a row of one."""
    n = input._a.ndim
    if n:
        return fn.call(input, dim=dim if dim.__class__ is int and 0 <= dim < n else canonical_dim(dim, n))
    canonical_dim(dim, 0)
    return reshape(fn(reshape(input, shape=(1,)), dim=0), shape=())


@api()
def softmax(input, dim, dtype=None, *, out=None):
    """Return exp(x) / sum(exp(x)) along a dimension."""
    x = floating(input if dtype is None else to_dtype(input, dt.as_dtype(dtype)), "softmax")
    result = with_a_dim(softmax_ops.softmax, x, dim)
    return result if out is None else deliver(result, out, "softmax")


@api()
def log_softmax(input, dim, dtype=None, *, out=None):
    """Return log(softmax(x)) along a dimension."""
    x = floating(input if dtype is None else to_dtype(input, dt.as_dtype(dtype)), "log_softmax")
    result = with_a_dim(softmax_ops.log_softmax, x, dim)
    return result if out is None else deliver(result, out, "log_softmax")


@api(method=False, name="_softmax_backward_data")
def softmax_gradient(grad_output, output, dim, input_dtype):
    """Return the gradient of a softmax's input from that of its output, for a custom `backward`."""
    g, y = (reshape(t, shape=output.shape or (1,)) for t in (grad_output, output))
    gradient = softmax_ops.softmax_grad(g, y, dim=canonical_dim(dim, output.ndim))
    return to_dtype(reshape(gradient, shape=output.shape), dt.as_dtype(input_dtype))
