"""Activation functions."""

from inspect import signature

from ....ir import dtype as dt
from ....ir.error_texts.refused_calls import unknown_keyword
from ....ir.errors import ArgumentError, ShapeError
from ....ir.opdef.aval import canonical_dim
from ....ir.ops.core import elementwise as ew
from ....ir.ops.nn import activations as ops
from ....ir.ops.nn import gated_units
from ....ir.suggestions import unknown_choice
from ....ir.symbols.substitute import as_float
from ...api.math.clamp import clamp
from ...api.nn import activations as core
from ...api.nn.activations import activated, finish, floating, spared
from ...api.register.register import FUNCTIONS, checked, deliver, memoised
from ...api.register.type_promotion import rounds_once, to_dtype
from ...state.messages import warn
from ...state.mode import tls

__all__ = ["celu", "celu_", "elu", "elu_", "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish",
           "hardtanh", "hardtanh_", "leaky_relu", "leaky_relu_", "log_softmax", "logsigmoid", "mish", "prelu", "relu", "relu6",
           "relu_", "rrelu", "rrelu_", "selu", "selu_", "sigmoid", "silu", "softmax", "softmin", "softplus", "softshrink",
           "softsign", "tanh", "tanhshrink", "threshold", "threshold_"]


def relu(input, inplace=False):
    """Return max(x, 0)."""
    return FUNCTIONS["relu_"](input) if inplace else core.relu(input)


@checked
def relu6(input, inplace=False):
    """Return min(max(x, 0), 6)."""
    return hardtanh(input, 0.0, 6.0, inplace)


def leaky_relu(input, negative_slope=0.01, inplace=False):
    """Return x above 0, negative_slope * x below."""
    return activated(ops.leaky_relu, input, inplace, negative_slope=as_float(negative_slope))


@memoised
def prelu(input, weight):
    """Return x above 0, weight * x below."""
    return core.prelu(input, weight)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """Apply leaky_relu with a random slope per element from [lower, upper) in training, else with their mean."""
    floating(input, "rrelu")
    if lower > upper:
        raise ArgumentError(f"rrelu needs lower <= upper, got {lower} and {upper}")
    if not training:
        return leaky_relu(input, (lower + upper) / 2, inplace)
    x = spared(input, inplace)
    slope = FUNCTIONS["rand_like"](x.detach()) * (upper - lower) + lower
    return finish(ew.where(ew.gt(x, 0), x, ew.mul(x, slope)), input, inplace, "rrelu")


def elu(input, alpha=1.0, inplace=False):
    """Return x above 0, alpha * (exp(x) - 1) below."""
    return activated(ops.elu, input, inplace, alpha=as_float(alpha), scale=1.0, input_scale=1.0)


