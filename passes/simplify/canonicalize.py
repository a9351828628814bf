"""Canonicalisation: one form for each meaning, so that later passes look for one form.

Literals that fill a value become Python numbers, numbers stand to the right of commutative operators, views and casts that
change nothing disappear, chains of views and casts become one, and constants depend on nothing.
"""

import functools
from collections import Counter

import numpy as np

from ...ir.dtype import BOOL
from ...ir.errors import IngotError
from ...ir.graph.graph import Builder, Graph, Node, Value
from ...ir.interrupts import raise_interrupt
from ...ir.opdef.op import Op, View
from ...ir.ops.core.elementwise import cast, copy
from ...ir.ops.core.elementwise_rules import NUMBERS
from ...ir.ops.core.shape import expand, full, permute, reshape, slice_
from ...ir.symbols.substitute import is_same
from ..rewrite.rewrite import Rule, apply, rebuild


def canonicalize(graph: Graph) -> Graph:
    """Bring a graph into the one form that later passes expect."""
    while True:
        before = graph
        graph = apply(rebuild(graph, _visit, _has_literals), VIEW_RULES)
        graph = drop_copies(graph)
        if graph is before:
            return graph


# Literals.


def _has_literals(node: Node) -> bool:
    """Return whether a node makes or reads literals that may have another form."""
    if is_fill(node):
        return node.inputs[0] is not None
    return node.op.is_elementwise and (any(map(is_literal, node.inputs)) or type(node.inputs[0]) in NUMBERS)


def _visit(b: Builder, node: Node, operands):
    if is_fill(node):
        return b.call(node.op, None, **node.params) if node.inputs[0] is not None else None
    if node.op.is_elementwise:
        better = _literals_to_right(node, _literals_as_numbers(node, operands))
        if better != operands:
            return b.append(node.op, better, node.params)
    return None


def is_fill(node: Node) -> bool:
    """Return whether a node makes a value from parameters alone; its operand only lends the device."""
    return _fills(node.op)


@functools.cache
def _fills(op: Op) -> bool:
    return op.lower == full.lower


def is_literal(x) -> bool:
    """Return whether a value is one number everywhere."""
    return type(x) is Value and x.node is not None and x.node.op is full


def _literals_as_numbers(node, operands):
    """Return the operands with fills as Python numbers, as long as the result's type stays."""
    for i, x in enumerate(operands):
        if not is_literal(x):
            continue
        trial = [*operands[:i], number_of(x), *operands[i + 1:]]
        if any(type(y) is Value for y in trial) and _gives_same(node, trial):
            operands = trial
    return operands


def number_of(x: Value):
    """Return the number that fills `x`, as a Python number that converts to x's dtype and back without change."""
    return np.asarray(x.node.params["value"], x.dtype.np).tolist()


def _gives_same(node, operands):
    """Return whether the shape rule gives the declared type, and a number would mean the dtype that its value had."""
    avals = [x.aval if type(x) is Value else x for x in operands]
    dtypes = {x.dtype for x in node.inputs if type(x) is Value}
    try:
        given = node.op.infer(*avals, **node.params)
    except (IngotError, TypeError, AttributeError) as error:
        raise_interrupt(error, node.op.infer, *avals, **node.params)
        return False
    return given == node.output.aval and (len(dtypes) == 1 or _keeps_dtypes(node, operands))


def _keeps_dtypes(node, operands):
    """Return whether each operand dtype of a mixed operator is still there as a value, so numbers have one to take."""
    return {x.dtype for x in operands if type(x) is Value} == {x.dtype for x in node.inputs if type(x) is Value}


def _literals_to_right(node, operands):
    if len(operands) == 2 and "commutative" in node.op.traits and type(operands[0]) in NUMBERS:
        return operands[::-1]
    return operands


# Copies.


def drop_copies(graph: Graph) -> Graph:
    """Remove copies inside a graph.

    A copy that leaves the graph stays where its source has no memory of its own to give: an input, a view, a value that leaves
    elsewhere.
    """
    copies = [n for n in graph.nodes if n.op is copy]
    if not copies:
        return graph
    results = [*graph.outputs, *[u.value for u in graph.updates]]
    leaving = Counter([_behind(v.node.inputs[0] if v.node is not None and v.node.op is copy else v) for v in results])
    needed = {n for n in copies if n.output in graph.results and not _is_alone(n.inputs[0], leaving)}
    return rebuild(graph, lambda b, node, operands: operands[0] if node.op is copy and node not in needed else None)


