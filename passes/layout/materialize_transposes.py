"""Materialises operands that elementwise kernels would read across memory.

    %1 = permute(%x)              %1 = permute(%x)
    %2 = add(%1, %y)              %2 = cat(%1)           (a one-part concat: a row-major copy)
                                  %3 = add(%2, %y)

A copy transposes squares in registers, and so reads and writes whole lines. Values that are only reduced stay: reductions
read along whatever dim is contiguous. Where a value is reduced and read by elements, as in softmax, all read the copy; so do
readers that expand it over more elements, which read it again and again.
"""

from collections.abc import Callable

from ...ir.graph.graph import Builder, Graph, Node, Value
from ...ir.opdef.op import Scalar
from ...ir.opdef.params import param_key
from ...ir.ops.core.elementwise import copy
from ...ir.ops.core.shape import cat, contiguous, expand
from ..rewrite.kernel_body import can_fuse, is_free
from ..rewrite.rewrite import rebuild
from .plain_operands import pattern_of

_COPIES = frozenset((copy, contiguous))


def materialize_transposes(graph: Graph, should_copy: Callable) -> Graph:
    """Return the graph with such copies; `should_copy(shape, strides, dtype)` says whether one pays."""
    across = {n: found for n in graph.nodes if can_fuse(n) for found in [_across(n, should_copy)] if found}
    if not across:
        return graph
    worth = {key for n in _into_memory(graph) for key in across.get(n, {}).values()}
    made: dict = {}

    def visit(b: Builder, node: Node, operands):
        keys = across[node]
        operands = [_copied(b, x, keys[i], made) if keys.get(i) in worth else x for i, x in enumerate(operands)]
        return operands[0] if node.op in _COPIES else b.append(node.op, operands, node.params)

    return rebuild(graph, visit, lambda n: not worth.isdisjoint(across.get(n, {}).values()))


def _copied(b, view, key, copies):
    if key not in copies:
        copies[key] = b.append(cat, (view,), {"dim": 0})
    return copies[key]


def _across(node, should_copy) -> dict:
    """Return {number of an operand that is read across memory: its key}."""
    found = {}
    for i, x in enumerate(node.inputs):
        seen = pattern_of(x) if type(x) is Value and is_free(x) else None
        if seen is not None and should_copy(x.shape, seen[1].strides, x.dtype):
            found[i] = seen[0], param_key((seen[1].shape, seen[1].strides, seen[1].offset))
    return found


def _into_memory(graph) -> list:
    """Return the elementwise nodes whose results reach memory by elements, or are expanded over more elements."""
    reaching: dict = {}

    def reaches(value):
        return value in graph.results or any(reaching[n] or n.op is expand for n in graph.uses[value])

    for node in reversed(graph.nodes):
        of_elements = can_fuse(node) and type(node.op.lower) is Scalar
        passed_on = of_elements or any(is_free(v) for v in node.outputs)
        reaching[node] = any(map(reaches, node.outputs)) if passed_on else not can_fuse(node)
    return [n for n in graph.nodes if reaching[n] and can_fuse(n) and type(n.op.lower) is Scalar]
