"""Materialises operands of native operators: views that native code cannot read become copies.

The copy is an operator of its own (`contiguous`), so it joins the kernel that makes the value, where there is one. `reads` says
how an operator's code reads its operands: None without code. Generated loops read any strides.
"""

from collections.abc import Callable

from ...ir.graph.graph import Builder, Graph, Node, Value
from ...ir.ops.core.shape import bitcast, contiguous, full
from ..rewrite.kernel_body import can_fuse, is_free, source_of
from ..rewrite.rewrite import rebuild
from ..rewrite.strided import Pattern, row_major, through

STRIDED = "strided"     # any strides
ROWS = "rows"           # any strides, elements of the last dim next to each other
PLAIN = "plain"         # in C order
LOOPS = "loops"         # any strides, and fills


def materialize_operands(graph: Graph, reads: Callable) -> Graph:
    """Put copies before operators that could not read their operands."""
    def visit(b: Builder, node: Node, operands):
        how = how_of(node)
        if how is None or not any(type(x) is Value and not _readable(x, how) for x in node.inputs):
            return None
        return b.append(node.op, [readable(b, x, how, copies) if type(x) is Value else x for x in operands], node.params)

    def how_of(node):
        return LOOPS if can_fuse(node) else reads(node)

    copies: dict = {}
    return rebuild(graph, visit) if any(how_of(n) is not None for n in graph.nodes) else graph


def readable(b: Builder, value: Value, how: str, copies: dict) -> Value:
    """Return a value in a form that code of these reads accepts; `copies` caches earlier copies."""
    if _readable(value, how):
        return value
    views = _strided(value)[2]
    start = views[0].inputs[0] if views else value
    if views and views[0].op is bitcast:        # no strides say that, whatever it is of
        start, views = views[0].output, views[1:]
    if start not in copies:
        copies[start] = b.append(contiguous, (start,), {})
    made = copies[start]
    for node in views:
        made = b.append(node.op, (made,), node.params)
    return readable(b, made, how, copies)


def pattern_of(value: Value) -> tuple[Value, Pattern] | None:
    """Return (the value behind the views, its strided pattern); None for a fill, or where strides cannot say it."""
    source, pattern, rest = _strided(value)
    return None if rest or is_free(source) else (source, pattern)


def _strided(value):
    """Return the value behind views (or the fill), the pattern that strides can say, and the views from the first that they
    cannot say on, to apply to a copy of the value before."""
    chain = []
    while is_free(value) and value.node.op is not full:
        chain.append(value.node)
        value = value.node.inputs[0]
    chain.reverse()
    pattern = row_major(value.shape)
    for i, node in enumerate(chain):
        seen = through(pattern, node.op, node.params)
        if seen is None:
            return value, pattern, chain[i:]
        pattern = seen
    return value, pattern, []


def _readable(value, how):
    if not is_free(value):
        return True
    found = pattern_of(value)
    if found is None:
        return how == LOOPS and source_of(value) is None
    pattern = found[1].plain
    if how == PLAIN:
        return pattern.strides == row_major(pattern.shape).plain.strides
    return how in (STRIDED, LOOPS) or not pattern.shape or pattern.strides[-1] == 1 or pattern.shape[-1] == 1
