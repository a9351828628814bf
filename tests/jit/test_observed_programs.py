"""Programs that change things between the calls of a function: what can be seen is the same, traced or not."""

import pytest

import ingot
import watched_environment as watched_world  # noqa: F401  (adds its programs)
from ingot import jit
from outcomes import plain
from watched_programs import PROGRAMS, REFUSED

MOST = 4        # recordings that a program needs at most


def watched(program, wrap):
    """Return the values that a program yields, as they were at that time."""
    ingot.manual_seed(0)
    return [plain(seen) for seen in program(wrap)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_can_be_seen_is_the_same(name):
    made = []

    def trace(fn):
        made.append(jit.trace(fn))
        return made[-1]

    want = watched(PROGRAMS[name], lambda fn: fn)
    assert watched(PROGRAMS[name], trace) == want
    for fn in made:
        assert fn.stats()["compiles"] <= MOST, fn.stats()["misses"]


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_repeated_is_refused(name):
    program, match = REFUSED[name]
    with pytest.raises(jit.TraceError, match=match):
        watched(program, jit.trace)
