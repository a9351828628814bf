"""Random collectives whose results and operands are parts of one memory, beside the same calls on copies of the operands."""

import numpy as np

import ingot
from ingot import distributed as dist

_LENGTHS = (1, 3, 700, 5_000, 20_000, 90_000)
_KINDS = (ingot.float32, ingot.int64, ingot.bfloat16, ingot.float64)


class _Case:
    """One collective on parts of a row of numbers. All ranks draw the same case."""

    def __init__(self, rng, longest: int):
        self.size, self.rank = dist.get_world_size(), dist.get_rank()
        self.length = int(rng.choice([n for n in _LENGTHS if n <= longest]))
        self.dtype = _KINDS[rng.integers(len(_KINDS))]
        self.room = 3 * self.size * self.length
        self.starts = [int(s) for s in rng.integers(0, self.room - self.size * self.length, 2)]
        self.row = int(rng.integers(self.size))
        self.order = [int(r) for r in rng.permutation(self.size)]
        self.is_own = rng.random() < 0.3            # the operand is the own row of the result, or the other way round
        self.is_near = rng.random() < 0.8           # both lie in one place, more or less

    def __str__(self):
        return f"{vars(self)}"

    def memory(self, place):
        numbers = np.random.default_rng(self.rank).integers(-9, 9, self.room)
        return place(ingot.from_numpy(numbers).to(self.dtype))

    def whole(self, memory):
        """Return the part of memory with a row for each rank."""
        return memory[self.starts[0]:self.starts[0] + self.size * self.length]

    def part(self, memory):
        """Return a part of memory that is as long as a row."""
        if self.is_own:
            return self.whole(memory)[self.rank * self.length:(self.rank + 1) * self.length]
        start = self.starts[0] + self.row * self.length + self.starts[1] % (self.length + 1)
        start = min(start, self.room - self.length) if self.is_near else self.starts[1]
        return memory[start:start + self.length]

    def other_whole(self, memory):
        """Return another part of memory with a row for each rank."""
        length = self.size * self.length
        start = self.starts[0] + self.starts[1] % self.length if self.is_near else self.starts[1]
        start = min(start, self.room - length)
        return memory[start:start + length]

    def rows(self, memory):
        return [*self.whole(memory).split(self.length)]


def _all_gather(case, memory, operand):
    dist.all_gather(case.rows(memory), operand(case.part(memory)))


def _all_gather_into_tensor(case, memory, operand):
    dist.all_gather_into_tensor(case.whole(memory), operand(case.part(memory)))


def _gather(case, memory, operand):
    dist.gather(operand(case.part(memory)), case.rows(memory) if case.rank == case.row else None, case.row)


def _scatter(case, memory, operand):
    rows = [operand(row) for row in case.rows(memory)] if case.rank == case.row else None
    dist.scatter(case.part(memory), rows, case.row)


def _reduce_scatter(case, memory, operand):
    dist.reduce_scatter(case.part(memory), [operand(row) for row in case.rows(memory)])


def _reduce_scatter_tensor(case, memory, operand):
    dist.reduce_scatter_tensor(case.part(memory), operand(case.whole(memory)))


def _all_to_all(case, memory, operand):
    rows = [operand(row) for row in case.rows(memory)]
    dist.all_to_all([case.rows(memory)[r] for r in case.order], rows)


def _all_to_all_single(case, memory, operand):
    dist.all_to_all_single(case.other_whole(memory), operand(case.whole(memory)))


COLLECTIVES = (_all_gather, _all_gather_into_tensor, _gather, _scatter, _reduce_scatter, _reduce_scatter_tensor, _all_to_all,
               _all_to_all_single)


def search(seed: int, count: int, longest: int = 90_000, place=lambda t: t):
    """Compare results bit for bit, also next to where they lie."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        collective, case = COLLECTIVES[number % len(COLLECTIVES)], _Case(rng, longest)
        wanted, found = case.memory(place), case.memory(place)
        collective(case, wanted, lambda t: t.clone())
        collective(case, found, lambda t: t)
        name = collective.__name__[1:]
        assert ingot.equal(wanted, found), f"{name} on rank {case.rank}, seed {seed}, number {number}: {case}"
