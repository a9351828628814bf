"""Replaces sums of zero-padded arrays by concats, and remaining pads by concats with zeros.

Gradients of parts come so: three parts of one projection give three full-size arrays, mostly zeros; perhaps beside one more
full-size array. The sum still adds a zero, which turns -0.0 into 0.0, so every bit stays.
"""

import math
from itertools import pairwise

from ...ir.graph.graph import Builder, Graph, Node, Value
from ...ir.ops.core.elementwise import add
from ...ir.ops.core.shape import cat, full, pad
from ...ir.symbols.symbolic import hint
from ..rewrite.rewrite import rebuild


def concat_pads(graph: Graph) -> Graph:
    """Replace each such sum."""
    found = _sums_of_parts(graph)
    if not found:
        return graph
    env: dict = {}

    def visit(b: Builder, node: Node, operands):
        env.update({old: new for old, new in zip(node.inputs, operands) if type(old) is Value})
        if node not in found:
            return None
        dim, spans, full_size = found[node]
        joined = _joined(b, env, node.output, dim, spans)
        if full_size is not None:
            joined = b.append(add, (env[full_size], joined), {})
        return b.append(add, (joined, 0.0), {}) if node.output.dtype.is_floating_point else joined

    return rebuild(graph, visit)


def _sums_of_parts(graph) -> dict:
    """Return {last addition of a sum: (dim, its pads by start, the full-size array or None)}."""
    found: dict = {}
    inside: set = set()
    sums = _sums_of_pads(graph)
    for node in reversed(graph.nodes):
        if node not in sums or node in inside or node.output.dtype.is_complex:
            continue
        leaves, inner = _leaves(graph, node, sums)
        parts = _pads_by_start(node, leaves)
        if parts is not None:
            found[node] = parts
            inside |= inner
    return found


def _sums_of_pads(graph) -> set:
    """Return additions of something to pads, and to other such additions."""
    found: set = set()
    for node in graph.nodes:
        if node.op is add and any(type(x) is Value and x.node is not None and (x.node.op is pad or x.node in found)
                                  for x in node.inputs):
            found.add(node)
    return found


def _leaves(graph, root, sums):
    """Return (the operands of a tree of such additions, its additions below the root)."""
    leaves, inner, stack = [], set(), [root]
    while stack:
        for x in reversed(stack.pop().inputs):
            node = x.node if type(x) is Value else None
            if node in sums and len(graph.uses[x]) == 1 and x not in graph.results:
                inner.add(node)
                stack.append(node)
            else:
                leaves.append(x)
    return leaves, inner


def _pads_by_start(root, leaves):
    """Return (dim, pads by start, at most one full-size array) of two or more disjoint pads along one dim; else None."""
    spans, dims, others = [], set(), []
    for x in leaves:
        if type(x) is not Value or x.aval != root.output.aval:
            return None
        node = x.node
        if node is None or node.op is not pad or not _is_of_zeros(node.params):
            others.append(x)
            continue
        padded = [d for d, (lo, hi) in enumerate(zip(node.params["low"], node.params["high"])) if lo or hi]
        if len(padded) != 1 or min(node.params["low"][padded[0]], node.params["high"][padded[0]]) < 0:
            return None
        dims.add(padded[0])
        start = node.params["low"][padded[0]]
        spans.append((start, start + node.inputs[0].shape[padded[0]], node))
    spans.sort(key=lambda p: p[:2])
    if len(spans) < 2 or len(others) > 1 or len(dims) != 1 or any(a[1] > b[0] for a, b in pairwise(spans)):
        return None
    return dims.pop(), spans, others[0] if others else None


def _is_of_zeros(params):
    value = params.get("value", 0)
    return value == 0 and math.copysign(1.0, value) > 0 and not any(params["interior"])


def _joined(b, env, whole, dim, spans):
    """Return the concat of the parts, with zeros in the gaps."""
    parts, at = [], 0
    for start, end, node in [*spans, (whole.shape[dim], None, None)]:
        if start > at:
            shape = tuple(start - at if d == dim else n for d, n in enumerate(whole.shape))
            parts.append(b.call(full, None, shape=shape, value=0, dtype=whole.dtype))
        if node is not None:
            parts.append(env[node.inputs[0]])
            at = end
    return b.append(cat, tuple(parts), {"dim": dim}) if len(parts) > 1 else parts[0]


def expand_pads(graph: Graph) -> Graph:
    """Replace each remaining pad."""
    return rebuild(graph, _as_join, lambda n: n.op is pad and (_pads_nothing(n) or _dim(n) is not None))


def _pads_nothing(node) -> bool:
    return all(type(n) is int and n == 0 for name in ("low", "high", "interior") for n in node.params[name])


def _dim(node) -> int | None:
    """Return the one dim that is padded, if nothing is cut away and nothing comes between."""
    low, high = node.params["low"], node.params["high"]
    dims = [d for d, (a, b) in enumerate(zip(low, high)) if hint(a) or hint(b)]
    if len(dims) != 1 or any(node.params["interior"]) or min(hint(low[dims[0]]), hint(high[dims[0]])) < 0:
        return None
    return dims[0] if type(low[dims[0]]) is type(high[dims[0]]) is int and 0 not in node.output.shape else None


def _as_join(b: Builder, node: Node, operands):
    if _pads_nothing(node):
        return operands[0]
    x, dim, whole = operands[0], _dim(node), node.output
    ends = []
    for count in (node.params["low"][dim], node.params["high"][dim]):
        shape = tuple([count if d == dim else n for d, n in enumerate(whole.shape)])
        ends.append([b.call(full, None, shape=shape, value=node.params.get("value", 0), dtype=whole.dtype)] if count else [])
    return b.append(cat, (*ends[0], x, *ends[1]), {"dim": dim})
