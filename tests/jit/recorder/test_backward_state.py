"""State of a call that user code in a later backward changes: it is refused, and state that is only held is not."""

import collections
import functools
import io
import itertools
import random

import numpy as np
import pytest

import ingot
from ingot import jit


def in_ctx(store, use):
    """Return a function with a Function whose ctx holds an object."""
    class Using(ingot.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.held = store()
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * use(ctx.held)

    return lambda x: Using.apply(x)


def in_hook(store, use):
    """Return a function with a hook whose closure holds an object."""
    def fn(x):
        held = store()
        y = x * 2
        y.register_hook(lambda g: g * use(held))
        return y * 1
    return fn


def in_node_hook(store, use):
    def fn(x):
        held = store()
        y = x * 2
        y.grad_fn.register_hook(lambda grads, given: tuple([g if g is None else g * use(held) for g in grads]))
        return y * 1
    return fn


class Count:
    def __init__(self):
        self.n = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.n += 1
        return float(self.n)


class Slotted:
    __slots__ = ("n",)

    def __init__(self):
        self.n = 0.0


class Listed(list):
    pass


def of_three():
    yield from (1.0, 2.0, 3.0, 4.0)


def endless():
    n = 0.0
    while True:
        n += 1
        yield n


def counted(d):
    d["n"] = d.get("n", 0.0) + 1
    return d["n"]


def lengthened(held):
    held.append(1.0)
    return float(len(held))


def raised(x):
    x.n += 1
    return x.n


def with_cell():
    n = 0.0

    def count():
        nonlocal n
        n += 1
        return n
    return count


def with_attribute():
    def count():
        count.n += 1
        return count.n
    count.n = 0.0
    return count


def with_class():
    class Counter:
        n = 0.0
    return Counter


def first_of(it):
    return next(it)[0]


CHANGED = {
    "list iterator": (lambda: iter([1.0, 2.0, 3.0]), next),
    "set iterator": (lambda: iter({1.0, 2.0, 3.0}), next),
    "dictionary iterator": (lambda: iter({1.0: 1, 2.0: 2, 3.0: 3}), next),
    "text iterator": (lambda: iter("123"), lambda it: float(next(it))),
    "array iterator": (lambda: iter(np.arange(3.0)), lambda it: float(next(it))),
    "flat": (lambda: np.arange(3.0).flat, lambda it: float(next(it))),
    "count": (lambda: itertools.count(1.0), next),
    "cycle": (lambda: itertools.cycle([1.0, 2.0]), next),
    "chain": (lambda: itertools.chain([1.0], [2.0, 3.0]), next),
    "enumerate": (lambda: enumerate([5.0, 6.0, 7.0]), lambda it: next(it)[1]),
    "map": (lambda: map(float, [5, 6, 7]), next),
    "zip": (lambda: zip([5.0, 6.0, 7.0]), first_of),
    "generator": (of_three, next),
    "endless generator": (endless, next),
    "generator expression": (lambda: (x * 1.0 for x in [1, 2, 3]), next),
    "own iterator": (Count, next),
    "bound method": (lambda: Count().__next__, lambda f: f()),
    "method of an iterator": (lambda: iter([1.0, 2.0, 3.0]).__next__, lambda f: f()),
    "in a list": (lambda: [iter([1.0, 2.0, 3.0])], lambda held: next(held[0])),
    "in a partial": (lambda: functools.partial(counted, {}), lambda f: f()),
    "in a closure": (lambda: (lambda d: lambda: counted(d))({}), lambda f: f()),
    "cell": (with_cell, lambda f: f()),
    "attribute of a function": (with_attribute, lambda f: f()),
    "attribute of a class": (with_class, raised),
    "attribute": (Count, raised),
    "slot": (Slotted, raised),
    "dict": (dict, counted),
    "list": (list, lengthened),
    "derived list": (Listed, lengthened),
    "deque": (lambda: collections.deque([1.0, 2.0, 3.0]), lambda d: d.popleft()),
    "set": (lambda: {1.0, 2.0, 3.0}, lambda s: s.pop()),
    "bytearray": (lambda: bytearray(b"abc"), lambda b: float(b.pop())),
    "array": (lambda: np.zeros(1), lambda a: float(a.__iadd__(1.0)[0])),
    "file": (lambda: io.StringIO("1\n2\n3\n"), lambda f: float(f.readline())),
    "random numbers": (lambda: random.Random(0), lambda r: r.random()),
    "random numbers of numpy": (lambda: np.random.default_rng(0), lambda r: float(r.random())),
}
HELD = {
    "list iterator": (lambda: iter([1.0]), lambda held: 3.0),
    "generator": (of_three, lambda held: 3.0),
    "many": (lambda: {"a": [1.0, {2: (3.0, "x")}], "f": lambda: 1, "r": random.Random(1), "n": np.arange(3), "c": Count(),
                      "s": Slotted(), "k": with_class(), "p": functools.partial(counted, {}), "l": Listed([1])},
             lambda d: d["a"][0] + d["c"].n + len(d["l"])),
    "function that holds itself": (with_attribute, lambda f: f.n + 2),
}
WAYS = [in_ctx, in_hook, in_node_hook]


def life(wrap, fn):
    step, found = wrap(fn), []
    for _ in range(3):
        x = ingot.tensor([1.0, 2.0], requires_grad=True)
        y = step(x)
        y.sum().backward(retain_graph=True)
        y.sum().backward(retain_graph=True)
        found.append(x.grad.tolist())
    return found


@pytest.mark.parametrize("way", WAYS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("case", CHANGED)
def test_a_backward_that_changes_state_of_the_call_is_refused(case, way):
    with pytest.raises(jit.TraceError, match="inside"):
        life(jit.trace, way(*CHANGED[case]))


@pytest.mark.parametrize("way", WAYS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("case", HELD)
def test_state_that_a_backward_leaves_alone_is_not(case, way):
    fn = way(*HELD[case])
    assert life(jit.trace, fn) == life(lambda fn: fn, fn)
