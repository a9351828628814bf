"""Sums of exp(x - largest), while memory is read once.

Each lane adds up about the largest that it has met, and scales its sum when it meets a larger one: one exponential for each
element, either of it or of the former largest. Lanes, then parts, are joined about the largest of all. What lies far below the
largest counts next to nothing, instead of nothing, and so does a difference of infinities: the sum is 1 at least. That there
is no number shows in the largest, and the sum becomes nan at the very end.

States of a part, each a value for each row: the largest, the sum.
"""

from .....ir.kernel.kernel import EXP_SUM, Instr
from ...combiners import Fold
from ...scalars import Val
from ...scalars.exponential import exp_below
from ..ir.spelling import number


def gather(sweeps, names, value):
    """Takes one tile into the lanes' states."""
    s, dtype = sweeps.s, value.dtype
    top, total = [s.wrap(dtype, n) for n in names]
    x = s.wrap(dtype, sweeps.text.let(f"tl.where(in_row & in_k, {value.ref}, {number(dtype, float('-inf'))})"))
    larger = x > top
    scale = exp_below(s, -abs(x - top))
    summed = s.fma(s.select(larger, total, 1.0), scale, s.select(larger, 1.0, total))
    sweeps.text.put(f"{top.ref} = {sweeps.helper(Fold('max', dtype))}({x.ref}, {top.ref})")
    sweeps.text.put(f"{total.ref} = {summed.ref}")


def joined(sweeps, fold, state) -> tuple:
    """The state of a row from those of its lanes or parts."""
    each, total = state
    top, = sweeps.across(Fold("max", fold.dtype), [each])
    return top, *sweeps.across(Fold("sum", fold.dtype), [total * exp_below(sweeps.s, each - top)])


def of_row(sweeps, fold, value, top) -> Val:
    """Of a whole row: later sweeps use the exponentials, too. `top` is its largest, if that is known."""
    place = sweeps.known["k"]
    top = sweeps.of_row(Fold("max", fold.dtype), value)[0] if top is None else top
    below = sweeps.compute(Instr("", "sub", fold.dtype), (value, top), place)
    each = sweeps.compute(Instr("", "exp", fold.dtype), (below,), place)
    return sweeps.of_row(Fold("sum", fold.dtype), each)[0]


def led(folds) -> dict:
    """{the name of a largest: that of the exp_sum of the same, whose state has it}."""
    sums = {i.args: i.name for i, fold in folds if fold.kind == EXP_SUM}
    return {i.name: sums[i.args] for i, fold in folds if fold.kind == "max" and i.args in sums}
