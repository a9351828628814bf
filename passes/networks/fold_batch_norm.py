"""Batch normalisation with given statistics becomes a part of the convolution before it: of its weight and its bias.

What is made of weights and statistics depends on nothing else, so it is computed again only when one of them was written
(`hoist_weights.py`). The convolution's result must be read by nothing else.
"""

from ...ir.dtype import float32, float64
from ...ir.graph.graph import Graph, Value
from ...ir.ops.core.elementwise import add, mul, neg, rsqrt, sub
from ...ir.ops.core.shape import reshape
from ...ir.ops.nn.conv import conv
from ...ir.ops.nn.norm import batch_norm
from ..rewrite.rewrite import Rule, apply


def fold_batch_norm(graph: Graph) -> Graph:
    """Folds each batch normalisation that can be folded."""
    return apply(graph, RULES) if any(n.op is batch_norm for n in graph.nodes) else graph


def _find(x, w, bias, gain, shift, mean, var, eps, stride, padding, dilation, groups):
    made = conv(x, w, bias, stride=stride, padding=padding, dilation=dilation, groups=groups)
    return batch_norm(made, gain, shift, mean, var, eps=eps)


def _are_alike(x, w, bias, gain, shift, mean, var):
    """Whether everything is of one dtype whose arithmetic is the convolution's own."""
    kinds = {v.dtype for v in (x, w, bias, gain, shift, mean, var) if type(v) is Value}
    return len(kinds) == 1 and kinds <= {float32, float64}


def _folded(x, w, bias, gain, shift, mean, var, eps, stride, padding, dilation, groups):
    scale = rsqrt(add(var, eps))
    scale = scale if gain is None else mul(scale, gain)
    moved = mul(mean if bias is None else sub(mean, bias), scale)
    bias = neg(moved) if shift is None else sub(shift, moved)
    w = mul(w, reshape(scale, shape=(w.shape[0],) + (1,) * (w.ndim - 1)))
    return conv(x, w, bias, stride=stride, padding=padding, dilation=dilation, groups=groups)


RULES = (Rule("batch norm into convolution", find=_find, make=_folded, where=_are_alike, once=True),)
