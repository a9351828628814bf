"""Algebraic simplification that keeps every bit: each rule holds for all values, signed zeros, infinities and nan included.

So x + 0.0 stays (it turns -0.0 into 0.0) while x + -0.0 and x - 0.0 go; x * 0 stays (nan, infinities). Integers and bool allow
more, with a condition in `where`.
"""

import numpy as np

from ...ir.dtype import bool_
from ...ir.graph.graph import Builder, Graph, Node, Value
from ...ir.opdef.op import View
from ...ir.ops.core.complex_numbers import conj, imag, modulus, real
from ...ir.ops.core.elementwise import (
    abs_,
    add,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    cast,
    ceil,
    div,
    eq,
    floor,
    ge,
    gt,
    le,
    logical_and,
    logical_not,
    logical_or,
    lt,
    maximum,
    minimum,
    mul,
    ne,
    neg,
    pow_,
    round_,
    sign,
    square,
    sub,
    trunc,
    where,
)
from ...ir.ops.core.reduce import amax, amin
from ...ir.ops.core.shape import bitcast, full, reshape
from ..rewrite.rewrite import Rule, apply, rebuild
from .canonicalize import is_literal, number_of


def simplify(graph: Graph) -> Graph:
    """Apply the rules until none fits."""
    return apply(graph, RULES)


def _is_real(x):
    return not x.dtype.is_complex


def _is_integral(x):
    return not x.dtype.is_inexact


def _are_integral(x, y):
    return all(_is_integral(v) for v in (x, y) if type(v) is Value)


def _is_bool(x):
    return x.dtype is bool_


def _is_signed_real(x):
    return x.dtype.is_signed and not x.dtype.is_complex


def _is_one(x, dim):
    return all(x.shape[d] == 1 for d in dim)


def _zeros(x):
    return full(x, shape=x.shape, value=0, dtype=x.dtype)


def _chooses(c, x, holds, out):
    """Return whether a condition is known, and the side that it leaves is all of the result."""
    known = number_of(c) if is_literal(c) else c
    return type(known) in (bool, np.bool_) and bool(known) is holds and type(x) is Value and x.aval == out.aval


# A complex number times 1 is computed with 1 + 0i, which turns infinities into nan: identities hold for real values.
IDENTITIES = (
    Rule("times one", find=lambda x: mul(x, 1), where=_is_real, make=lambda x: x),
    Rule("divided by one", find=lambda x: div(x, 1), where=_is_real, make=lambda x: x),
    Rule("plus minus zero", find=lambda x: add(x, -0.0), where=_is_real, make=lambda x: x),
    Rule("integer plus zero", find=lambda x: add(x, 0), where=_is_integral, make=lambda x: x),
    Rule("minus zero", find=lambda x: sub(x, 0), where=_is_real, make=lambda x: x),
    Rule("power of one", find=lambda x: pow_(x, 1), where=_is_real, make=lambda x: x),
    Rule("power of 1.0", find=lambda x: pow_(x, 1.0), where=_is_real, make=lambda x: x),
    Rule("integer times zero", find=lambda x: mul(x, 0), where=_is_integral, make=_zeros),
    Rule("or with zero", find=lambda x: bitwise_or(x, 0), make=lambda x: x),
    Rule("xor with zero", find=lambda x: bitwise_xor(x, 0), make=lambda x: x),
)

SIGNS = (
    Rule("neg of neg", find=lambda x: neg(neg(x)), make=lambda x: x),
    Rule("plus neg", find=lambda x, y: add(x, neg(y)), make=lambda x, y: sub(x, y)),
    Rule("minus neg", find=lambda x, y: sub(x, neg(y)), make=lambda x, y: add(x, y)),
    Rule("neg times neg", find=lambda x, y: mul(neg(x), neg(y)), make=lambda x, y: mul(x, y)),
    Rule("neg over neg", find=lambda x, y: div(neg(x), neg(y)), where=_is_real, make=lambda x, y: div(x, y)),
    Rule("abs of neg", find=lambda x: abs_(neg(x)), where=_is_signed_real, make=lambda x: abs_(x)),
    Rule("square of neg", find=lambda x: square(neg(x)), make=lambda x: square(x)),
    Rule("real part of a conjugate", find=lambda x: real(conj(x)), make=lambda x: real(x)),
    Rule("imaginary part of a conjugate", find=lambda x: imag(conj(x)), make=lambda x: neg(imag(x))),
    Rule("size of a conjugate", find=lambda x: modulus(conj(x)), make=lambda x: modulus(x)),
    Rule("square of abs", find=lambda x: square(abs_(x)), where=_is_real, make=lambda x: square(x)),
)

