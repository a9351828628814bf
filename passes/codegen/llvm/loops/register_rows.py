"""Kernels with reduce dims over short rows, vectors along the row: as in `rows.py`, but as many vectors as hold a row are
written out, and chains stay in registers also where a row ends, so nothing but the row itself passes through memory.
"""

from .....ir.kernel.kernel import FOLD, Kernel
from ..ir.emit import Module
from .reduce import CHAINS, combine_all, fold_vectors, identities
from .rows import Rows

STEP = 16           # rows whose lengths differ by less are done alike
SHORTEST = 6        # elements of a row: of fewer, lanes are better used by many rows
INDEXED = 16        # the same where places are found, whose states take longest to combine
LONGEST = 128       # elements of a row that vectors are written out for


class RegisterRows(Rows):
    """Writes the task and the launch of a kernel for rows of more than `longest - STEP` elements, up to `longest`."""

    def __init__(self, module: Module, kernel: Kernel, longest: int):
        super().__init__(module, kernel)
        self.longest = longest
        self.vectors: list = []     # of a row: (first element, mask or None)

    def splittable(self):
        return False

    def prepare(self):
        super().prepare()
        self.second = None          # the row to come lies behind this one
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
    """Return the `longest` of rows of a length."""
    return -(-max(length, 1) // STEP) * STEP


def suits(kernel: Kernel, extents) -> bool:
    """Whether a kernel over these extents should take this way. Rows that fill all chains need no masks in any way."""
    finds = any(i.op == FOLD and i.attr.startswith("arg") for i in kernel.instructions())
    shortest, length = INDEXED if finds else SHORTEST, extents[-1]
    return len(kernel.reduce) == 1 and shortest <= length <= LONGEST and length % CHAINS > 0
