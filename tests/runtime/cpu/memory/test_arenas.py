"""Arenas of native calls: a thread caches a large one for the next call, whichever it is."""

import threading

import numpy as np
import pytest

from ingot.runtime.cpu.memory import alloc, arenas


@pytest.fixture(autouse=True)
def _no_spare():
    arenas._spare.arena = None
    yield
    arenas._spare.arena = None


def test_a_large_arena_serves_the_next_call_of_any_graph():
    first, second = arenas.Arenas(alloc.SMALL_BYTES * 2), arenas.Arenas(alloc.SMALL_BYTES)
    arena = first.take()
    first.give(arena)
    assert second.take() is arena


def test_arenas_in_use_do_not_overlap():
    made = arenas.Arenas(alloc.SMALL_BYTES)
    a, b = made.take(), made.take()
    assert not np.shares_memory(a, b)
    made.give(a)
    made.give(b)
    assert made.take() is a, "one waits"
    assert made.take() is not a


def test_the_larger_arena_is_cached_and_too_large_ones_are_freed():
    small, large, huge = (arenas.Arenas(n) for n in (alloc.SMALL_BYTES, 4 * alloc.SMALL_BYTES, arenas._LARGEST_SPARE * 2))
    a, b = small.take(), large.take()
    small.give(a)
    large.give(b)
    huge.give(huge.take())
    assert small.take() is b
    assert large.take() is not a, "too small for it"


def test_each_thread_has_its_own():
    made, seen = arenas.Arenas(alloc.SMALL_BYTES), []
    mine = made.take()
    made.give(mine)
    thread = threading.Thread(target=lambda: seen.append(made.take()))
    thread.start()
    thread.join()
    assert seen[0] is not mine and made.take() is mine
