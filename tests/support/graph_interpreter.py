"""Reference interpreter of graphs: runs node after node on NumPy, by the references of operator records."""

from typing import NamedTuple

import numpy as np

from ingot.ir.dtype import of
from ingot.ir.errors import GraphError, IngotError
from ingot.ir.graph.graph import Graph, Value
from ingot.ir.graph.printer import format_line, format_node, value_names
from ingot.ir.opdef.aval import Aval


class Ran(NamedTuple):
    """The result of running a graph: the outputs, and the new contents of each written input by name."""

    outputs: tuple
    updates: dict


def interpret(graph: Graph, arrays, *, observe=None) -> Ran:
    """Run `graph` on arrays, one for each input; nothing is written in place.

    observe    called with each node and the tuple of its result arrays
    """
    env = dict(zip(graph.inputs, _checked_inputs(graph, arrays)))
    with np.errstate(all="ignore"):
        for node in graph.nodes:
            results = _run_node(graph, node, env)
            env.update(zip(node.outputs, results))
            if observe is not None:
                observe(node, results)
    updates = {u.target.name: env[u.value] for u in graph.updates}
    return Ran(tuple([env[v] for v in graph.outputs]), updates)


def _checked_inputs(graph, arrays):
    arrays = [np.asarray(a) for a in arrays]
    if len(arrays) != len(graph.inputs):
        raise GraphError(f"graph {graph.name} takes {len(graph.inputs)} arrays, got {len(arrays)}")
    for v, a in zip(graph.inputs, arrays):
        given = Aval(a.shape, of(a))
        if given != v.aval:
            raise GraphError(f"input %{v.name} of graph {graph.name} is {v.aval}, got an array of {given}")
    return arrays


def _run_node(graph, node, env):
    try:
        given = node.op.ref(*[env[x] if type(x) is Value else x for x in node.inputs], **node.params)
    except Exception as e:
        raise failure(graph, node, str(e)) from e
    results = tuple([np.asarray(r) for r in (given if node.multi else (given,))])
    for v, r in zip(node.outputs, results):
        got = Aval(r.shape, of(r))
        if got != v.aval:
            raise failure(graph, node, f"the reference gave {got}")
    return results


def failure(graph: Graph, node, reason: str) -> IngotError:
    """Return the error for a node that did not run: the node's text, the user's line, the reason."""
    where = f" at {format_line(node.line, full_paths=True)}" if node.line else ""
    return GraphError(f"{node.op.name}{where} failed: {reason}\n  {format_node(node, value_names(graph))}")
