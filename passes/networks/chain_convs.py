"""Joins consecutive convolutions into one operator that the machine runs for a few rows at a time.

Intermediate images are then never whole: a core computes some rows, reads them while its own cache has them, and replaces them
by the next ones. The sums and their order stay as they are.
"""

from collections.abc import Callable

from ...ir.graph.graph import Builder, Graph
from ...ir.ops.packed.blocked import LAYER, conv_blocked, conv_chain_blocked
from ..rewrite.rewrite import prune


def chain_convs(graph: Graph, cut: Callable) -> Graph:
    """Join the chains that `cut` picks: it maps convolutions, each the only reader of the one before, to lists to be joined."""
    found = [piece for nodes in _runs(graph) for piece in cut(nodes)]
    if not found:
        return graph
    b = Builder(graph.name)
    env = b.copy_inputs(graph)
    ends, inside = {nodes[-1]: nodes for nodes in found}, {n for nodes in found for n in nodes[:-1]}
    for node in graph.nodes:
        if node in ends:
            env[node.output] = _joined(b, env, ends[node])
        elif node not in inside:
            b.copy_into(env, node)
    return prune(b.finish_like(graph, env))


def _runs(graph):
    """Return maximal lists of blocked convolutions, each read by the next alone; an operand of a result's shape ends one."""
    found, last = [], {}        # last: {value: the list whose last convolution makes it}
    for node in graph.nodes:
        if (node.op is not conv_blocked or node.params["lanes"] == 1 or node.params.get("taps")
                or node.output.aval.is_symbolic):
            continue
        nodes = last.pop(node.inputs[0], None)
        if nodes is None:
            found.append(nodes := [])
        nodes.append(node)
        ends = any(v.shape == node.output.shape for v in node.inputs[2:])
        if not ends and len(graph.uses[node.output]) == 1 and node.output not in graph.results:
            last[node.output] = nodes
    return [nodes for nodes in found if len(nodes) > 1]


def _joined(b, env, nodes):
    operands = [env[x] for n in nodes for x in n.inputs[1:]]
    layers = tuple([tuple([n.params[name] for name in LAYER]) for n in nodes])
    with b.at(nodes[-1].line):
        return b.call(conv_chain_blocked, env[nodes[0].inputs[0]], *operands, layers=layers,
                      beside=tuple([len(n.inputs) - 2 for n in nodes]))
