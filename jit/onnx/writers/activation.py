"""Writers of activations and of the softmax family."""

import math

from ....ir import dtype as dt
from ....ir.ops.nn import activations
from ....ir.ops.nn import softmax as softmax_ops
from .graph_writer import emits, emits_each, emits_from
from .math import same_operands

emits_from(same_operands, {activations.relu: "Relu", activations.softplus: "Softplus"})


@emits(activations.mish)
def _mish(w, item, x):
    if w.opset >= 18:
        return w.node("Mish", w.name(x))
    return w.node("Mul", w.name(x), w.node("Tanh", w.node("Softplus", w.name(x))))


@emits(activations.gelu)
def _gelu(w, item, x):
    if w.opset >= 20:
        return w.node("Gelu", w.name(x))
    share = w.node("Add", w.node("Erf", w.node("Mul", w.name(x), w.scalar(math.sqrt(0.5), x.dtype))), w.scalar(1, x.dtype))
    return w.node("Mul", w.node("Mul", w.name(x), share), w.scalar(0.5, x.dtype))


@emits(activations.gelu_slope)
def _gelu_slope(w, item, x):
    name, number = w.name(x), lambda v: w.scalar(v, x.dtype)
    share = w.node("Add", w.node("Erf", w.node("Mul", name, number(math.sqrt(0.5)))), number(1))
    power = w.node("Exp", w.node("Mul", w.node("Mul", name, name), number(-0.5)))
    density = w.node("Mul", power, number(1 / math.sqrt(2 * math.pi)))
    return w.node("Add", w.node("Mul", share, number(0.5)), w.node("Mul", name, density))


@emits(activations.gelu_tanh)
def _gelu_tanh(w, item, x):
    if w.opset >= 20:
        return w.node("Gelu", w.name(x), approximate="tanh")
    name, number = w.name(x), lambda v: w.scalar(v, x.dtype)
    square = w.node("Mul", name, name)
    bent = w.node("Add", w.node("Mul", square, number(0.044715)), number(1))
    inner = w.node("Mul", w.node("Mul", name, number(math.sqrt(2 / math.pi))), bent)
    return w.node("Mul", w.node("Mul", name, number(0.5)), w.node("Add", w.node("Tanh", inner), number(1)))


def _single(node, opset):
    """Return whether a node's dtype is one for which runtimes have all activations."""
    return node.outputs[0].dtype in (dt.float32, dt.float16)


emits_each({
    softmax_ops.softmax: lambda w, item, x, *, dim: w.node("Softmax", w.name(x), axis=dim),
    softmax_ops.log_softmax: lambda w, item, x, *, dim: w.node("LogSoftmax", w.name(x), axis=dim),
    activations.log_sigmoid: lambda w, item, x: w.node("Neg", w.node("Softplus", w.node("Neg", w.name(x)))),
    activations.silu: lambda w, item, x: w.node("Mul", w.name(x), w.node("Sigmoid", w.name(x))),
    activations.leaky_relu: lambda w, item, x, *, negative_slope: w.node("LeakyRelu", w.name(x), alpha=float(negative_slope)),
})


emits_each({
    activations.elu: lambda w, item, x, *, alpha, scale, input_scale: w.node("Elu", w.name(x), alpha=float(alpha)),
}, when=lambda node, opset: _single(node, opset) and node.params["scale"] == node.params["input_scale"] == 1)


emits_each({
    activations.hardtanh: lambda w, item, x, *, min_val, max_val: w.node(
        "Clip", w.name(x), w.scalar(min_val, x.dtype), w.scalar(max_val, x.dtype)),
    activations.hardsigmoid: lambda w, item, x: w.node("HardSigmoid", w.name(x), alpha=1 / 6, beta=0.5),
    activations.hardswish: lambda w, item, x: w.node("HardSwish", w.name(x)),
}, when=_single)
