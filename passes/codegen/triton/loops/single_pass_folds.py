"""Single-pass folds: reductions about the mean or the largest element of a row, with memory read once.

A spread is the sum of squares about the mean. Each lane sums its elements' distances from its first one, and their squares: the
error grows with a lane's elements (8 to 128), whatever their mean. Lanes are joined about the mean of their program's part, and
parts about that of the row (Chan's formula, for many at once). A mean is a number of the row plus a distance, because a single
number far from zero would be too coarse. States of a part, each with a value per row: count, one element, the mean's distance
from it, squares about the mean.

An exp_sum is the sum of exp(x - largest). Each lane sums about the largest element so far, and rescales its sum when it meets a
larger one: one exponential per element, of it or of the former largest. Lanes, then parts, are joined about the largest of all.
Elements far below it count almost nothing instead of nothing, and so does a difference of infinities: the sum is at least 1.
nan shows in the largest, and makes the sum nan at the end. States of a part: the largest, the sum.
"""

from .....ir.kernel.kernel import EXP_SUM, Instr
from ...combiners import Fold
from ...scalars import Val
from ...scalars.exponential import exp_below
from ..ir.spelling import TYPE, number


def gather_spread(nest, names, value):
    """Fold one tile into the lanes' states."""
    _, first, total, squares = names
    put = nest.text.put
    put(f"{first} = tl.where(at_k < {nest.low} + COLS, {value.ref}, {first})")
    above = nest.text.let(f"tl.where(in_row & in_k, {value.ref} - {first}, {number(value.dtype, 0)})")
    put(f"{total} += {above}")
    put(f"{squares} += {above} * {above}")


def spread_of_lanes(nest, names, fold) -> tuple:
    """Return the state of a part, after a walk."""
    s = _Lines(nest, fold)
    let, nothing = s.let, s.nothing
    count, first, total, squares = names
    lane = let("tl.arange(0, COLS)[None, :]")
    held = let(f"tl.maximum({nest.high} - {nest.low} - {lane} + COLS - 1, 0) // COLS")
    there = let(f"in_row & ({held} > 0)")
    nest.text.put(f"{count} = tl.where(in_row, {held}, 0).to({s.kind})")
    one = s.sum(f"tl.where({there} & ({lane} == 0), {first}, {nothing})")
    base = let(f"tl.where({there}, {first} - {one}, {nothing})")
    length = s.number(f"tl.maximum({nest.high} - {nest.low}, 0)")
    above = s.ratio(s.sum(f"{base} * {count} + {total}"), length)
    apart = let(f"{above} - {base}")
    rest = s.sum(f"{squares} - ({total} * 2.0 - {apart} * {count}) * {apart}")
    return s.values(length, one, above, let(f"tl.where({rest} < {nothing}, {nothing}, {rest})"))


def spread_of_parts(nest, fold, state) -> tuple:
    """Return the state of a row from those of its parts."""
    s = _Lines(nest, fold)
    let = s.let
    count, each, above, squares = [v.ref for v in state]
    one = s.sum(f"tl.where(in_parts & (each_part == 0), {each}, {s.nothing})")
    base = let(f"tl.where({count} > {s.nothing}, ({each} - {one}) + {above}, {s.nothing})")
    length = s.number(nest.product(nest.kernel.reduce))
    mean = s.ratio(s.sum(f"{base} * {count}"), length)
    apart = let(f"{base} - {mean}")
    return s.values(length, one, mean, s.sum(f"{squares} + {apart} * {apart} * {count}"))


def spread_of_row(nest, fold, value, total, count) -> Val:
    """Return the squares about the mean of a whole row in registers. `total` is its sum, if it is known."""
    s = _Lines(nest, fold)
    total = s.sum(f"tl.where(in_row & in_k, {value.ref}, {s.nothing})") if total is None else total.ref
    mean = s.ratio(total, s.number(count))
    centred = s.let(f"tl.where(in_row & in_k, {value.ref} - {mean}, {s.nothing})")
    return nest.s.wrap(fold.dtype, s.sum(f"{centred} * {centred}"))


class _Lines:
    """Writer of common expressions, in the dtype of a fold."""

    def __init__(self, nest, fold):
        self.builder, self.let = nest.s, nest.text.let
        self.dtype, self.kind, self.nothing = fold.dtype, TYPE[fold.dtype], number(fold.dtype, 0)

    def sum(self, text) -> str:
        return self.let(f"tl.sum({text}, 1)[:, None]")

    def number(self, count) -> str:
        return self.let(f"tl.full([], {count}, tl.int64).to({self.kind})")

    def ratio(self, total, count) -> str:
        """Return a mean; 0 for no elements."""
        some = self.let(f"tl.where({count} > {self.nothing}, {count}, {number(self.dtype, 1)})")
        return (self.builder.wrap(self.dtype, total) / self.builder.wrap(self.dtype, some)).ref

    def values(self, *refs) -> tuple:
        return tuple([self.builder.wrap(self.dtype, r) for r in refs])


def gather_exp_sum(nest, names, value):
    """Fold one tile into the lanes' states."""
    s, dtype = nest.s, value.dtype
    top, total = [s.wrap(dtype, n) for n in names]
    x = s.wrap(dtype, nest.text.let(f"tl.where(in_row & in_k, {value.ref}, {number(dtype, float('-inf'))})"))
    larger = x > top
    scale = exp_below(s, -abs(x - top))
    summed = s.fma(s.select(larger, total, 1.0), scale, s.select(larger, 1.0, total))
    nest.text.put(f"{top.ref} = {nest.helper(Fold('max', dtype))}({x.ref}, {top.ref})")
    nest.text.put(f"{total.ref} = {summed.ref}")


def joined_exp_sum(nest, fold, state) -> tuple:
    """Return the state of a row from those of its lanes or parts."""
    each, total = state
    top, = nest.across(Fold("max", fold.dtype), [each])
    return top, *nest.across(Fold("sum", fold.dtype), [total * exp_below(nest.s, each - top)])


def exp_sum_of_row(nest, fold, value, top) -> Val:
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
