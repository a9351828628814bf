"""Hoists index checks of updates into operators of their own, which run as early as possible.

    %1 = index_put(%cache, %k, %at)            %0 = in_range(%at, low=-16, high=16)
    %3 = index_put(%other, %v, %at)            %1 = index_put(%cache, %k, %0)
                                               %3 = index_put(%other, %v, %0)

So positions that many layers write to are checked once, and before the first of them is written in place
(`inplace_updates.py`).
"""

from ...ir.graph.graph import Builder, Graph, Node, Value
from ...ir.opdef.params import param_key
from ...ir.ops.index.indexing import in_range


def hoist_index_checks(graph: Graph) -> Graph:
    """Return the graph with the indices of its updates checked at their source."""
    wanted: dict = {}
    for node in graph.nodes:
        for position, *bounds in _bounds(node):
            wanted.setdefault(node.inputs[position], {})[param_key(tuple(bounds))] = bounds
    if not wanted:
        return graph
    b, checked = Builder(graph.name), {}
    env = b.copy_inputs(graph)

    def check(values):
        for v in values:
            for key, (low, high) in wanted.get(v, {}).items():
                checked[v, key] = b.append(in_range, (env[v],), {"low": low, "high": high})

    check(graph.inputs)
    for node in graph.nodes:
        operands = [env[x] if type(x) is Value else x for x in node.inputs]
        for position, *bounds in _bounds(node):
            operands[position] = checked[node.inputs[position], param_key(tuple(bounds))]
        env.update(zip(node.outputs, b.copy_like(node, operands).outputs))
        check(node.outputs)
    return b.finish_like(graph, env)


def may_fail(node: Node) -> bool:
    """Return whether a node may raise, or has an effect that Python may see; an update with checked indices does not."""
    if not node.op.may_refuse(node.inputs):
        return node.has_effect
    places = [node.inputs[position] for position, *_ in _bounds(node)]
    return not places or any(v.node is None or v.node.op is not in_range for v in places)


def _bounds(node) -> list:
    """Return (number of the operand, least index, one more than the largest) of the indices of an update."""
    return node.op.bounds(*node.inputs, **node.params) if node.op.bounds is not None and "updates" in node.op.traits else []
