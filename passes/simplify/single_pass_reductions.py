"""Joins sums about a sweep's mean or maximum into that sweep, for backends whose kernels read memory in each sweep.

Sums of squares about the mean join the sweep that finds the mean:

    s = sum(x)                                  s = sum(x)
    c = x - s / n                ->             q = spread(x)
    q = sum(c * c)

A `spread` is summed in parts, each about its own mean, which are joined by Chan's formula. Variances of every kind are such
sums: those of normalisations over batches, groups and rows, var and std.

Sums of exponentials below the maximum join the sweep that finds the maximum:

    m = max(x)                                  m = max(x)
    e = exp(x - m)               ->             s = exp_sum(x)
    s = sum(e)

An `exp_sum` is summed in parts, each about its own maximum, and rescaled when a larger one comes. Those of softmax,
log_softmax and cross entropy are such sums, and that of logsumexp, which takes 0 for an m that is not finite (then exp(m)).
"""

import copy
import itertools
import math
from dataclasses import dataclass

from ...ir.kernel.kernel import CAST, CONST, EXP_SUM, FOLD, LOAD, SPREAD
from ...ir.ops.core import elementwise as ew
from ...ir.symbols.substitute import is_same
from ..rewrite.kernel_body import CALL, INDEX, Body, Term


@dataclass(frozen=True)
class _Found:
    """A sum of `kind` over x; if there is a `finite`, only where that holds, and exp(top) elsewhere."""

    kind: str
    x: Term
    top: Term | None = None
    finite: Term | None = None


def join_sweeps(body: Body) -> Body:
    """Return the body with as few sweeps as possible, or the same object."""
    count = math.prod([body.shape[d] for d in body.reduced])
    found = {t: x for t in body.terms if (x := _spread_over(t, count) or _exponentials_of(t, body.reduced)) is not None}
    if not found:
        return body
    made: dict = {}
    order: list = []
    numbers = itertools.count(1 + max([t.number for t in body.terms]))

    def term(kind, like, args, attr, number):
        depth = max([a.depth for a in args], default=0) + (kind == FOLD)
        order.append(Term(kind, like.dtype, tuple(args), attr, like.row, depth, like.cost, number))
        return order[-1]

    for t in body.terms:
        how = found.get(t)
        if how is None:
            made[t] = term(t.kind, t, [made[a] for a in t.args], t.attr, t.number)
            continue
        made[t] = term(FOLD, t, [made[how.x]], how.kind, next(numbers) if how.finite else t.number)
        if how.finite:
            whole = term(CALL, t, [made[how.top]], ew.exp.name, next(numbers))
            made[t] = term(CALL, t, [made[how.finite], made[t], whole], ew.where.name, t.number)
    changed = copy.copy(body)
    changed.results = {v: made[t] for v, t in body.results.items()}
    changed.terms = _needed(changed.results.values(), order)
    return changed


def _spread_over(t, count) -> _Found | None:
    """Return x of a term that sums the squares of x less its mean over `count` elements."""
    centred = _squared(t.args[0]) if t.kind == FOLD and t.attr == "sum" and t.dtype.is_floating_point else None
    if centred is None or not _calls(centred, ew.sub):
        return None
    x, mean = centred.args
    return _Found(SPREAD, x) if not x.row and _is_mean(mean, x, count) else None


def _exponentials_of(t, reduced) -> _Found | None:
    """Return the exponentials of x less its maximum (0 if not finite) that a term sums; both may mask the end of a row."""
    if t.kind != FOLD or t.attr != "sum" or not t.dtype.is_floating_point:
        return None
    each, mask = t.args[0], None
    if _calls(each, ew.where) and _is_number(each.args[2], 0.0):
        mask, each, _ = each.args
    if not _calls(each, ew.exp) or not _calls(each.args[0], ew.sub):
        return None
    x, top = each.args[0].args
    finite = None
    if _calls(top, ew.where) and _calls(top.args[0], ew.isfinite) and _is_number(top.args[2], 0.0):
        finite, top, _ = top.args
    if x.row or top.kind != FOLD or top.attr != "max" or (finite is not None and finite.args != (top,)):
        return None
    of, = top.args
    fits = of is x if mask is None else _is_first(mask, reduced) and _is_below(of, mask, x)
    return _Found(EXP_SUM, of, top, finite) if fits else None


def _is_first(mask, reduced) -> bool:
    """Return whether a condition holds for the first elements of each row, one at least, and for no others."""
    if not _calls(mask, ew.lt) or mask.args[1].kind != CONST or not mask.args[1].attr > 0:
        return False
    index, = mask.args[0].args if mask.args[0].kind == CAST else mask.args[:1]
    return index.kind == INDEX and all(d in reduced for d, step in enumerate(index.attr.strides) if step)


def _is_below(term, mask, x) -> bool:
    """Return whether a term is x, and below everything where a mask is false."""
    return _calls(term, ew.where) and term.args[:2] == (mask, x) and _is_number(term.args[2], -math.inf)


def _is_number(term, number) -> bool:
    return term.kind == CONST and term.attr == number


def _squared(t) -> Term | None:
    if _calls(t, ew.square):
        return t.args[0]
    return t.args[0] if _calls(t, ew.mul) and t.args[0] is t.args[1] else None


def _is_mean(term, x, count) -> bool:
    if not _calls(term, ew.div):
        return False
    total, n = term.args
    return total.kind == FOLD and total.attr == "sum" and total.args == (x,) and _is_count(n, count)


def _is_count(term, count) -> bool:
    """Return whether a term is a count: a number, or the input that stands for a symbolic one."""
    if term.kind == LOAD:
        value, _ = term.attr
        return value.number is not None and is_same(value.number, count)
    return term.kind == CONST and type(count) is int and term.attr == term.dtype.np.type(count)


def _calls(term, op) -> bool:
    return term.kind == CALL and term.attr == op.name


def _needed(results, terms) -> list:
    """Return the terms that results are computed from, in order."""
    seen, stack = set(), list(results)
    while stack:
        t = stack.pop()
        if t not in seen:
            seen.add(t)
            stack += t.args
    return [t for t in terms if t in seen]
