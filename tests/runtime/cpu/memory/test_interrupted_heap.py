"""A heap whose operations were interrupted: it loses a piece at most, and never hands out memory twice."""

import itertools
import mmap
import random

import pytest

from ingot.runtime.cpu.memory.heap import Heap
from interrupts import Interrupted, points_of, raised_at

PAGE = mmap.PAGESIZE
MOST_LOST = 64 * PAGE       # the largest piece of these programs


class Program:
    """Random operations on a heap; `held` are the pieces that the program knows to have."""

    def __init__(self, seed):
        self.heap, self.held, self.rng = Heap(), [], random.Random(seed)

    def run(self, count):
        for _ in range(count):
            choice = self.rng.random()
            if choice < 0.5 or not self.held:
                self.held.append(self.heap.take(self.rng.randrange(1, 65) * PAGE))
            elif choice < 0.93:
                piece = self.held.pop(self.rng.randrange(len(self.held)))
                self.heap.give(piece)
            else:
                self.heap.cool(self.rng.choice([0, 0, 20 * PAGE]))

    def check(self):
        heap = self.heap
        self.held.append(heap.take(PAGE))
        free = [p for *_, p in heap._pieces]
        spans = sorted((p.address, p.address + p.size) for p in (*self.held, *free))
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans)), "memory belongs to two pieces"
        assert heap._pieces == sorted(heap._pieces) and all(size == p.size for size, _, p in heap._pieces)
        assert heap.warm == sum(p.warm for p in free) and all(0 <= p.warm <= p.size for p in free)
        assert heap.taken + sum(p.size for p in free) == heap.mapped
        assert 0 <= heap.taken - sum(p.size for p in self.held) <= MOST_LOST, "more than one piece is lost"


@pytest.mark.drawn
@pytest.mark.parametrize("seed", range(6))
def test_a_heap_goes_on_after_an_interrupt_anywhere(seed):
    first = Program(seed)
    count = points_of(lambda: first.run(60))
    first.check()
    for number in random.Random(seed).sample(range(count), min(count, 150)):
        program = Program(seed)
        _, error, reached = raised_at(number, lambda p=program: p.run(60), Interrupted)
        assert reached and type(error) is Interrupted
        program.check()
        program.run(60)
        program.check()
        for piece in program.held:
            program.heap.give(piece)
        program.heap.cool(0)
        assert program.heap.warm == 0, f"seed {seed}, point {number}"
