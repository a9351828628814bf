"""Scores of few rows: keys are read in place, and squares of them transposed in registers on their way to the sums.

Panels pay only for keys that many rows meet. Each score has the order of sums of the product with panels.
"""

from ..contract.microkernel import multiply_add, row_offsets, transpose
from ..ir.types import I64, PTR, VOID, bytes_of, vector, zero

FEW_ROWS = 4


def write_scores(module, kernel) -> str:
    """Add `void scores(q, k, target, q_row, k_row, target_row, rows, keys, size, scale)` for at most `FEW_ROWS` rows; further
    rows of the target may be overwritten."""
    for height in (1, FEW_ROWS):
        _Scores(module, kernel, height).write()
    f = module.function("scores", _PARAMETERS, internal=True)
    rows = f.params[6]
    for is_one, height in ((True, 1), (False, FEW_ROWS)):
        with f.when(f.compare("eq" if is_one else "ne", rows, 1)):
            f.call(f"scores_{height}", VOID, *f.params)
    f.ret()
    return "scores"


_PARAMETERS = [("ptr noalias readonly", "q"), ("ptr noalias readonly", "k"), ("ptr noalias", "target"),
               *((I64, name) for name in ("q_row", "k_row", "target_row", "rows", "keys", "size")), (PTR, "scale")]


class _Scores:
    """Writer of the function for `height` rows; with fewer rows, the last one is repeated."""

    def __init__(self, module, kernel, height):
        self.element, self.lanes, self.item = kernel.element, kernel.shape.lanes, bytes_of(kernel.element)
        self.line = vector(self.lanes, self.element)
        f = self.f = module.function(f"scores_{height}", _PARAMETERS, internal=True)
        q, self.k, self.target, q_row, self.k_row, self.target_row, rows, self.keys, self.size, scale = f.params
        self.queries = [f.at(q, f.mul(q_row, f.min(f.sub(rows, 1), i) if i else 0)) for i in range(height)]
        self.scale = f.load(self.element, scale)
        self.key_place = row_offsets(f, self.k_row, self.lanes)

    def write(self):
        """Loop over whole vectors of keys, the last of which may overlap the one before; or over single keys."""
        f, lanes = self.f, self.lanes
        last = f.sub(self.keys, lanes)
        with f.when(f.compare("sge", last, 0)), f.loop(0, self.keys, lanes) as loop:
            self._square(f.min(loop.index, last))
        with f.when(f.compare("slt", last, 0)), f.loop(0, self.keys) as loop:
            self._single(loop.index)
        f.ret()

    def _square(self, first):
        """Compute a vector of keys: squares of them along the size, then the remaining columns."""
        f, start = self.f, self.f.at(self.k, self.f.mul(first, self.k_row))
        whole = f.bit_and(self.size, -self.lanes)
        sums = [zero(self.line)] * len(self.queries)
        with f.loop(0, whole, self.lanes, sums) as loop:
            sums, corner = loop.carried, f.at(start, loop.index, self.element)
            addresses = [f.at(corner, self.key_place(i)) for i in range(self.lanes)]
            self._prefetch(start, loop.index)
            rows = [f.load(self.line, address) for address in addresses]
            for step, column in enumerate(transpose(f, rows)):
                sums = self._add(sums, column, f.add(loop.index, step), self.lanes)
            loop.next(*sums)
        with f.loop(whole, self.size, 1, loop.results) as rest:
            column, corner = zero(self.line), f.at(start, rest.index, self.element)
            for i in range(self.lanes):
                column = f.insert(column, f.load(self.element, f.at(corner, self.key_place(i))), i)
            rest.next(*self._add(rest.carried, column, rest.index, self.lanes))
        self._store(rest.results, first, self.lanes)

    def _prefetch(self, start, step):
        """Prefetch a square's share of the next keys: contiguous keys in memory order (twice as fast), else its own columns."""
        f, lanes, item = self.f, self.lanes, self.item
        is_dense, full = f.compare("eq", self.k_row, f.mul(self.size, item)), f.index(lanes * item)
        along, apart = f.select(is_dense, full, f.index(item)), f.select(is_dense, full, self.k_row)
        begin = f.at(start, f.add(f.mul(self.k_row, lanes), f.mul(step, along)))
        with f.loop(0, lanes, 1, [begin]) as ahead:
            f.prefetch(ahead.carried[0])
            ahead.next(f.at(ahead.carried[0], apart))

    def _single(self, key):
        f, start = self.f, self.f.at(self.k, self.f.mul(key, self.k_row))
        with f.loop(0, self.size, 1, [zero(self.element)] * len(self.queries)) as loop:
            loop.next(*self._add(loop.carried, f.load(self.element, f.at(start, loop.index, self.element)), loop.index, 1))
        self._store(loop.results, key, 1)

    def _add(self, sums, column, step, lanes):
        """Add each query's element at a step times a column of keys to the sums."""
        f = self.f
        return [multiply_add(f, f.splat(f.load(self.element, f.at(query, step, self.element)), lanes), column, total)
                for query, total in zip(self.queries, sums)]

    def _store(self, sums, key, lanes):
        f = self.f
        for i, total in enumerate(sums):
            line = f.at(self.target, f.mul(self.target_row, i))
            f.store(f.fmul(total, f.splat(self.scale, lanes)), f.at(line, key, self.element))
