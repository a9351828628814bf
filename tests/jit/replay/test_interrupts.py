"""Exceptions from signal handlers in replayed calls: they reach the caller, and each call is done or not done."""

import random

import pytest

import ingot
from ingot import jit
from interrupts import KINDS, follow, follow_alarms, is_from_outside, points_of, raised_at
from stateful_programs import Growing, Training

ALARMS = 2000       # for each kind


def _plain():
    f = jit.trace(lambda x, y: (x * 2 + y).sum(), fullgraph=True)
    a, b = ingot.ones(8), ingot.ones(8)
    for _ in range(5):
        f(a, b)
    return lambda: f(a, b)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_exception_from_outside_reaches_the_caller(kind):
    call = _plain()
    for number in range(points_of(call)):
        _, error, reached = raised_at(number, call, kind)
        assert is_from_outside(error) or not reached, (number, error)


@pytest.mark.drawn
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("make", [Training, Growing])
def test_a_replay_is_done_or_not_done_at_each_point(make, kind):
    count = points_of(make())
    points = random.Random(f"{kind}").sample(range(count - 8), 150)
    done = follow(make, lambda it, i: raised_at(points[i], it, kind)[1], len(points))
    assert 0 < done < len(points)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("make", [Training, Growing])
def test_signals_leave_replays_done_or_not_done(make, kind):
    follow_alarms(make, kind, ALARMS, random.Random(f"{kind}"))
