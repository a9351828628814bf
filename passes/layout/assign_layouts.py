"""Assigns dim orders to concats and copies: a value that is read in another order of dims is written in that order.

    %1 = cat(%a, %b, dim=0)                        %1 = permute(%a), %2 = permute(%b)
    %2 = permute(%1)                               %3 = cat(%1, %2, dim=2)
    %3 = reshape(%2)     (a copy, for each         %4 = reshape(%3)     (a view)
                          of its readers)

Permuted concats become concats of permuted parts. Other copies become explicit, once for all readers, so elementwise kernels
write the copy alone. The result of an operator whose kernels write by strides (`STRIDED`) becomes a one-part concat in the
wanted order, read by everything else: the device plan lets the operator write there.
"""

from dataclasses import dataclass

from ...ir.graph.graph import Builder, Graph, Node
from ...ir.opdef.op import View
from ...ir.ops.core.shape import cat, contiguous, permute, reshape
from ...ir.ops.nn.attention import attention, attention_grad, dropped_attention, dropped_attention_grad
from ..rewrite.rewrite import rebuild
from ..rewrite.strided import Pattern, row_major, through

STRIDED = frozenset((attention, attention_grad, dropped_attention, dropped_attention_grad))
TURNS = frozenset((permute, reshape))         # views that show every element once


def assign_layouts(graph: Graph) -> Graph:
    """Return the graph with copies at their source, in the order in which they are read."""
    return _written_as_read(_explicit_copies(_permuted_concats(graph)))


# Joins.


def _permuted_concats(graph):
    permutes_of = {n.output: reader for n in graph.nodes if n.op is cat for reader in [_only_permute(graph, n.output)]
              if reader is not None}
    if not permutes_of:
        return graph
    parts: dict = {}
    permutes = set(permutes_of.values())

    def visit(b: Builder, node: Node, operands):
        if node.op is cat:
            parts[node.output] = operands
            return None
        dims = node.params["dims"]
        joined = node.inputs[0]
        pieces = [b.append(permute, (x,), {"dims": dims}) for x in parts[joined]]
        return b.append(cat, tuple(pieces), {"dim": dims.index(joined.node.params["dim"])})

    return rebuild(graph, visit, lambda n: n in permutes or n.outputs[0] in permutes_of)


def _only_permute(graph, value):
    readers = graph.uses[value]
    return readers[0] if len(readers) == 1 and readers[0].op is permute and value not in graph.results else None


# Copies.


def _explicit_copies(graph):
    found = {n for n in graph.nodes if n.op is reshape and _is_copy(n)}

    def visit(b: Builder, node: Node, operands):
        return b.append(reshape, (b.append(contiguous, (operands[0],), {}),), node.params)

    return rebuild(graph, visit, found.__contains__)


def _is_copy(node) -> bool:
    """Return whether a reshape needs a copy: strides cannot say its order."""
    seen = _pattern(node.inputs[0])
    return seen is not None and through(seen, reshape, node.params) is None


def _pattern(value) -> Pattern | None:
    """Return the strided pattern of a value in the memory behind it; None where strides cannot say it."""
    if value.node is None or type(value.node.op.lower) is not View:
        return row_major(value.shape)
    before = _pattern(value.node.inputs[0])
    return None if before is None else through(before, value.node.op, value.node.params)


# Operators that write by strides.


@dataclass(frozen=True)
class _Copy:
    """A wanted copy: the views that lead to it, and its readers."""

    views: tuple
    readers: frozenset


def _written_as_read(graph):
    wanted = {v: copy for n in graph.nodes if n.op in STRIDED for v in n.outputs for copy in [_copy_of(graph, v)]
              if copy is not None}
    copies = {n: v for v, copy in wanted.items() for n in copy.readers}
    joined: dict = {}

    def visit(b: Builder, node: Node, operands):
        if node in copies:
            return joined[copies[node]]
        found = list(b.copy_like(node, operands).outputs)
        for i, v in enumerate(node.outputs):
            if v in wanted:
                joined[v], found[i] = _one_part_concat(b, found[i], wanted[v].views)
        return tuple(found) if node.multi else found[0]

    return rebuild(graph, visit, lambda n: n in copies or any(v in wanted for v in n.outputs))


def _copy_of(graph, value) -> _Copy | None:
    """Return the copy of a value that only exists inside the graph, if it has one."""
    stack, copies = [value], []
    while stack:
        v = stack.pop()
        if v in graph.results:
            return None
        for n in graph.uses[v]:
            if n.op in TURNS:
                stack.append(n.output)
            elif n.op is contiguous:
                copies.append(n)
    if not copies:
        return None
    views = _views(copies[0].inputs[0], value)
    if not views:
        return None
    return _Copy(views, frozenset([n for n in copies if _views(n.inputs[0], value) == views]))


def _views(value, source) -> tuple:
    found: list = []
    while value is not source:
        found.append((value.node.op, value.node.params))
        value = value.node.inputs[0]
    return tuple(found[::-1])


def _one_part_concat(b, value, views) -> tuple:
    """Return (a one-part concat in the order that views show, the value as a view of it)."""
    shapes, seen = [], value
    for op, params in views:
        shapes.append(seen.shape)
        seen = b.append(op, (seen,), params)
    joined = seen = b.append(cat, (seen,), {"dim": 0})
    for op, params in inverse(views, shapes):
        seen = b.append(op, (seen,), params)
    return joined, seen


def inverse(views, shapes) -> list:
    """Return the views that undo others, given the shapes before each."""
    found = []
    for (op, params), shape in zip(reversed(views), reversed(shapes)):
        if op is permute:
            dims = params["dims"]
            found.append((permute, {"dims": tuple(sorted(range(len(dims)), key=dims.__getitem__))}))
        else:
            found.append((reshape, {"shape": shape}))
    return found