def celu(input, alpha=1.0, inplace=False):
    """Return max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""
    return activated(ops.elu, input, inplace, "celu", **core.celu_shape(alpha))


def selu(input, inplace=False):
    """Apply elu with the constants that keep mean and variance."""
    return activated(ops.elu, input, inplace, "selu", **core.SELU_SHAPE)


def gelu(input, approximate="none", *, out=None):
    """Return x times the normal distribution function, exact or in its tanh approximation."""
    if approximate not in ("none", "tanh"):
        raise unknown_choice("approximate", approximate, ("none", "tanh"))
    found = (ops.gelu if approximate == "none" else ops.gelu_tanh)(floating(input, "gelu"))
    return found if out is None else deliver(found, out, "gelu")


def silu(input, inplace=False):
    """Return x * sigmoid(x)."""
    return activated(ops.silu, input, inplace)


def mish(input, inplace=False):
    """Return x * tanh(softplus(x))."""
    return activated(ops.mish, input, inplace)


def hardswish(input, inplace=False):
    """Return x * hardsigmoid(x)."""
    return activated(ops.hardswish, input, inplace)


def hardsigmoid(input, inplace=False):
    """Return clamp(x + 3, 0, 6) / 6."""
    return activated(ops.hardsigmoid, input, inplace)


@checked
def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """Return x limited to [min_val, max_val]."""
    if min_val > max_val:
        raise ArgumentError(f"hardtanh needs min_val <= max_val, got {min_val} and {max_val}")
    if not input.dtype.is_inexact:
        return finish(clamp(input, int(min_val), int(max_val)), input, inplace, "hardtanh")
    return activated(ops.hardtanh, input, inplace, min_val=as_float(min_val), max_val=as_float(max_val))


def hardshrink(input, lambd=0.5, *, out=None):
    """Return 0 where |x| <= lambd, else x."""
    return deliver(core.hardshrink(input, lambd), out, "hardshrink")


def softshrink(input, lambd=0.5, *, out=None):
    """Return x moved towards 0 by lambd, and 0 within."""
    if lambd < 0:
        raise ArgumentError(f"softshrink needs lambd >= 0, got {lambd}")
    return deliver(ops.softshrink(floating(input, "softshrink"), lambd=as_float(lambd)), out, "softshrink")


@rounds_once
def softplus(input, beta=1, threshold=20, *, out=None):
    """Return log(1 + exp(beta * x)) / beta, or x where beta * x is above the threshold."""
    floating(input, "softplus")
    scaled = input if beta == 1 else ew.mul(input, as_float(beta))
    smooth = ops.softplus(scaled)
    if beta != 1 or threshold != 20 or input.dtype is dt.float64:       # beyond 20 both agree to the last place of float32
        smooth = smooth if beta == 1 else ew.div(smooth, as_float(beta))
        smooth = ew.where(ew.gt(scaled, as_float(threshold)), input, smooth)
    return smooth if out is None else deliver(smooth, out, "softplus")


@memoised
def softsign(input):
    """Return x / (1 + |x|)."""
    x = input if input.dtype.is_inexact else to_dtype(input, dt.float32)
    return x / (x.abs() + 1.0) if x.dtype.is_complex else ew.div(x, ew.add(ew.abs_(x), 1.0))


@memoised
def tanhshrink(input):
    """Return x - tanh(x)."""
    return input - FUNCTIONS["tanh"](input)


def tanh(input):
    """Return the hyperbolic tangent."""
    return FUNCTIONS["tanh"](input)


def sigmoid(input):
    """Return 1 / (1 + exp(-x))."""
    return FUNCTIONS["sigmoid"](input)


def threshold(input, threshold, value, inplace=False):
    """Return x above the threshold, else value."""
    return finish(core.threshold(spared(input, inplace), threshold, value), input, inplace, "threshold")


@memoised
def glu(input, dim=-1):
    """Return the first half of the input times the sigmoid of the second."""
    floating(input, "glu")
    if not input.ndim:
        raise ShapeError("glu takes a tensor with dimensions, got a 0-d one")
    d = canonical_dim(dim, input.ndim)
    if input.shape[d] % 2:
        raise ShapeError(f"glu halves dimension {dim}, which must be even; got {input.aval}")
    return gated_units.glu(input, dim=d)


@memoised
def logsigmoid(input, *, out=None):
    """Return log(sigmoid(x))."""
    return deliver(ops.log_sigmoid(floating(input, "logsigmoid")), out, "logsigmoid")


def _implied_dim(name, ndim):
    """Return the default dimension of softmax: 0 for 0, 1 and 3 dimensions, else 1."""
    tls.m.only_now()
    warn(f"{name} without dim is deprecated; say which dimension")
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """Return exp(x) / sum(exp(x)) along a dimension."""
    return core.softmax(input, _implied_dim("softmax", input.ndim) if dim is None else dim, dtype)


@memoised
def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """Return softmax of -x."""
    return core.softmax(-input, _implied_dim("softmin", input.ndim) if dim is None else dim, dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """Return log(softmax(x)) along a dimension."""
    return core.log_softmax(input, _implied_dim("log_softmax", input.ndim) if dim is None else dim, dtype)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """Return a softmax sample; with `hard` a one-hot one with the gradient of the soft sample."""
    uniform = FUNCTIONS["rand_like"](logits.detach()).clamp(min=1e-20, max=1 - 1e-7)
    noise = -(-uniform.log()).log()
    soft = core.softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    best = FUNCTIONS["argmax"](soft.detach(), dim=dim, keepdim=True)
    positions = FUNCTIONS["arange"](soft.shape[dim], device=soft.device)
    d = canonical_dim(dim, soft.ndim)
    positions = positions.reshape([-1 if i == d else 1 for i in range(soft.ndim)])
    one_hot = to_dtype(best == positions, soft.dtype)
    return one_hot - soft.detach() + soft


def _in_place(fn):
    def method(input, *args, **kwargs):
        if "inplace" in kwargs:
            raise unknown_keyword(name, shown, kwargs)
        return fn(input, *args, **kwargs, inplace=True)

    name = fn.__name__ + "_"
    method.__name__ = method.__qualname__ = name
    own = signature(fn)
    shown = [p for p in own.parameters.values() if p.name != "inplace"]
    method.__signature__ = own.replace(parameters=shown)         # type: ignore[attr-defined]
    method.__doc__ = f"Apply {fn.__name__}() in place."
    return method


relu_, elu_, celu_, selu_, leaky_relu_, rrelu_, hardtanh_, threshold_ = (
    _in_place(f) for f in (relu, elu, celu, selu, leaky_relu, rrelu, hardtanh, threshold))
