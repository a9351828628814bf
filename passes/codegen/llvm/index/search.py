"""Binary search of values in sorted rows, as a pool task.

    out[r][i] = the number of elements of sorted[r] that are less than values[r][i]        (with `right`: not greater)

All values of a vector halve their own part of the row at once, without branches: a branch would be mispredicted every other
time. As in a sort, nan follows all numbers.
"""

from dataclasses import dataclass

from ..ir.emit import ElementWriter
from ..ir.types import I64, constant, is_float, like, vector, zero
from ..pool.tasks import open_task, split_index

ARRAYS = ("sorted", "values", "out")
WORDS = (*ARRAYS, "scratch", "turn", "chunks", "items", "rows", "blocks", "block", "count", "size", "row", "halvings")
# An item is `block` of the `count` values of a row. `row` is the elements between sorted rows, and `halvings` reduce `size`
# elements to one.
AT_ONCE = 4             # vectors searched side by side, so that loads overlap


@dataclass(frozen=True)
class SearchKernel(ElementWriter):
    """Generator for an element type and a side of equal elements."""

    right: bool

    @property
    def symbol(self) -> str:
        return f"search_{self.element}_{'right' if self.right else 'left'}"

    def write(self, module):
        f, job, share = open_task(module, self.symbol, WORDS)
        element, lanes = self.element, f.lanes(self.element)
        count, blocks, block, size, halvings = job.count, job.blocks, job.block, job.size, job.halvings
        by_row, rows, values, out = job.row, job.address("sorted"), job.address("values"), job.address("out")
        with f.loop(*share) as loop:
            row, part = split_index(f, loop.index, (None, blocks))
            first = f.mul(part, block)
            number = f.min(block, f.sub(count, first))
            start = f.add(f.mul(row, count), first)
            source, goal = f.at(values, start, element), f.at(out, start, I64)
            table = f.at(rows, f.mul(row, by_row), element)

            def each(at, masks):
                positions = [f.add(at, n * lanes) for n in range(len(masks))]
                wanted = [f.load_masked(vector(lanes, element), f.at(source, p, element), m) for p, m in zip(positions, masks)]
                for position, found, mask in zip(positions, self._search(f, table, wanted, size, halvings), masks):
                    f.store_masked(found, f.at(goal, position, I64), mask)

            whole = f.bit_and(number, -AT_ONCE * lanes)
            with f.loop(0, whole, AT_ONCE * lanes) as group:
                each(group.index, [None] * AT_ONCE)
            f.vectors(f.sub(number, whole), lanes, lambda at, mask: each(f.add(whole, at), [mask]))
        f.ret()

    def _search(self, f, table, wanted, size, halvings) -> list:
        lanes = f.lanes(self.element)
        type_ = vector(lanes, I64)
        unknown = [f.compare("uno", x, x) if is_float(self.element) else None for x in wanted]
        with f.loop(0, halvings, carry=(size, *[zero(type_)] * len(wanted))) as loop:
            left, *bases = loop.carried
            half = f.binary("lshr", left, f.index(1))
            step = f.splat(half, lanes)
            before = f.splat(f.sub(half, 1), lanes)
            bases_after = [self._after(f, table, f.binary("add", base, before), x, nan, base, step)
                           for base, x, nan in zip(bases, wanted, unknown)]
            loop.next(f.sub(left, half), *bases_after)
        one = constant(type_, 1)
        return [self._after(f, table, base, x, nan, base, one) for base, x, nan in zip(loop.results[1:], wanted, unknown)]

    def _after(self, f, table, at, x, nan, base, step):
        """Return `base`, plus step if the element at an index is before x."""
        lanes = f.lanes(self.element)
        pointers = f.op(f"<{lanes} x ptr>", f"getelementptr {self.element}, ptr {table.name}, {at.type} {at.name}")
        found = f.gather(like(x.type, self.element), pointers)
        if is_float(self.element):
            goes = f.compare("ole" if self.right else "olt", found, x)
            goes = f.binary("or", goes, nan if self.right else f.binary("and", nan, f.compare("ord", found, found)))
        else:
            goes = f.compare("sle" if self.right else "slt", found, x)
        return f.binary("add", base, f.binary("and", f.cast("sext", goes, base.type), step))
