"""Host functions that change a container that they are given: the call runs eagerly, whatever the container and the change."""

from array import array

import numpy as np
import pytest

import ingot
from ingot import jit
from ingot.runtime.distributed.collectives.traceable import done_in_order

pytestmark = pytest.mark.filterwarnings("ignore::ingot.jit.TracerWarning")


def swap(values, new):
    values.clear()
    values.add(new)


def put(values, new):
    values[0] = new


# Container -> (its maker from one element, function that replaces the element, pairs of elements).
CONTAINERS = {
    "set": (lambda x: {x}, swap, [(2, 3), (2, 2.0), (1, True), (0.0, -0.0), (2.0, 2), ("a", "b"), (1, "1"), (0, False)]),
    "list": (lambda x: [x], put, [(2, 3), (2, 2.0), (1, True), (0.0, -0.0)]),
    "dict": (lambda x: {0: x}, put, [(2, 3), (2, 2.0), (1, True), (0.0, -0.0)]),
    "bytearray": (lambda x: bytearray([x]), put, [(2, 3)]),
    "array": (lambda x: array("d", [x]), put, [(2, 3), (0.0, -0.0)]),
    "ndarray": (lambda x: np.array([x]), put, [(2, 3), (0.0, -0.0)]),
    "set in a tuple": (lambda x: (1, {x}), lambda t, new: swap(t[1], new), [(2, 3), (2, 2.0)]),
    "set in a list": (lambda x: [{x}], lambda t, new: swap(t[0], new), [(2, 3), (1, True)]),
}
CASES = [(name, *pair) for name, (_, _, pairs) in CONTAINERS.items() for pair in pairs]


@pytest.mark.parametrize("gives", [True, False], ids=["tensors", "nothing"])
@pytest.mark.parametrize("place", ["inside", "outside", "argument"])
@pytest.mark.parametrize("name, first, second", CASES)
def test_changes_are_those_of_eager_code(name, first, second, place, gives):
    make, change, _ = CONTAINERS[name]

    def calls(wrap):
        held, seen = make(first), []

        @jit.host
        def host(values, x):
            seen.append(repr(values))
            change(values, second)
            return x * 1 if gives else None

        def inside(x):
            values = make(first)
            return host(values, x), values

        def outside(x):
            return (host(held, x),)

        def argument(x, values):
            return (host(values, x),)

        f, found = wrap({"inside": inside, "outside": outside, "argument": argument}[place]), []
        for _ in range(4):
            given = (make(first),) if place == "argument" else ()
            result = f(ingot.ones(2), *given)
            found.append((repr(result), repr(held), repr(given)))
        return found, seen

    assert calls(jit.trace) == calls(lambda f: f)


def test_sets_that_nothing_changes_are_recorded():
    seen = []
    host = jit.host(lambda values, x: seen.append((values, x.sum().item())))

    @jit.trace
    def f(x):
        values = {1, 2.5}
        host(values, x)
        return x * 2, values

    for i in range(5):
        assert f(ingot.full((2,), float(i)))[1] == {1, 2.5}
    assert seen == [({1, 2.5}, 2.0 * i) for i in range(5)] and f.stats()["compiles"] == 1 and not f.stats()["eager"]


# Results of ingot's own host functions.


def halves(x):
    row = x.clone().reshape(-1)
    return [row[:3], row[3:]]


SHARING = {
    "the argument": lambda x: [x, x * 2], "a view of it": lambda x: [x[0], x * 2], "its data": lambda x: [x.data, x * 2],
    "one result twice": lambda x: [x * 2] * 2, "views of one": lambda x: [v := x * 2, v[0]], "parts of one": halves,
    "new ones": lambda x: [x * 2, x * 3],
}


@pytest.mark.parametrize("sharing", SHARING)
def test_results_of_own_host_functions_share_no_memory(sharing):
    """The recorded call writes to memory of its own, as a replay does."""
    found = []

    @jit.trace
    def fn(x):
        first, second = done_in_order(SHARING[sharing], [x], sharing)
        first.add_(1)
        return first, second, x * 1

    for _ in range(4):
        x = ingot.arange(6.0).reshape(2, 3)
        found.append([t.tolist() for t in (*fn(x), x)])
    assert found == [found[-1]] * 4 and found[0][-1] == [[0, 1, 2], [3, 4, 5]]
