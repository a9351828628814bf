"""Which parts of a join are written where they will lie: those of operators whose kernels write by strides, and that nothing
but the join reads.
"""

from dataclasses import dataclass

from ....ir.graph import Graph, Value
from ....ir.ops.shape import cat
from ...kernel_body import is_free, source_of
from ...laid_out import STRIDED, TURNS, inverse
from ...strided import row_major, through


@dataclass(frozen=True)
class Part:
    """Where a value lies: in a join, from a start along a dim on, seen through views.

    views   ((op, parameters), ...) from the part of the join to the value
    """

    join: Value
    dim: int
    start: int
    size: int
    views: tuple

    @property
    def cuts(self) -> list:
        """(start, size, step) of the part in each dim of the join."""
        return [(self.start, self.size, 1) if d == self.dim else (0, n, 1) for d, n in enumerate(self.join.shape)]


def parts(graph: Graph) -> dict:
    """{value: its Part}"""
    found: dict = {}
    for node in graph.nodes:
        if node.op is not cat:
            continue
        start, dim = 0, node.params["dim"]
        for x in node.inputs:
            source = source_of(x)
            if source is not None and source.node is not None and source.node.op in STRIDED and source not in found:
                views = _views_back(x, source) if _is_alone(graph, x, source) else None
                if views is not None and _fits(node.output, x, views):
                    found[source] = Part(node.output, dim, start, x.shape[dim], views)
            start += x.shape[dim]
    return found


def _is_alone(graph, value, source) -> bool:
    """Whether a value is read by one node, through the views from it to a value."""
    while True:
        times = sum(x is value for n in graph.uses[value] for x in n.inputs)
        if times != 1 or value in graph.results:
            return False
        if value is source:
            return True
        value = value.node.inputs[0]


def _views_back(value, source) -> tuple | None:
    """The views from a value back to its source, if each shows every element once."""
    views, shapes = [], []
    while value is not source:
        if not is_free(value) or value.node.op not in TURNS:
            return None
        value, view = value.node.inputs[0], (value.node.op, value.node.params)
        views.insert(0, view)
        shapes.insert(0, value.shape)
    return tuple(inverse(views, shapes))


def _fits(join, part, views) -> bool:
    """Whether strides can say where a source's elements are in a join."""
    seen = row_major(join.shape)._replace(shape=tuple(part.shape))
    for op, params in views:
        seen = through(seen, op, params)
        if seen is None:
            return False
    return True
