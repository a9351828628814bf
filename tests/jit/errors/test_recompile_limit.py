"""Limit of recordings: functions that need a new one at most calls run eagerly, and recordings are replayed."""

import warnings
from itertools import pairwise

import pytest

import ingot
from ingot import jit
from ingot.jit.errors.recompile_limit import BURST, CALLS_PER_TOKEN, RecompileLimit


def recorded(numbers):
    """Return the numbers of the calls that are recorded, if no recording fits any."""
    limit = RecompileLimit()
    return [i for i in numbers if not limit.should_run_eagerly(i)]


def test_recordings_are_limited_if_none_fits():
    found = recorded(range(1, 1_000_001))
    assert found[:BURST] == list(range(1, BURST + 1))
    gaps = [b - a for a, b in pairwise(found[BURST:])]
    assert gaps[0] <= CALLS_PER_TOKEN + 1 and all(b >= a - 1 for a, b in pairwise(gaps))      # ever more rarely,
    assert len(found) < 8 * BURST                                                   # so that memory does not fill
    assert CALLS_PER_TOKEN * 64 < gaps[-1] < 1_000_000 / BURST                                # but never is it given up


@pytest.mark.parametrize("every", [CALLS_PER_TOKEN, 3 * CALLS_PER_TOKEN])
def test_functions_below_the_limit_make_all_recordings(every):
    numbers = range(1, 10_001, every)
    assert recorded(numbers) == list(numbers)


def test_tokens_are_refilled():
    many = BURST * CALLS_PER_TOKEN * 2
    assert len(recorded([*range(1, 2 * BURST), *range(many, many + 2 * BURST)])) >= 2 * BURST


def test_a_function_that_asks_for_other_values_each_time():
    divisors = {n: float(n) for n in range(300)}

    @jit.trace
    def pick(x):
        kept = x[x > 0]
        return kept.sum() / divisors[kept.shape[0]]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in range(1, 300):
            x = ingot.full((600,), -1.0)
            x[:n] = n
            assert pick(x) == n
    made = pick.stats()["compiles"]
    assert made <= BURST + 300 / CALLS_PER_TOKEN + 1 and 299 - made - 2 <= pick.stats()["unrecorded"] <= 299 - made
    before = pick.stats()["compiles"], pick.stats()["unrecorded"]
    for _ in range(3):                       # what was recorded is replayed all the same
        x[5:] = -1
        x[:5] = 5.0
        assert pick(x) == 5
    assert (pick.stats()["compiles"], pick.stats()["unrecorded"]) == before
