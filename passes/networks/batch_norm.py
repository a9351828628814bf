"""Folds batch normalisation with given statistics into the weight and bias of the convolution before it.

The folded weight depends on weights and statistics alone, so it is computed again only when one of them was written
(`hoist_weights.py`). The convolution's result must be read by nothing else.
"""

from ...ir.dtype import float32, float64
from ...ir.graph.graph import Builder, Graph, Node, Value
from ...ir.ops.core.elementwise import add, le, mul, neg, rsqrt, sub, where
from ...ir.ops.core.shape import reshape
from ...ir.ops.nn.activations import relu
from ...ir.ops.nn.conv import conv
from ...ir.ops.nn.norm import batch_norm, batch_norm_grad, batch_norm_relu_grad, batch_norm_relu_train, batch_norm_train
from ..rewrite.rewrite import Rule, apply, rebuild
from ..simplify.canonicalize import is_literal, number_of


def fold_batch_norm(graph: Graph) -> Graph:
    """Fold each batch normalisation that can be folded."""
    return apply(graph, RULES) if any(n.op is batch_norm for n in graph.nodes) else graph


def _find(x, w, bias, gain, shift, mean, var, eps, stride, padding, dilation, groups):
    made = conv(x, w, bias, stride=stride, padding=padding, dilation=dilation, groups=groups)
    return batch_norm(made, gain, shift, mean, var, eps=eps)


def _are_alike(x, w, bias, gain, shift, mean, var):
    """Return whether everything is of one dtype whose arithmetic is the convolution's own."""
    kinds = {v.dtype for v in (x, w, bias, gain, shift, mean, var) if type(v) is Value}
    return len(kinds) == 1 and kinds <= {float32, float64}


def _folded(x, w, bias, gain, shift, mean, var, eps, stride, padding, dilation, groups):
    scale = rsqrt(add(var, eps))
    scale = scale if gain is None else mul(scale, gain)
    shifted = mul(mean if bias is None else sub(mean, bias), scale)
    bias = neg(shifted) if shift is None else sub(shift, shifted)
    w = mul(w, reshape(scale, shape=(w.shape[0],) + (1,) * (w.ndim - 1)))
    return conv(x, w, bias, stride=stride, padding=padding, dilation=dilation, groups=groups)


RULES = (Rule("batch norm into convolution", find=_find, make=_folded, where=_are_alike, once=True),)


def fuse_batch_norm(graph: Graph) -> Graph:
    """Fuse each batch normalisation with its ReLU, and each gradient with its mask."""
    clipped = {n: n.inputs[0].node for n in graph.nodes if n.op is relu and _is_only_reader(graph, n, n.inputs[0])}
    norms = {norm for norm in clipped.values() if norm is not None and norm.op is batch_norm_train}
    if not norms and not any(n.op is batch_norm_grad for n in graph.nodes):
        return graph

    def visit(b: Builder, node: Node, operands):
        if node in norms:
            return b.append(batch_norm_relu_train, operands, node.params)
        if clipped.get(node) in norms:
            return operands[0]
        if node.op is batch_norm_grad and _is_masked(graph, node):
            mask = node.inputs[0].node
            return b.append(batch_norm_relu_grad, (env[mask.inputs[2]], env[mask.inputs[0].node.inputs[0]], *operands[1:]),
                            node.params)
        env.update({old: new for old, new in zip(node.inputs, operands) if type(old) is Value})
        return None

    env: dict = {}
    return rebuild(graph, visit)


def _is_only_reader(graph, node, value):
    """Return whether a node alone reads the first result of a node of several."""
    return type(value) is Value and value.index == 0 and graph.uses[value] == (node,) and value not in graph.results


def _is_masked(graph, node):
    """Return whether a gradient has the form where(result <= 0, 0, g), which nothing else reads."""
    g = node.inputs[0]
    mask = g.node
    if mask is None or mask.op is not where or graph.uses[g] != (node,) or g in graph.results:
        return False
    test, other, given = mask.inputs
    return (type(given) is Value and _is_zero(other) and type(test) is Value and test.node is not None and test.node.op is le
            and type(test.node.inputs[0]) is Value and _is_zero(test.node.inputs[1]) and given.aval == node.inputs[3].aval
            and test.node.inputs[0].aval == given.aval)


def _is_zero(x):
    return number_of(x) == 0 if is_literal(x) else type(x) is not Value and x == 0
