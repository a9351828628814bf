"""Dead code elimination: removes nodes that no output, update or effect needs, and updates that write back the same value."""

from dataclasses import replace

from ...ir.graph.graph import Graph
from ..rewrite.rewrite import prune


def dce(graph: Graph) -> Graph:
    """Remove dead nodes and updates of an input with itself."""
    updates = tuple([u for u in graph.updates if u.value is not u.target])
    if len(updates) != len(graph.updates):
        graph = replace(graph, updates=updates)
    return prune(graph)
