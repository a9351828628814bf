"""Online sums of exp(x - largest), with memory read once.

Each lane sums about the largest element so far, and rescales its sum when it meets a larger one: one exponential per element,
of it or of the former largest. Lanes, then parts, are joined about the largest of all. Elements far below it count almost
nothing instead of nothing, and so does a difference of infinities: the sum is at least 1. nan shows in the largest, and makes
the sum nan at the end.

States of a part, each with a value per row: the largest, the sum.
"""

from .....ir.kernel.kernel import EXP_SUM, Instr
from ...combiners import Fold
from ...scalars import Val
from ...scalars.exponential import exp_below
from ..ir.spelling import number


def gather(nest, names, value):
    """Fold one tile into the lanes' states."""
    s, dtype = nest.s, value.dtype
    top, total = [s.wrap(dtype, n) for n in names]
    x = s.wrap(dtype, nest.text.let(f"tl.where(in_row & in_k, {value.ref}, {number(dtype, float('-inf'))})"))
    larger = x > top
    scale = exp_below(s, -abs(x - top))
    summed = s.fma(s.select(larger, total, 1.0), scale, s.select(larger, 1.0, total))
    nest.text.put(f"{top.ref} = {nest.helper(Fold('max', dtype))}({x.ref}, {top.ref})")
    nest.text.put(f"{total.ref} = {summed.ref}")


def joined(nest, fold, state) -> tuple:
    """Return the state of a row from those of its lanes or parts."""
    each, total = state
    top, = nest.across(Fold("max", fold.dtype), [each])
    return top, *nest.across(Fold("sum", fold.dtype), [total * exp_below(nest.s, each - top)])


def of_row(nest, fold, value, top) -> Val:
    """Return the sum of a whole row in registers: later sweeps reuse the exponentials. `top` is its maximum, if known."""
    place = nest.known["k"]
    top = nest.of_row(Fold("max", fold.dtype), value)[0] if top is None else top
    below = nest.compute(Instr("", "sub", fold.dtype), (value, top), place)
    each = nest.compute(Instr("", "exp", fold.dtype), (below,), place)
    return nest.of_row(Fold("sum", fold.dtype), each)[0]


def led(folds) -> dict:
    """Return {name of a max: name of the exp_sum of the same values, whose state has it}."""
    sums = {i.args: i.name for i, fold in folds if fold.kind == EXP_SUM}
    return {i.name: sums[i.args] for i, fold in folds if fold.kind == "max" and i.args in sums}
