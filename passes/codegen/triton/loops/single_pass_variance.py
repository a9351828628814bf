"""Single-pass variance: sums of squares about the mean, with memory read once.

Each lane sums its elements' distances from its first one, and their squares: the error grows with a lane's elements (8 to 128),
whatever their mean. Lanes are joined about the mean of their program's part, and parts about that of the row (Chan's formula,
for many at once). A mean is a number of the row plus a distance, because a single number far from zero would be too coarse.

States of a part, each with a value per row: count, one element, the mean's distance from it, squares about the mean.
"""

from ...scalars import Val
from ..ir.spelling import TYPE, number


def gather(nest, names, value):
    """Fold one tile into the lanes' states."""
    _, first, total, squares = names
    put = nest.text.put
    put(f"{first} = tl.where(at_k < {nest.low} + COLS, {value.ref}, {first})")
    above = nest.text.let(f"tl.where(in_row & in_k, {value.ref} - {first}, {number(value.dtype, 0)})")
    put(f"{total} += {above}")
    put(f"{squares} += {above} * {above}")


def of_lanes(nest, names, fold) -> tuple:
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


def of_parts(nest, fold, state) -> tuple:
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


def of_row(nest, fold, value, total, count) -> Val:
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
