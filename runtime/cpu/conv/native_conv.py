"""Convolutions and batch normalisation of plain arrays as steps of a native call."""

import numpy as np

from ....ir.ops.nn import conv as conv_ops
from ....ir.ops.nn import norm as norm_ops
from ....passes.codegen.llvm.conv import batch_norm as norm_code
from ..calls import pool
from ..calls.conv_steps import EXTRA, W, X, Y
from ..calls.lowering_rules import Operand, native
from ..calls.step_list import At, Table
from . import batch_norm, conv


class _Shape:
    """What plans ask of an array."""

    def __init__(self, operand: Operand):
        self.shape, self.dtype, self.ndim = operand.shape, operand.dtype, len(operand.shape)
        self.size = operand.size


def pixels(sizes):
    """How many pixels a plane has."""
    return int(np.prod(sizes, dtype=np.int64))


def _with_bias(made, bias, places):
    """The call of a plan with a bias (its position, or None) as its only operand word."""
    width = made.bias.width
    if bias is not None and width != made.bias.outputs:
        return None
    nothing = np.zeros(-(-made.bias.groups * width * made.dtype.itemsize // 8), np.int64)
    return made.plan.native(places, (Table(nothing) if bias is None else At(bias),))


def _is_one_plan(made) -> bool:
    """Whether what the planner chose is one plan, done once."""
    return hasattr(made, "plan") and getattr(made, "times", 1) == 1


@native(conv_ops.conv)
def conv_forward(node, operands, results):
    """The forward convolution, where it is steps."""
    x, w, b = operands
    if not _takes(x, w):
        return None
    made = conv.forward_plan(x.shape, w.shape, *_window(node), x.dtype, conv.state())
    if not _is_one_plan(made):
        return None
    return _with_bias(made, None if b is None else 2, {X: At(0), W: At(1), Y: At(3)})


@native(conv_ops.conv_input_grad)
def conv_input_grad(node, operands, results):
    """Its gradient for the input."""
    g, w = operands
    if not _takes(g, w):
        return None
    made = conv.input_grad_plan(g.shape, w.shape, tuple(node.params["size"]), *_window(node), g.dtype, conv.state())
    if not _is_one_plan(made):
        return None
    return _with_bias(made, None, {X: At(0), W: At(1), Y: At(2)})


@native(conv_ops.conv_weight_grad)
def conv_weight_grad(node, operands, results):
    """Its gradient for the weight."""
    x, g = operands
    if not _takes(x, g):
        return None
    made = conv.weight_grad_plan(x.shape, g.shape, tuple(node.params["size"]), *_window(node), x.dtype, conv.state())
    if not _is_one_plan(made):
        return None
    return made.plan.native({X: At(0), W: At(1), Y: At(2)})


def _takes(*operands):
    return conv.supported(*(_Shape(x) for x in operands))


def _window(node):
    return tuple(node.params[name] for name in ("stride", "padding", "dilation", "groups"))


@native(norm_ops.batch_norm, norm_ops.batch_norm_train, norm_ops.batch_norm_grad, norm_ops.batch_norm_relu_train,
        norm_ops.batch_norm_relu_grad)
def batch_norms(node, operands, results):
    """Batch normalisation."""
    kind, names, results_of, relu = _NORMS[node.op]
    inputs = dict(zip(names, operands))
    x = inputs["x"]
    if not batch_norm.is_direct(x.shape) or x.dtype not in conv.DTYPES or any(
            v is not None and v.dtype != x.dtype for v in operands):
        return None
    places = {name: At(i) for i, name in enumerate(names) if operands[i] is not None}
    out = len(operands)
    places |= {name: At(out + 1 + i) for i, name in enumerate(results_of)}
    plan = batch_norm.plan(kind, tuple(x.shape), float(node.params["eps"]), x.dtype, relu, pool.get_num_threads())
    gradient = places.get("g", places["x"])
    slots = {X: places["x"], W: gradient, Y: At(out)} | ({EXTRA: places["out"]} if "out" in places else {})
    return plan.native(slots, [places.get(name, 0) for name in norm_code.OPERANDS])


_TRAINED = ("x", "weight", "bias")
_GIVEN = ("g_mean", "g_var", "x", "weight", "mean", "var")
_NORMS = {norm_ops.batch_norm: (norm_code.EVAL, ("x", "weight", "bias", "mean", "var"), (), False),
          norm_ops.batch_norm_train: (norm_code.TRAIN, _TRAINED, ("mean", "var"), False),
          norm_ops.batch_norm_relu_train: (norm_code.TRAIN, _TRAINED, ("mean", "var"), True),
          norm_ops.batch_norm_grad: (norm_code.GRAD, ("g", *_GIVEN), ("g_weight", "g_bias"), False),
          norm_ops.batch_norm_relu_grad: (norm_code.GRAD, ("g", "out", *_GIVEN), ("g_weight", "g_bias"), True)}