def _is_alone(value, leaving):
    """Return whether a value has memory of its own, and is that of one result."""
    return value.node is not None and not is_fill(value.node) and _behind(value) is value and leaving[value] == 1


def _behind(value: Value) -> Value:
    while value.node is not None and type(value.node.op.lower) is View:
        value = value.node.inputs[0]
    return value


# Views and casts.


def _holds_all(small, large) -> bool:
    """Return whether every value of dtype `small` is one of `large`, so that going through `large` loses nothing."""
    if small is large or small.kind == BOOL:
        return True
    if small.is_complex or large.is_complex:
        return small.is_complex and large.is_complex and small.itemsize <= large.itemsize
    if large.is_floating_point:
        return _float_holds(small, large)
    if small.kind == large.kind:
        return small.itemsize <= large.itemsize
    return small.kind < large.kind and small.itemsize < large.itemsize


_DIGITS = {"float8_e4m3fn": 4, "float8_e5m2": 3, "float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
_EXPONENT = {"float8_e4m3fn": 4, "float8_e5m2": 5, "float16": 5, "bfloat16": 8, "float32": 8, "float64": 11}


def _float_holds(small, large):
    if small.is_floating_point:
        return _DIGITS[small.name] <= _DIGITS[large.name] and _EXPONENT[small.name] <= _EXPONENT[large.name]
    bits = 8 * small.itemsize - (1 if small.is_signed else 0)
    return bits <= _DIGITS[large.name]


def _through_is_direct(x, middle, out) -> bool:
    """Return whether x -> middle -> out is x -> out: no loss, and no float to integer, which varies by machine out of range."""
    return _holds_all(x.dtype, middle) and (out.dtype.is_inexact or not (x.dtype.is_inexact or middle.is_inexact))


def _join_slices(x, dim, start, step, start2, stop2, step2, out):
    first = start + start2 * step
    count = out.shape[dim]
    return slice_(x, dim=dim, start=first, stop=first + (count - 1) * step * step2 + 1 if count else first, step=step * step2)


VIEW_RULES = (
    Rule("reshape to the same shape", find=lambda x, s: reshape(x, shape=s), where=lambda x, s: is_same(x.shape, s),
         make=lambda x: x),
    Rule("expand to the same shape", find=lambda x, s: expand(x, shape=s), where=lambda x, s: is_same(x.shape, s),
         make=lambda x: x),
    Rule("permute in order", find=lambda x, d: permute(x, dims=d), where=lambda d: d == tuple(range(len(d))), make=lambda x: x),
    Rule("cast to the same dtype", find=lambda x, d: cast(x, dtype=d), where=lambda x, d: x.dtype is d, make=lambda x: x),
    Rule("slice of everything", find=lambda x, d, a, o, s: slice_(x, dim=d, start=a, stop=o, step=s),
         where=lambda x, out: is_same(x.shape, out.shape), make=lambda x: x),
    Rule("reshape of reshape", find=lambda x, s, t: reshape(reshape(x, shape=s), shape=t),
         make=lambda x, t: reshape(x, shape=t)),
    Rule("expand of expand", find=lambda x, s, t: expand(expand(x, shape=s), shape=t), make=lambda x, t: expand(x, shape=t)),
    Rule("permute of permute", find=lambda x, d, e: permute(permute(x, dims=d), dims=e),
         make=lambda x, d, e: permute(x, dims=tuple(d[i] for i in e))),
    Rule("permute of dimensions of size 1", find=lambda x, d: permute(x, dims=d),
         where=lambda x, d: d != tuple(range(len(d))) and _keeps_order(x, d), make=lambda x, out: reshape(x, shape=out.shape)),
    Rule("slice of slice", find=lambda x, d, a, o, s, b, p, t: slice_(slice_(x, dim=d, start=a, stop=o, step=s),
                                                                      dim=d, start=b, stop=p, step=t),
         make=lambda x, d, a, s, b, p, t, out: _join_slices(x, d, a, s, b, p, t, out)),
    Rule("cast of cast", find=lambda x, d, e: cast(cast(x, dtype=d), dtype=e),
         where=lambda x, d, out: _through_is_direct(x, d, out), make=lambda x, e: cast(x, dtype=e)),
)


def _keeps_order(x, dims):
    long = [d for d in dims if x.shape[d] != 1]
    return long == sorted(long)
