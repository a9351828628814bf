"""Memory of repeated launch lists (`replay/launch_list.py`)."""

import itertools
import random

import pytest

from ingot.runtime.cuda.memory.allocator import ROUND, SMALL
from ingot.runtime.cuda.replay import launch_list

SIZES = 1, 500, 512, 4000, 90000, SMALL, SMALL + 1, 3 * SMALL


def random_list(rng, operands, sizes=SIZES):
    """Steps of which each launch works on all places that are there, and the places that are there at the end."""
    steps, there, count = [], list(range(operands)), operands
    for n in range(rng.randint(1, 14)):
        what = rng.random()
        if what < 0.5:
            steps.append((launch_list.TAKE, rng.choice(sizes)))
            there.append(count)
            count += 1
        elif what < 0.7 and len(there) > operands:
            gone = rng.choice(there[operands:])
            there.remove(gone)
            steps.append((launch_list.DROP, gone))
        moving = tuple([(i, number, rng.randrange(0, 1 << 20, 16)) for i, number in enumerate(there)])
        steps.append((launch_list.LAUNCH, "form", n, (1,), (0,), moving, 0))
    return tuple(steps), there


class Followed:
    """A list, step by step.

    seen    for each launch the places that it works on, (number, bytes from there)
    sizes   of what is taken, by number
    peak    the most bytes that there are at once
    """

    def __init__(self, first, steps, operands):
        self.layouts, self.sizes, self.peak = {}, {}, 0
        live: set = set()
        for step in (*[(launch_list.TAKE, size) for size in first], *steps):
            if step[0] == launch_list.TAKE:
                number = operands + len(self.sizes)
                self.sizes[number] = step[1]
                live.add(number)
            elif step[0] == launch_list.DROP:
                live.remove(step[1])
            else:
                self.layouts[step[2]] = [(number, more) for _, number, more in step[5]]
                assert all(number in live or number < operands for number, _ in self.layouts[step[2]])
            self.peak = max(self.peak, sum([self.sizes[n] for n in live]))


@pytest.mark.parametrize("seed", range(200))
def test_memory_alive_at_once_does_not_overlap(seed):
    rng = random.Random(seed)
    operands = rng.randint(0, 3)
    steps, there = random_list(rng, operands)
    results = [(n, "shape") for n in there if n >= operands]
    first, left = launch_list.taken_first(steps)
    if not first:
        first, left, results = launch_list._allocations_first(steps, results, operands)
    before, after = Followed((), steps, operands), Followed(first, left, operands)
    relocated: dict = {}            # a place -> (its piece, bytes from there)
    for n, slots in before.layouts.items():
        spans = []
        for (was, from_there), (number, more) in zip(slots, after.layouts[n], strict=True):
            start = more - from_there
            assert relocated.setdefault(was, (number, start)) == (number, start)
            if was < operands:
                assert (number, start) == (was, 0)
            else:
                assert start % ROUND == 0 and 0 <= start <= after.sizes[number] - before.sizes[was]
                spans.append((number, start, start + before.sizes[was]))
        assert all(a[0] != b[0] or a[2] <= b[1] for a, b in itertools.pairwise(sorted(spans)))
    assert [relocated[n] for n in there if n >= operands] == [(number, 0) for number, _ in results]


@pytest.mark.parametrize("seed", range(50))
def test_large_pieces_take_no_more_room_at_once(seed):
    steps, _ = random_list(random.Random(seed), 2, (SMALL + 1, 3 * SMALL))
    first, left = launch_list.taken_first(steps)
    if not first:
        first, left, _ = launch_list._allocations_first(steps, [], 2)
    assert Followed(first, left, 2).peak == Followed((), steps, 2).peak


def test_small_pieces_are_taken_once():
    take, drop, launch = launch_list.TAKE, launch_list.DROP, launch_list.LAUNCH
    work = [(launch, "form", n, (1,), (0,), ((0, 1 + n, 0),), 0) for n in range(3)]
    steps = (take, 100), work[0], (take, 600), work[1], (drop, 1), (take, 600), work[2], (drop, 2)
    first, left, results = launch_list._allocations_first(steps, [(3, "shape")], 1)
    assert first == [600, 1536] and [s[0] for s in left] == [launch] * 3 and results == [(1, "shape")]
    assert [s[5] for s in left] == [((0, 2, 0),), ((0, 2, 512),), ((0, 1, 0),)]
