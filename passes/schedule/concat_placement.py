"""Places parts of a concat in its memory: fused kernels and strided operators write them there, if only the concat reads
them."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from ...ir.graph.graph import Graph, Value
from ...ir.opdef.op import OPS
from ...ir.ops.core.shape import cat
from ..fusion.lower import Loops
from ..layout.assign_layouts import STRIDED, TURNS, inverse
from ..rewrite.kernel_body import Unfit, source_of
from ..rewrite.strided import Pattern, row_major, through


@dataclass(frozen=True)
class Part:
    """The place of a value: in a concat, from a start along a dim on, seen through views.

    views   ((name of an operator, parameters), ...) from the part of the concat to the value
    """

    concat: Value
    dim: int
    start: int
    size: int
    views: tuple

    @property
    def cuts(self) -> list:
        """Return (start, size, step) of the part in each dim of the concat."""
        return [(self.start, self.size, 1) if d == self.dim else (0, n, 1) for d, n in enumerate(self.concat.shape)]

    def pattern(self) -> Pattern | None:
        """Return the pattern of the value's elements, from its first one on; None where strides cannot say it."""
        shape = list(self.concat.shape)
        shape[self.dim] = self.size
        return _through(Pattern(tuple(shape), row_major(self.concat.shape).strides), self.operators)

    @property
    def operators(self) -> list:
        """Return (operator, parameters) of the views."""
        return [(OPS[name], params) for name, params in self.views]


def parts(graph: Graph, nodes, bodies: dict, readers: Counter) -> dict:
    """Return {value: its Part}.

    It takes the called nodes, {value: the body of the kernel that stores it}, and how often steps read each value.
    """
    found: dict = {}
    left = {source_of(v) for v in graph.outputs}
    for node in nodes:
        start, dim = 0, node.params.get("dim", 0)
        for x in node.inputs if node.op is cat else ():
            source: Any = source_of(x)
            views = _views_back(x, source) if source not in left and readers[source] == 1 else None
            if views is not None:
                part = Part(node.output, dim, start, x.shape[dim], views)
                if part.pattern() is not None and _is_written(source, part, bodies):
                    found[source] = part
            start += x.shape[dim]
    return found


def patterns(body, placements: dict) -> dict:
    """Return {value: the pattern over a kernel's shape in which it is written} of parts of concats."""
    return {v: _over(body, v, placements[v]) for v in body.results if v in placements}


def _is_written(value, part, bodies) -> bool:
    """Return whether the kernel that makes a value can write it as a part of a concat."""
    if value in bodies:
        return _over(bodies[value], value, part) is not None
    return value.node is not None and value.node.op in STRIDED


def _over(body, value, part) -> Pattern | None:
    """Return the pattern in which a kernel writes a value there, None if it cannot."""
    try:
        seen = _through(part.pattern(), body.way_to(value))
        if seen is not None and body.reduced:
            Loops(body, {value: seen.plain})
    except Unfit:
        return None
    return seen and seen.plain


def _through(pattern, views) -> Pattern | None:
    for op, params in views:
        if pattern is None:
            return None
        pattern = through(pattern, op, params)
    return pattern


def _views_back(value, source) -> tuple | None:
    """Return the views from a value back to its source, if there is one and each shows every element once."""
    views, shapes = [], []
    while value is not source:
        if source is None or value.node.op not in TURNS:
            return None
        value, view = value.node.inputs[0], (value.node.op, value.node.params)
        views.insert(0, view)
        shapes.insert(0, value.shape)
    return tuple([(op.name, params) for op, params in inverse(views, shapes)])
