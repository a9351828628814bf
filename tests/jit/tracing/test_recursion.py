"""Recursion of user code near the interpreter's limit, which a recording must not reach before eager code does."""

import sys

import pytest

import ingot
from ingot import jit
from ingot.ir.process_state import more_frames, recursion_limit


def deep(x, n):
    return x * 2 if n == 0 else deep(x, n - 1)


class Layer:
    def __init__(self, below):
        self.below = below

    def __call__(self, x):
        return x + 1 if self.below is None else self.below(x)


def tower(n):
    layer = None
    for _ in range(n):
        layer = Layer(layer)
    return layer


def most(run) -> int:
    """Return the greatest number with which `run` does not recurse too deep."""
    low, high = 1, sys.getrecursionlimit()
    while low < high:
        middle = (low + high + 1) // 2
        try:
            run(middle)
        except RecursionError:
            high = middle - 1
        else:
            low = middle
    return low


@pytest.mark.parametrize("make", [lambda n: lambda x: deep(x, n), tower], ids=["function", "objects"])
@pytest.mark.parametrize("wrap", [jit.trace, ingot.compile], ids=["trace", "compile"])
def test_recordings_recurse_as_deep_as_eager_code(make, wrap):
    x = ingot.ones(2)
    depth = most(lambda n: make(n)(x))
    traced = wrap(lambda x: make(depth - 1)(x))
    limit = sys.getrecursionlimit()
    for _ in range(3):
        assert traced(x).tolist() == make(depth - 1)(x).tolist()
    assert sys.getrecursionlimit() == limit == recursion_limit()


def test_endless_recursion_is_an_error_of_the_user_that_leaves_the_limit():
    limit, traced = sys.getrecursionlimit(), jit.trace(lambda x: deep(x, -1))
    for _ in range(2):
        with pytest.raises(RecursionError):
            traced(ingot.ones(2))
        assert sys.getrecursionlimit() == limit


@pytest.mark.filterwarnings("ignore::ingot.jit.TracerWarning")
def test_code_finds_and_sets_the_limit_as_eager_code_does():
    limit, limits = sys.getrecursionlimit(), []

    @jit.trace
    def step(x):
        limits.append(sys.getrecursionlimit())
        return x * sys.getrecursionlimit()

    try:
        for new in (limit, limit, limit + 7, limit + 7):
            sys.setrecursionlimit(new)
            assert step(ingot.ones(1)).item() == new
        assert limits == [limit, limit, limit + 7, limit + 7]
        raising = jit.trace(lambda x: (sys.setrecursionlimit(limit + 30), x * 2)[1], refuse=False)
        for _ in range(3):
            raising(ingot.ones(1))
            assert sys.getrecursionlimit() == recursion_limit() == limit + 30
    finally:
        sys.setrecursionlimit(limit)


def test_blocks_nest_and_keep_a_limit_that_code_inside_sets():
    limit = sys.getrecursionlimit()
    try:
        with more_frames(10), more_frames(5):
            assert (sys.getrecursionlimit(), recursion_limit()) == (limit + 15, limit)
        with more_frames(10):
            sys.setrecursionlimit(limit + 3)
            assert recursion_limit() == limit + 3
        assert sys.getrecursionlimit() == limit + 3
    finally:
        sys.setrecursionlimit(limit)
