"""Sums of squares about the mean join the sweep that finds the mean, for backends whose kernels read memory in each sweep:

    s = sum(x)                                  s = sum(x)
    c = x - s / n                ->             q = spread(x)
    q = sum(c * c)

A `spread` is added up in parts, each about its own mean, and these are joined by Chan's formula. Variances of every kind are
such sums: those of normalisations over batches, groups and rows, var and std.
"""

import copy
import math

from ..ir.kernel import CONST, FOLD, SPREAD
from ..ir.ops import elementwise as ew
from .kernel_body import CALL, Body, Term


def one_sweep(body: Body) -> Body:
    """The body with as few sweeps as that allows, or the same object."""
    count = math.prod([body.shape[d] for d in body.reduced])
    found = {t: x for t in body.terms if (x := _spread_over(t, count)) is not None}
    if not found:
        return body
    made: dict = {}
    for t in body.terms:
        kind = SPREAD if t in found else t.attr
        args = tuple([made[a] for a in ((found[t],) if t in found else t.args)])
        depth = max([a.depth for a in args], default=0) + (t.kind == FOLD)
        made[t] = Term(t.kind, t.dtype, args, kind, t.row, depth, t.cost, t.number)
    changed = copy.copy(body)
    changed.results = {v: made[t] for v, t in body.results.items()}
    changed.terms = _needed(changed.results.values(), made.values())
    return changed


def _spread_over(t, count) -> Term | None:
    """x of a term that is the sum of squares of x less its mean over `count` elements."""
    centred = _squared(t.args[0]) if t.kind == FOLD and t.attr == "sum" and t.dtype.is_floating_point else None
    if centred is None or not _calls(centred, ew.sub):
        return None
    x, mean = centred.args
    return x if not x.row and _is_mean(mean, x, count) else None


def _squared(t) -> Term | None:
    """x of a term that is x * x."""
    if _calls(t, ew.square):
        return t.args[0]
    return t.args[0] if _calls(t, ew.mul) and t.args[0] is t.args[1] else None


def _is_mean(term, x, count) -> bool:
    """Whether a term is the sum of x, divided by the count."""
    if not _calls(term, ew.div) or type(count) is not int:
        return False
    total, n = term.args
    return (total.kind == FOLD and total.attr == "sum" and total.args == (x,) and n.kind == CONST
            and n.attr == n.dtype.np.type(count))


def _calls(term, op) -> bool:
    return term.kind == CALL and term.attr == op.name


def _needed(results, terms) -> list:
    """The terms that results are computed from, in order."""
    seen, stack = set(), list(results)
    while stack:
        t = stack.pop()
        if t not in seen:
            seen.add(t)
            stack += t.args
    return [t for t in terms if t in seen]
