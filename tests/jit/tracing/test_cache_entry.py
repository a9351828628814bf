"""Identity of containers, sets and arrays: arguments among each other, and arguments that are reached otherwise, too."""

import numpy as np
import pytest

import ingot
from ingot import jit


class Box:
    pass


KINDS = {"a list": lambda: [1, 2], "a dict": lambda: {"a": 1}, "a set": lambda: {1, 2}, "an array": lambda: np.ones(3),
         "bytes": lambda: bytearray(b"a"), "an object": Box, "a list of sets": lambda: [{1}], "an array of objects":
         lambda: np.array([None, 1], object)}
WRAPS = {"alone": (lambda v: v, lambda v: v), "in a list": (lambda v: [v], lambda v: v[0]),
         "in a dict": (lambda v: {"k": v}, lambda v: v["k"]), "in a tuple": (lambda v: (0, v), lambda v: v[1])}


def run(f, calls):
    """Return the answers of traced calls and of eager ones; those that are refused are left out of both."""
    traced, got, want = jit.trace(f), [], []
    for args in calls:
        try:
            found = traced(ingot.ones(2), *args)[1]
        except jit.TraceError:
            continue
        got.append(found)
        want.append(f(ingot.ones(2), *args)[1])
    return got, want


@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize("kind", KINDS)
def test_arguments_that_are_one_object(kind, wrap):
    put, take = WRAPS[wrap]
    a, b = KINDS[kind](), KINDS[kind]()
    one, two = (put(a), put(a)), (put(a), put(b))
    for first, second in ((one, two), (two, one)):
        got, want = run(lambda x, u, v: (x * 2, take(u) is take(v)), (first,) * 3 + (second,) * 2 + (first, second))
        assert got == want


HELD = Box()


def ways(kind):
    """Return {way: (the object that is reached, a function that compares an argument with it)}."""
    held = KINDS[kind]()
    HELD.value = held
    items = [held, 1]

    def default(x, u, cache=held):
        return x * 2, u is cache

    return {"closure": (held, lambda x, u: (x * 2, u is held)), "attribute": (held, lambda x, u: (x * 2, HELD.value is u)),
            "item": (held, lambda x, u: (x * 2, any(u is v for v in items))), "default": (held, default),
            "id": (held, lambda x, u: (x * 2, id(u) == id(held)))}


@pytest.mark.parametrize("way", ways("a list"))
@pytest.mark.parametrize("kind", KINDS)
def test_arguments_that_are_reached_otherwise(kind, way):
    held, f = ways(kind)[way]
    other = KINDS[kind]()
    for first, second in ((held, other), (other, held)):
        got, want = run(f, [(v,) for v in (first, first, first, second, second, first, second)])
        assert got == want


def test_containers_of_closures_and_new_ones_cost_no_recordings():
    def f(x, items, options):
        def part(k):
            return items[k] * options["scale"] if items is not None else x

        seen = dict(enumerate(items))
        return part(0) + sum(v.sum() for v in seen.values() if v is not x), items

    traced = jit.trace(f)
    for _ in range(5):
        traced(ingot.ones(2), [ingot.ones(2), ingot.ones(2)], {"scale": 2.0})
    assert traced.stats()["compiles"] == 1, traced.stats()["misses"]


def test_state_that_is_replaced_by_each_call_costs_no_recordings():
    box = Box()
    box.h = ingot.zeros(2)

    @jit.trace
    def step(x):
        if x is box.h:
            return x
        box.h = box.h + x
        return box.h * 1

    for i in range(6):
        assert step(ingot.ones(2)).tolist() == [i + 1] * 2
    assert step(box.h) is box.h
    assert step.stats()["compiles"] <= 3, step.stats()["misses"]
