"""Compiled code by graph: jobs of the same graph share it.

A loop that runs as long as data says, as an adaptive solver does, gives each of its steps segments of their own, on each path.
Most of these have the same nodes. They are compiled once, for as long as one of the jobs lives.
"""

from dataclasses import astuple, dataclass
from typing import Any

from ...ir import config
from ...ir.graph.graph import Graph, Value
from ...ir.opdef.params import param_key, params_key
from ...ir.source_location import module_of
from ...ir.weak_table import WeakTable


@dataclass(eq=False)
class SharedCode:
    """Result of a compilation: compiled graph, the values of weights alone that it takes, and the graph as recorded."""

    compiled: Any
    derived: Any
    recorded: Any


SHARED = WeakTable()      # {identity of what is compiled: its `SharedCode`}


def identity_of(graph: Graph, wishes, weights) -> tuple:
    """Return the identity of what is compiled: the graph, what is wished of its results, and the ids of the weights among its
    inputs, whose own values may be hoisted. Jobs hold these weights."""
    return _structure_of(graph), wishes, weights, astuple(config.current())


def _structure_of(graph: Graph) -> tuple:
    """Return the identity of a graph, however its values are named. Lines and modules count: errors and profiles name them."""
    number = {v: i for i, v in enumerate(graph.inputs)}
    body = []
    for n in graph.nodes:
        operands = tuple([number[x] if type(x) is Value else (param_key(x),) for x in n.inputs])
        body.append((n.op.name, operands, params_key(n.params), n.line, module_of(n.line)))
        number.update({v: len(number) + i for i, v in enumerate(n.outputs)})
    return tuple([(v.shape, v.dtype) for v in graph.inputs]), tuple(body), tuple([number[v] for v in graph.outputs])
