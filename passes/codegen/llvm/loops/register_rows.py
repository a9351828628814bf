"""Kernels with reduce dims over short rows, vectors along the row, all in registers.

The tree is that of `rows.py`. All vectors of a row are unrolled, and chains stay in registers also at a row's end, so only the
row itself passes through memory.
"""

from .....ir.kernel.kernel import FOLD, Kernel
from ..ir.emit import Module
from .reduce import CHAINS, combine_all, fold_vectors, identities
from .rows import Rows

STEP = 16           # lengths of rows are rounded up to multiples
SHORTEST = 6        # least elements of a row; for shorter ones lanes are better filled by many rows
INDEXED = 16        # the same for argmax and argmin, whose states take longest to combine
LONGEST = 128       # most elements of a row whose vectors are unrolled


class RegisterRows(Rows):
    """A nest for rows of more than `longest - STEP` elements, up to `longest`."""

    def __init__(self, module: Module, kernel: Kernel, longest: int):
        super().__init__(module, kernel)
        self.longest = longest
        self.vectors: list = []     # (first element, mask or None) of each vector of a row

    def splittable(self):
        return False

    def prepare(self):
        super().prepare()
        self.second = None          # the next row follows in memory
        lanes, there = self.s.lanes, self.longest - STEP
        self.vectors = [(at, None if at + lanes <= there else self.rest_mask(at, self.inner()))
                        for at in range(0, self.longest, lanes)]

    def each(self, stage, env, place):
        for at, mask in self.vectors:
            self.body(stage, env, place, at, mask)

    def run_of_chunks(self, stage, env, place, counter):
        s, folds = self.s, self.memory[stage][0]
        rows: list = []
        for number, (at, mask) in enumerate(self.vectors):
            row = number % (CHAINS // s.lanes)
            before = rows[row] if row < len(rows) else identities(s, folds)
            states = combine_all(s, folds, before, self.body(stage, env, place, at, mask))
            if mask is not None:
                inside = s.wrap(None, mask)
                states = [tuple([s.select(inside, a, b) for a, b in zip(x, y)]) for x, y in zip(states, before)]
            rows[row:row + 1] = [states]
        return fold_vectors(self.f, s, folds, rows)


def longest_row(length: int) -> int:
    """Return the `longest` for rows of a length."""
    return -(-max(length, 1) // STEP) * STEP


def suits(kernel: Kernel, extents) -> bool:
    """Return whether register rows should reduce a kernel over these extents. Rows that fill all chains need no masks anyway.
    """
    finds = any(i.op == FOLD and i.attr.startswith("arg") for i in kernel.instructions())
    shortest, length = INDEXED if finds else SHORTEST, extents[-1]
    return len(kernel.reduce) == 1 and shortest <= length <= LONGEST and length % CHAINS > 0
