"""Reasons why a call needs a recording of its own name the argument, what it is and what it was."""

import numpy as np
import pytest

import ingot
from ingot import jit

F32 = ingot.float32


def ones(*shape, **options):
    return ingot.ones(shape or (3,), **options)


def hooked():
    t = ones(requires_grad=True)
    t.register_hook(lambda g: None)
    return t


# (the argument at the first call, at the second, what the reason says)
CALLS = [
    (ones, lambda: ones(dtype=ingot.float64), "x['u'][0] has another dtype (float64, and was float32); "),
    (ones, lambda: ones(1, 3), "x['u'][0] has another number of dims (2, and was 1); "),
    (lambda: ones(3, 4), lambda: ones(4, 3).t(), "x['u'][0] has another order in memory; "),
    (ones, lambda: ones(requires_grad=True),
     "x['u'][0] is a leaf that requires grad, and was a tensor that requires no grad; "),
    (lambda: ones(requires_grad=True), lambda: ones(requires_grad=True) * 2,
     "x['u'][0] is a tensor with a history, and was a leaf that requires grad; "),
    (lambda: ones(requires_grad=True), hooked,
     "x['u'][0] is a leaf with hooks of its own, and was a leaf that requires grad; "),
    (ones, lambda: 2.0, "x['u'][0] is a number of type float, and was a tensor; "),
    (lambda: 2, lambda: 2.0, "x['u'][0] is a number of type float, and was a number of type int; "),
    (lambda: 2, ones, "x['u'][0] is a tensor, and was a number of type int; "),
    (lambda: "mean", lambda: "sum", "x['u'][0] is 'sum', and was 'mean'; texts, flags"),
    (lambda: True, lambda: None, "x['u'][0] is None, and was True; texts, flags"),
    (lambda: len, lambda: ones, "x['u'][0] is another function, ones, which counts by identity; "),
    (lambda: int, lambda: float, "x['u'][0] is another class, float, which counts by identity; "),
    (lambda: [1], lambda: (1,), "x['u'][0] is of another class, tuple; "),
    (lambda: [1], lambda: [1, 2], "x['u'][0] has 2 parts, and had 1; "),
    (object, object, "x['u'][0] is another object, of class object, which counts by identity; "),
]


@pytest.mark.parametrize("first, second, reason", CALLS, ids=[reason.partition("; ")[0] for *_, reason in CALLS])
def test_a_reason_names_what_differs(first, second, reason):
    @jit.trace
    def call(x):
        return x["u"]

    call({"u": [first()]})
    call({"u": [second()]})
    assert call.stats()["misses"][-1].startswith(reason)


ARRAYS = [      # (an array, the place of an item that changes)
    (np.zeros((3, 1000)), (2, 999)), (np.zeros(()), ()), (np.array([1, None, "a"], object), (1,)),
    (np.zeros(4, [("a", "i4"), ("b", "f4")]), (3,)),
]


@pytest.mark.parametrize("a, place", ARRAYS, ids=["floats", "number", "objects", "records"])
def test_a_reason_names_the_item_of_an_array_that_changed(a, place):
    a, call = a.copy(), jit.trace(lambda x: (x, a.copy()))
    call(ones())
    a[place] = (5, 6.0) if a.dtype.names else 7
    call(ones())
    step = ", ".join(map(str, place)) or "()"
    assert call.stats()["misses"][-1].startswith(f"a[{step}] was "), call.stats()["misses"]


scale, place = 2.0, None


def test_a_reason_names_what_the_function_reads():
    global scale, place

    @jit.trace
    def call(x):
        return x * scale * place

    said = []
    for number, tensor in [(2.0, ones()), (3.0, ones()), (3, ones()), (4, ones(dtype=ingot.float64))]:
        scale, place = number, tensor
        call(ones())
        said.append(call.stats()["misses"][-1])
    assert said[1].startswith("scale was 2.0, is 3.0 (")
    assert said[2].startswith("scale has another type; ") or said[2].startswith("scale was 3.0, is 3 ("), said
    assert said[3].startswith("place has another dtype (float64, and was float32); "), said


def over_one_array():
    a = np.ones(4, np.float32)
    return ingot.from_numpy(a)[:3], ingot.from_numpy(a)[1:]


def parts(first, second):
    t = ones(6)
    return t[first], t[second]


def twice():
    t = ones()
    return t, t


def views():
    t = ones()
    return t, t.view(3)


APART = lambda: (ones(), ones())
SHARED = [      # (the arguments at the first call, at the second, what the reason says)
    (APART, lambda: parts(slice(3), slice(3, 6)), "y shares memory with x, and did not; "),
    (lambda: parts(slice(3), slice(3, 6)), APART, "y no longer shares memory with x; "),
    (views, twice, "y is x, too; "),
    (twice, views, "y is no longer x; "),
    (lambda: parts(slice(3), slice(3, 6)), lambda: parts(slice(3), slice(0, 3)),
     "y is another view of the memory that it shares with x; "),
    (APART, over_one_array, "x and y overlap in memory, and did not; "),
    (over_one_array, APART, "x and y no longer overlap in memory; "),
]


@pytest.mark.parametrize("first, second, reason", SHARED, ids=[reason.partition("; ")[0] for *_, reason in SHARED])
def test_a_reason_names_the_arguments_that_share_memory(first, second, reason):
    call = jit.trace(lambda x, y: x * 2 + y)
    for arguments in (first(), second()):
        x, y = arguments
        assert call(x, y).tolist() == (x * 2 + y).tolist()
    assert call.stats()["misses"][-1].startswith(reason), call.stats()["misses"]


# (function, its argument at the first call, at the second, what the reason says)
ASKED = [
    (lambda x: x.add_(1), ones, lambda: ones().data, "x is .data of a tensor, or no longer is, so writes to it are checked"),
    (lambda x: (x.grad_fn.name(), x * 2), lambda: ones(requires_grad=True) * 2, lambda: ones(requires_grad=True) + 1,
     "x has a history of another kind, which the function looks at"),
]


@pytest.mark.parametrize("function, first, second, reason", ASKED, ids=[reason for *_, reason in ASKED])
def test_a_reason_names_what_the_function_asks_of_an_argument(function, first, second, reason):
    call = jit.trace(lambda x: function(x))
    call(first())
    call(second())
    assert call.stats()["misses"][-1].startswith(reason), call.stats()["misses"]
