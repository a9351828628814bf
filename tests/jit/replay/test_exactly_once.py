"""Exceptions from outside that could be ingot's own, in replayed calls: builtin classes that another thread sets, and errors
that the handler of a signal meets in library code. They reach the caller as they are; each call is done or not done."""

import random

import pytest

from interrupts import follow_points, follow_times, points_of
from stateful_programs import Growing, Training

FEW, MANY = 40, 2500


def _follow(make, way, seed: int, times: int):
    rng = random.Random(seed)
    print(f"seed {seed}")
    count = points_of(make())
    points = [rng.randrange(count) for _ in range(times)]
    done = follow_points(make, way, points, rng)
    assert 0 < done < times


@pytest.mark.drawn
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("way", ["thread", "library"])
@pytest.mark.parametrize("make", [Training, Growing])
def test_a_call_is_done_or_not_done(make, way, seed):
    _follow(make, way, seed, FEW)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["thread", "library"])
@pytest.mark.parametrize("make", [Training, Growing])
def test_many_calls_are_done_or_not_done(make, way):
    _follow(make, way, random.randrange(10 ** 6), MANY)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["thread", "alarm"])
@pytest.mark.parametrize("make", [Training, Growing])
def test_calls_are_done_or_not_done_at_any_time(make, way):
    """By a thread, or by handlers that remove themselves first."""
    seed = random.randrange(10 ** 6)
    print(f"seed {seed}")
    assert follow_times(make, way, MANY, random.Random(seed)) > 0
