"""Positions of iterators: they change when an iterator moves on, and only then."""

import csv
import functools
import io
import itertools
import queue
import re
from collections import deque

import numpy as np
import pytest

import ingot
from ingot import jit
from ingot.jit.python_state.iterators import is_library_iterator, position
from ingot.utils.data import DataLoader

MADE = [lambda: iter([1, 2]), lambda: iter((1, 2)), lambda: iter({1: 2}), lambda: iter({1: 2}.items()), lambda: iter({1, 2}),
        lambda: iter(range(3)), lambda: iter("ab"), lambda: iter(b"ab"), lambda: reversed([1, 2]), lambda: iter(deque([1, 2])),
        lambda: zip([1, 2], "ab"), lambda: map(str, [1, 2]), lambda: filter(None, [1, 2]), lambda: enumerate("ab"),
        lambda: itertools.count(), lambda: itertools.chain([1], [2]), lambda: itertools.islice([1, 2], 2),
        lambda: itertools.repeat(1, 3), lambda: csv.reader(["a", "b"]), lambda: np.arange(3).flat,
        lambda: re.finditer("a", "aaa"), lambda: map(str, re.finditer("a", "aaa")), lambda: iter(deque([1, 2]).pop, 3),
        lambda: iter(re.compile("a").scanner("aaa").match, None), lambda: iter(iter([1, 2]).__next__, 3),
        lambda: iter(functools.partial(next, iter([1, 2])), 3), lambda: iter(range(10**20, 10**21)),
        lambda: map(str, map(abs, iter([1, 2]))), lambda: iter(DataLoader([1, 2]))]


@pytest.mark.parametrize("make", MADE)
def test_a_position_changes_as_the_iterator_moves(make):
    iterator = make()
    before = position(iterator)
    assert is_library_iterator(iterator)
    assert position(iterator) == before
    next(iterator)
    assert position(iterator) != before


def test_the_position_of_a_file_changes_as_a_loop_reads_it():
    with open(__file__) as file:
        before = position(file)
        assert position(file) == before == 0
        next(file)
        assert position(file) != before


@pytest.mark.parametrize("value", [[1], "a", range(3), {1: 2}.keys(), re.compile("a"), io.StringIO("a"), type("It", (), {
    "__next__": lambda self: 1})()])
def test_what_is_no_iterator_of_a_library(value):
    assert not is_library_iterator(value)


def nothing(x):
    """Return None, as a hook that leaves the gradient."""


HOOKS = {"map of finditer": lambda: map(nothing, re.finditer("a", "a" * 30)),
         "map of a list": lambda: map(nothing, iter([1] * 30)),
         "map of calls": lambda: map(nothing, iter(deque([1] * 30).pop, 3)),
         "long range": lambda: map(nothing, iter(range(10**20, 10**21)))}


@pytest.mark.parametrize("where", ["leaf", "result", "outside"])
@pytest.mark.parametrize("make", HOOKS.values(), ids=HOOKS)
def test_hooks_in_c_that_move_an_iterator(make, where):
    w, moving = ingot.ones(3, requires_grad=True), make()
    hook = functools.partial(next, moving)
    if where == "leaf":
        w.register_hook(hook)

    def step(x):
        y = x * w
        if where != "leaf":
            y.register_hook(hook)
        if where != "outside":
            y.sum().backward()
        return y.sum()

    with pytest.raises(jit.TraceError, match=r"an iterator that lives outside|changes an object"):
        jit.trace(step)(ingot.ones(3))


def put(numbers):
    """Return a queue that holds numbers."""
    found = queue.SimpleQueue()
    for n in numbers:
        found.put(n)
    return found


NUMBERS = [1.0, 2.5, 3.0, 4.0, 5.5, 6.0]
TAKEN = {       # what takes a number out of something from outside, for each object that it is made of
    "list": lambda: iter(NUMBERS).__next__, "generator": lambda: (n for n in NUMBERS).__next__,
    "enumerate": lambda: functools.partial(next, enumerate(NUMBERS)),
    "zip": lambda: functools.partial(next, zip(NUMBERS, NUMBERS)),
    "map": lambda: functools.partial(next, map(abs, NUMBERS)), "queue": lambda: put(NUMBERS).get_nowait,
    "DataLoader": lambda: iter(DataLoader(NUMBERS)).__next__,
    "parameters": lambda: functools.partial(next, ingot.nn.Linear(2, 2).requires_grad_(False).parameters()),
}


@pytest.mark.parametrize("wrap", [jit.trace, ingot.compile])
@pytest.mark.parametrize("row", TAKEN)
def test_a_host_function_takes_values_of_iterators(row, wrap):
    """The way out that the error names: each value is used once, and the end comes as in eager code."""
    def run(wrap):
        ingot.manual_seed(0)
        taken, step = TAKEN[row](), jit.host(lambda: ingot.as_tensor(taken()))

        def fn(x):
            y = x * step().sum()
            return y + 1 if y.sum() > 9 else y - step().sum()

        fn, results = wrap(fn), []
        for _ in range(9):
            try:
                results.append(fn(ingot.ones(2)).tolist())
            except Exception as error:
                results.append(type(error))
        return results

    assert run(wrap) == run(lambda fn: fn)
