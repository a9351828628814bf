"""Drops additions of 0.0 (which turn -0.0 into 0.0) before sums and products, where the sign of zero is lost anyway.

    %1 = add(%0, 0.0)                       %1 = matmul(%0, %w)
    %2 = matmul(%1, %w)                     %2 = sum(%0, dim=(0,))
    %3 = sum(%1, dim=(0,))                  %3 = add(%2, 0.0)

A product accumulates from 0.0, which no zero changes; a sum, -0.0 if all its terms are, gets the addition behind it, on fewer
elements.
"""

import math

from ...ir.graph.graph import Builder, Graph, Node, Value
from ...ir.opdef.op import View
from ...ir.ops.core.elementwise import add
from ...ir.ops.core.reduce import sum_
from ...ir.ops.linalg.products import matmul
from ..rewrite.rewrite import rebuild

_TAKERS = frozenset((matmul, sum_))


def drop_zero_signs(graph: Graph) -> Graph:
    """Drop additions of zero that nothing but products and sums read."""
    left_out: set = set()
    sums: set = set()
    for n in graph.nodes:
        readers = _readers(graph, n.output) if n.op is add and _adds_zero(n) else None
        if readers:
            left_out.add(n)
            sums |= {r for r in readers if r.op is sum_}
    if not left_out:
        return graph

    def visit(b: Builder, node: Node, operands):
        if node in left_out:
            return next(x for x in operands if type(x) is Value)
        return b.append(add, (b.copy_like(node, operands).output, 0.0), {})

    return rebuild(graph, visit, lambda n: n in left_out or n in sums)


def _adds_zero(node) -> bool:
    numbers = [x for x in node.inputs if type(x) is not Value]
    return (len(numbers) == 1 and type(numbers[0]) in (int, float) and numbers[0] == 0 and math.copysign(1.0, numbers[0]) > 0
            and node.output.dtype.is_floating_point)


def _readers(graph, value) -> list | None:
    """Return the products and sums that read a value, through views or not; None if something else does."""
    found: list = []
    stack = [value]
    while stack:
        v = stack.pop()
        if v in graph.results:
            return None
        for n in graph.uses[v]:
            if type(n.op.lower) is View:
                stack.append(n.output)
            elif n.op in _TAKERS:
                found.append(n)
            else:
                return None
    return found
