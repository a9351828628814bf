"""Constant folding: computes nodes that depend on literals alone.

Only exact operators are folded, so that the bits are those of a kernel, and only into small or uniform literals: arrays that
the program captured are inputs and never folded. Packed weights are in the order of a machine's kernel, which no reference
knows.
"""

import numpy as np

from ...ir.graph.graph import Builder, Graph, Node, Value
from ...ir.opdef.op import View
from ...ir.ops.core.shape import LARGEST_LITERAL, constant, full
from ...ir.process_state import ignore_float_errors
from ...ir.reference.scalar_functions import is_uniform
from ...ir.symbols.substitute import has_symbols
from ..rewrite.rewrite import rebuild
from .canonicalize import is_fill, is_literal


def fold_constants(graph: Graph) -> Graph:
    """Compute the nodes whose operands are literals."""
    known: set = set()

    def depends_on_literals(node):
        """Whether a node is a literal once those before it are."""
        if is_fill(node) or "exact" not in node.op.traits or "packs" in node.op.traits or not node.is_pure:
            return False
        values = [x for x in node.inputs if type(x) is Value]
        if node.op.is_elementwise and any([v.dtype.is_complex for v in (*values, *node.outputs)]):  # noqa: C419
            return False            # (numpy rounds in its own way)
        if not values or not all([v.node in known or (v.node is not None and is_fill(v.node)) for v in values]):  # noqa: C419
            return False
        known.add(node)
        return True

    return rebuild(graph, _visit, depends_on_literals)


def _visit(b: Builder, node: Node, operands):
    values = [x for x in operands if type(x) is Value]
    if not all(v.node is not None and is_fill(v.node) for v in values):
        return None
    if all(map(is_literal, values)) and not node.multi:
        folded = _fold_uniform(b, node, operands)
        if folded is not None:
            return folded
    return _fold_small(b, node, operands)


def _fold_uniform(b, node, operands):
    """Fold an elementwise operator or a view of uniform values into a uniform value."""
    out = node.output
    if type(node.op.lower) is View and out.dtype is operands[0].dtype:
        return b.call(full, None, shape=out.shape, value=operands[0].node.params["value"], dtype=out.dtype)
    if not node.op.is_elementwise or _comes_later(operands):
        return None
    one = [full.ref(None, **{**x.node.params, "shape": ()}) if type(x) is Value else x for x in operands]
    return _literal(b, _run(node, one), out)


def _comes_later(operands) -> bool:
    """Return whether a number is symbolic, beside a value or in one, so that it comes with each call."""
    return has_symbols(tuple([x.node.params.get("value") if type(x) is Value else x for x in operands]))


def _literal(b, result, out):
    number = np.asarray(result).reshape(()).tolist()
    return b.call(full, None, shape=out.shape, value=number, dtype=out.dtype)


def _fold_small(b, node, operands):
    avals = [v.aval for v in (*[x for x in operands if type(x) is Value], *node.outputs)]
    if any(a.is_symbolic for a in avals) or max(a.size for a in avals) > LARGEST_LITERAL or _comes_later(operands):
        return None
    given = _run(node, [x.node.op.ref(None, **x.node.params) if type(x) is Value else x for x in operands])
    results = tuple([np.asarray(r) for r in (given if node.multi else (given,))])
    if any(r.shape != v.shape or r.dtype != v.dtype.np for r, v in zip(results, node.outputs)):
        return None
    folded = tuple([_as_literal(b, r, v) for r, v in zip(results, node.outputs)])
    return folded if node.multi else folded[0]


def _as_literal(b, array, out):
    if is_uniform(array) or array.size == 0:
        value = array.reshape(-1)[0] if array.size else np.zeros((), array.dtype)
        return _literal(b, value, out)
    return b.call(constant, None, values=tuple(array.reshape(-1).tolist()), shape=out.shape, dtype=out.dtype)


@ignore_float_errors
def _run(node, arrays):
    return node.op.ref(*arrays, **node.params)
