"""Gradients of graphs by the operators' own rules: the tape's backward walk as nodes of a graph."""

from ingot.ir.errors import AutogradError
from ingot.ir.graph.graph import Builder, Graph, Node, Value
from ingot.ir.opdef.op import NO_GRAD
from ingot.ir.ops.core.elementwise import add
from ingot.ir.ops.core.shape import full


def gradients(builder: Builder, outputs, seeds, wrt) -> list:
    """Append the gradients of `outputs` (given theirs, `seeds`) for the values `wrt`; None without a path.

    As on the tape, nothing flows through operators without a derivative.
    """
    flow: dict = {}
    for v, g in zip(outputs, seeds):
        if g is not None:
            _deliver(flow, v, g)
    needed = _reaching(builder.nodes, wrt)
    for node in reversed(list(builder.nodes)):
        if not any(v in flow and v in needed for v in node.outputs) or not any(_wanted(x, needed) for x in node.inputs):
            continue
        with builder.at(node.line):
            for x, g in zip(node.inputs, pull(builder, node, [flow.get(v) for v in node.outputs], needed)):
                if g is not None:
                    _deliver(flow, x, g)
    return [flow.get(v) for v in wrt]


def _deliver(flow, value, g):
    flow[value] = add(flow[value], g) if value in flow else g


def _wanted(x, needed):
    return type(x) is Value and x.dtype.is_inexact and x in needed


def _reaching(nodes, wrt):
    """Return the values that depend on a value of `wrt`."""
    needed = set(wrt)
    for n in nodes:
        if n.op.vjp is not NO_GRAD and any(_wanted(x, needed) for x in n.inputs):
            needed.update(v for v in n.outputs if v.dtype.is_inexact)
    return needed


def pull(builder: Builder, node: Node, gs, needed) -> list:
    """Return the gradients of a node's operands from those of its results (None stands for zero)."""
    op, args = node.op, node.inputs
    g = _as_rule_takes(builder, node, gs)
    needs = tuple([_wanted(x, needed) for x in args])
    if type(op.vjp) is tuple:
        return [rule(g, node.result, *args, **node.params) if need and rule is not None else None
                for rule, need in zip(op.vjp, needs)]
    return list(op.vjp(g, node.result, *args, needs=needs, **node.params))


def _as_rule_takes(builder, node, gs):
    """Return the gradient alone if one result is differentiable, else a tuple with zeros in the gaps."""
    filled = [_zeros(builder, v) if g is None else g for v, g in zip(node.outputs, gs) if v.dtype.is_inexact]
    return filled[0] if len(filled) == 1 else tuple(filled)


def _zeros(builder, v):
    return builder.call(full, None, shape=v.shape, value=0.0, dtype=v.dtype)


def vjp_graph(graph: Graph, wrt=None) -> Graph:
    """Return the backward graph of `graph`.

    It takes the inputs of `graph`, then one gradient for each differentiable output, and returns the gradient of each input in
    `wrt` (by default every floating point one), zeros where there is no path.
    """
    b = Builder(f"{graph.name}_vjp")
    env = b.inline(graph, b.copy_inputs(graph))
    roots = [v for v in graph.outputs if v.dtype.is_inexact]
    seeds = [b.input(f"grad_{i}", v.aval) for i, v in enumerate(roots)]
    wrt = [v for v in graph.inputs if v.dtype.is_inexact] if wrt is None else list(wrt)
    targets = [env[v] for v in wrt]
    found = gradients(b, [env[v] for v in roots], seeds, targets)
    return b.finish([_zeros(b, v) if g is None else g for v, g in zip(targets, found)])


def grad_graph(graph: Graph, wrt=None) -> Graph:
    """Return forward and backward in one graph.

    It returns the outputs of `graph`, then the gradients of its first output (which has one element) for the inputs in `wrt`.
    Updates are kept.
    """
    b = Builder(f"{graph.name}_grad")
    env = b.inline(graph, b.copy_inputs(graph))
    root = env[graph.outputs[0]]
    if root.aval.size != 1:
        raise AutogradError(f"the gradient of {root.aval} is not implied; only a value of one element has one")
    wrt = [v for v in graph.inputs if v.dtype.is_inexact] if wrt is None else list(wrt)
    targets = [env[v] for v in wrt]
    seed = b.call(full, None, shape=root.shape, value=1.0, dtype=root.dtype)
    found = gradients(b, [root], [seed], targets)
    for u in graph.updates:
        b.update(env[u.target], env[u.value])
    return b.finish([env[v] for v in graph.outputs] + [_zeros(b, v) if g is None else g for v, g in zip(targets, found)])
