"""Decomposes composites into their bodies.

A composite of float16 or bfloat16 values is computed in float32 and rounded once at the end, as the references do, unless its
body holds a contraction or another template (those take low-precision operands and accumulate in float32 themselves).
"""

from ...ir import dtype as dt
from ...ir.errors import GraphError
from ...ir.graph.graph import Builder, Graph, Node, Value
from ...ir.opdef.aval import named_type
from ...ir.opdef.op import Composite, Op, Reduce, Scalar, View
from ...ir.ops.core.elementwise import cast
from ...ir.ops.core.shape import full
from ..rewrite.pass_manager import required
from ..rewrite.rewrite import rebuild

_LOW = (dt.float16, dt.bfloat16)


@required
def decompose(graph: Graph, keep=frozenset()) -> Graph:
    """Replace every composite by its body, down to operators that are none. Those in `keep` stay whole."""
    if not any(_is_composite(n.op, keep) for n in graph.nodes):
        return graph

    def visit(b: Builder, node: Node, operands):
        return expand_body(b, node, operands, keep) if _is_composite(node.op, keep) else None

    return rebuild(graph, visit)


def _is_composite(op: Op, keep):
    return type(op.lower) is Composite and op not in keep


def expand_body(b: Builder, node: Node, operands, keep=frozenset()):
    """Append the decomposed body of a composite node; return its results."""
    body = body_graph(node, wide=False, keep=keep)
    if any(type(x) is Value and x.dtype in _LOW for x in node.inputs) and all(_rounds_once(n.op) for n in body.nodes):
        body = body_graph(node, wide=True, keep=keep)
    inputs = [x for x in operands if type(x) is Value]
    env = b.inline(body, dict(zip(body.inputs, inputs)))
    results = tuple([env[v] for v in body.outputs])
    return results if node.multi else results[0]


def body_graph(node: Node, *, wide: bool, keep=frozenset()) -> Graph:
    """Return the body of a composite node as a graph of its own, with nested composites decomposed too."""
    b = Builder(node.op.name)
    args = [b.input(f"arg{i}", x.aval) if type(x) is Value else x for i, x in enumerate(node.inputs)]
    if wide:
        args = [cast(x, dtype=dt.float32) if type(x) is Value and x.dtype in _LOW else x for x in args]
    results = node.op.lower.body(*args, **node.params)
    results = results if type(results) is tuple else (results,)
    return decompose(b.finish([_fit(node, v, g) for v, g in zip(node.outputs, results, strict=True)]), keep)


def _fit(node, declared, value):
    if value.dtype is not declared.dtype:
        value = cast(value, dtype=declared.dtype)
    if value.aval != declared.aval:
        raise GraphError(f"the body of {node.op.name} gives {named_type(value.aval)}, its shape rule says "
                         f"{named_type(declared.aval)}")
    return value


def _rounds_once(op):
    """Return whether an operator may as well run in float32 inside a fused kernel: no template but a fill."""
    return type(op.lower) in (Scalar, Reduce, View) or op.lower == full.lower
