"""Lifts symbolic numbers among operands into inputs, which are given with each call.

    lifted = lift_numbers(graph); lifted.graph, lifted.numbers

A number that is a parameter becomes an operand where the body of a composite makes it one, or where the record says how
(`Op.by_operand`: attention scales its queries). Elsewhere it stays a parameter, replaced before each run.

An operator on a number and a value takes the number in the value's dtype; so does the 0-d input that replaces it, expanded over
the value's shape. float16 and bfloat16 are computed in float32, as they are with a number, which is rounded to them first.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...ir import dtype as dt
from ...ir.graph.graph import Builder, Graph, Node, Value
from ...ir.opdef.aval import Aval
from ...ir.ops.core.elementwise import cast
from ...ir.ops.core.shape import expand
from ...ir.process_state import ignore_float_errors
from ...ir.symbols.symbolic import SymFloat, SymInt, is_symbol
from ..rewrite.kernel_body import can_fuse, number_kind
from ..rewrite.rewrite import rebuild


@dataclass(frozen=True)
class Lifted:
    """A graph, and the (symbolic number, dtype of the value beside it) of each added input."""

    graph: Graph
    numbers: tuple


def lift_numbers(graph: Graph) -> Lifted:
    """Replace the symbolic operands of fusible nodes, and every number that an argument gives.

    Parameters become operands first, where a record says how.
    """
    graph = rebuild(graph, _with_operands, _has_number_form)
    if not any(_is_lifted(n, x) for n in graph.nodes for x in n.inputs):
        return Lifted(graph, ())
    b = Builder(graph.name)
    env = b.copy_inputs(graph)
    numbers: dict = {}
    for n in graph.nodes:
        if any(_is_lifted(n, x) for x in n.inputs):
            for x in n.inputs:
                if _is_lifted(n, x):
                    _enter(b, numbers, x, number_kind(n)[0])
    for n in graph.nodes:
        operands = [env[x] if type(x) is Value else x for x in n.inputs]
        if any(_is_lifted(n, x) for x in n.inputs):
            with b.at(n.line):
                env[n.output] = _rewritten(b, n, operands, numbers)
        else:
            env.update(zip(n.outputs, b.copy(n, operands).outputs))
    return Lifted(b.finish_like(graph, env), tuple([(x, kind) for x, kind, _ in numbers.values()]))


def _has_number_form(node: Node) -> bool:
    return node.op.by_operand is not None and any(is_symbol(node.params.get(name)) for name in node.op.numbers)


def _with_operands(b: Builder, node: Node, operands):
    rewrite: Any = node.op.by_operand
    return rewrite(*operands, **node.params)


def _is_lifted(node: Node, x) -> bool:
    return is_symbol(x) and (type(x) is SymFloat or can_fuse(node))


def _key(x, kind):
    return (x.poly if type(x) is SymInt else x.text), kind.name


def _number_dtype(kind):
    """Return the dtype in which a real number meets values of a dtype."""
    return dt.float32 if kind in dt.NARROW else dt.PARTS.get(kind, kind)


@ignore_float_errors
def number_array(x, kind) -> np.ndarray:
    """Return the array for an input that replaces a number beside values of a dtype."""
    found = np.asarray(x).astype(kind.np if kind in dt.NARROW else _number_dtype(kind).np)
    return found.astype(np.float32) if kind in dt.NARROW else found


def _enter(b, numbers, x, kind):
    key = _key(x, kind)
    if key not in numbers:
        numbers[key] = x, kind, b.input(f"number{len(numbers)}", Aval((), _number_dtype(kind)), x)


def _rewritten(b, node, operands, numbers):
    kind, wide = number_kind(node)
    made = []
    for x, before in zip(operands, node.inputs):
        if _is_lifted(node, before):
            x = numbers[_key(before, kind)][2]
            if kind is not x.dtype and not wide:
                x = b.append(cast, (x,), {"dtype": kind})
            x = b.append(expand, (x,), {"shape": node.output.shape})
        elif wide and type(x) is Value and x.dtype is kind:
            x = b.append(cast, (x,), {"dtype": dt.float32})
        made.append(x)
    out = b.add_exactly(node.op, made, node.params).output
    return out if out.dtype is node.output.dtype else b.append(cast, (out,), {"dtype": node.output.dtype})