LOGIC = (
    Rule("not of not", find=lambda x: logical_not(logical_not(x)), where=_is_bool, make=lambda x: x),
    Rule("bits of not of not", find=lambda x: bitwise_not(bitwise_not(x)), make=lambda x: x),
    Rule("and with itself", find=lambda x: logical_and(x, x), where=_is_bool, make=lambda x: x),
    Rule("or with itself", find=lambda x: logical_or(x, x), where=_is_bool, make=lambda x: x),
    Rule("bits and with themselves", find=lambda x: bitwise_and(x, x), make=lambda x: x),
    Rule("bits or with themselves", find=lambda x: bitwise_or(x, x), make=lambda x: x),
    Rule("not of eq", find=lambda x, y: logical_not(eq(x, y)), make=lambda x, y: ne(x, y)),
    Rule("not of ne", find=lambda x, y: logical_not(ne(x, y)), make=lambda x, y: eq(x, y)),
)

# With a nan, "not less" is more than "greater or equal".
ORDERED = tuple(
    Rule(f"not of {a.name}", find=lambda x, y, a=a: logical_not(a(x, y)), where=_are_integral, make=lambda x, y, b=b: b(x, y))
    for a, b in ((lt, ge), (ge, lt), (gt, le), (le, gt))
)

CHOICES = (
    Rule("largest with itself", find=lambda x: maximum(x, x), make=lambda x: x),
    Rule("smallest with itself", find=lambda x: minimum(x, x), make=lambda x: x),
    Rule("choice between equals", find=lambda c, x: where(c, x, x), where=lambda x: type(x) is Value, make=lambda x: x),
    Rule("choice by not", find=lambda c, x, y: where(logical_not(c), x, y), where=lambda c: _is_bool(c),
         make=lambda c, x, y: where(c, y, x)),
    Rule("choice of the first", find=lambda c, x, y: where(c, x, y), where=lambda c, x, out: _chooses(c, x, True, out),
         make=lambda x: x),
    Rule("choice of the second", find=lambda c, x, y: where(c, x, y), where=lambda c, y, out: _chooses(c, y, False, out),
         make=lambda y: y),
    Rule("bool not equal to zero", find=lambda x: ne(x, 0), where=_is_bool, make=lambda x: x),
    Rule("comparison of a cast bool", find=lambda x, d: ne(cast(x, dtype=d), 0), where=lambda x, d: _is_bool(x),
         make=lambda x: x),
    Rule("maximum over size 1", find=lambda x, d, k: amax(x, dim=d, keepdim=k), where=lambda x, d: _is_one(x, d),
         make=lambda x, out: reshape(x, shape=out.shape)),
    Rule("minimum over size 1", find=lambda x, d, k: amin(x, dim=d, keepdim=k), where=lambda x, d: _is_one(x, d),
         make=lambda x, out: reshape(x, shape=out.shape)),
)

ONCE_IS_ENOUGH = tuple(
    Rule(f"{f.name} of {f.name}", find=lambda x, f=f: f(f(x)), make=lambda x, f=f: f(x))
    for f in (abs_, sign, floor, ceil, trunc, round_)
)

RULES = (*IDENTITIES, *SIGNS, *LOGIC, *ORDERED, *CHOICES, *ONCE_IS_ENOUGH)

# Conjugates.


def cancel_conjugates(graph: Graph) -> Graph:
    """Remove conjugates of conjugates, also with views between: gradient rules of complex numbers are conjugated."""
    return rebuild(graph, _cancelled, lambda node: node.op is conj)


def _cancelled(b: Builder, node: Node, operands):
    views, value = [], operands[0]
    while value.node is not None and type(value.node.op.lower) is View and value.node.op is not bitcast:
        views.append(value.node)
        value = value.node.inputs[0]
    if value.node is None or value.node.op is not conj:
        return None
    made = value.node.inputs[0]
    for view in reversed(views):
        made = b.append(view.op, (made,), view.params)
    return made
