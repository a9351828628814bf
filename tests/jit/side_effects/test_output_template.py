"""Objects among the results of traced functions: each call gives its own, or the function is refused."""

import copy
import enum
import functools
import types
from collections import OrderedDict, deque
from dataclasses import dataclass

import numpy as np
import pytest

import ingot
from ingot import distributions, jit, nn
from side_by_side import vec


class Result:
    def __init__(self, value, more=None):
        self.value, self.more = value, more


class Named(Result):
    kind = "named"

    @property
    def twice(self):
        return self.value * 2


@dataclass
class Pair:
    a: object
    b: object = 3


@dataclass(frozen=True)
class Frozen:
    a: object
    b: object = 3


class Slotted:
    __slots__ = ("a",)

    def __init__(self, a):
        self.a = a


class Colour(enum.Enum):
    RED = 1


CONFIG = Result(3, {"a": [1]})
LAYER = nn.Linear(2, 2)
FIXED = ingot.ones(2)


def plain(x):
    if isinstance(x, ingot.Tensor):
        return x.tolist()
    if isinstance(x, (list, tuple)):
        return [plain(v) for v in x]
    if isinstance(x, deque):
        return [x.maxlen, *map(plain, x)]
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    return (type(x).__name__, plain(vars(x))) if hasattr(x, "__dict__") and not isinstance(x, (type, enum.Enum)) else x


MADE = [
    lambda x: Result(x * 2), lambda x: Named(x + 1, [x, {"k": x * 3}]), lambda x: [Result(x), Result(Result(x - 1))],
    lambda x: Pair(x * 2), lambda x: Frozen(x * 2, Frozen(x)), lambda x: types.SimpleNamespace(a=x, b=[x * 2]),
    lambda x: Result(x.shape[0] * 2), lambda x: Result(x.sum().item()), lambda x: Result("a constant"),
    lambda x: {"out": Result(x, CONFIG)}, lambda x: Result(len(x), x.mean()),
    lambda x: deque([x * 2, "a", x.shape[0]], maxlen=4), lambda x: [deque(), Result(deque([x]))], lambda x: deque([[x]] * 2),
]


@pytest.mark.parametrize("fn", MADE)
def test_each_call_gives_its_own_object(fn):
    traced, before = jit.trace(fn), None
    for i in range(6):
        x = vec(*[1.0 + i] * (2 + i % 2))
        got = traced(x)
        assert plain(got) == plain(fn(x)), i
        assert got is not before
        before = got
    assert traced.stats()["compiles"] <= 3, traced.stats()["misses"]


def test_a_distribution_of_each_call():
    traced = jit.trace(lambda x: distributions.Normal(x.sin(), x.exp()))
    for i in range(4):
        x = vec(1.0 + i, 2.0)
        assert traced(x).mean.tolist() == x.sin().tolist() and traced(x).stddev.tolist() == x.exp().tolist()
    traced = jit.trace(lambda x: distributions.Categorical(logits=x))
    for i in range(4):
        x = vec(1.0 + i, 2.0)
        assert traced(x).probs.tolist() == distributions.Categorical(logits=x).probs.tolist()


def test_objects_keep_their_class_and_their_methods():
    traced = jit.trace(lambda x: Named(x * 2))
    for i in range(3):
        got = traced(vec(float(i)))
        assert type(got) is Named and got.twice.item() == 4.0 * i and got.kind == "named"


@pytest.mark.parametrize("thing", [CONFIG, LAYER, Colour.RED, Result, ingot.float32, len, FIXED])
def test_objects_from_before_the_call_are_returned_themselves(thing):
    traced = jit.trace(lambda x: (thing, x * 2))
    for _ in range(3):
        assert traced(vec(1.0))[0] is thing


@pytest.mark.parametrize("taken", [lambda s: s, copy.copy, copy.deepcopy], ids=["itself", "copy", "deep copy"])
def test_state_dicts_keep_their_version_metadata(taken):
    kept = Result(None)

    def fn(x):
        kept.value = taken(LAYER.state_dict())
        return taken(LAYER.state_dict()), LAYER(x)

    traced, before = jit.trace(fn), None
    for i in range(4):
        with ingot.no_grad():
            LAYER.weight.fill_(float(i))
        given, _ = traced(vec(1.0, 2.0))
        for found in (given, kept.value):
            assert type(found) is OrderedDict and found._metadata == {"": {"version": 1}} and list(found) == ["weight", "bias"]
            assert found["weight"].tolist() == [[float(i)] * 2] * 2
        assert kept.value is not given and kept.value is not before
        before = kept.value
    assert traced.stats()["compiles"] == 1


REFUSED = [
    lambda x: (v * 2 for v in x), lambda x: lambda: x * 2, lambda x: functools.partial(ingot.mul, x * 2),
    lambda x: iter([x * 2]), lambda x: map(abs, [x * 2]), lambda x: Result(lambda: x * 2), lambda x: (x * 2).tolist,
    lambda x: {"a": x * 2}.values(), lambda x: types.MappingProxyType({"a": x * 2}), lambda x: [ValueError(x * 2)],
]


@pytest.mark.parametrize("fn", REFUSED)
def test_results_that_cannot_be_rebuilt_are_refused(fn):
    with pytest.raises(jit.TraceError, match="could not make again"):
        jit.trace(fn)(vec(1.0, 2.0))


@pytest.mark.parametrize("make", [
    lambda: {1, 2}, lambda: bytearray(b"ab"), lambda: Frozen(2), lambda: np.arange(3), lambda: np.array(["a"]), lambda: [1],
    lambda: {"a": {1}}])
def test_objects_among_the_arguments_are_given_back_themselves(make):
    kept = Result(None)

    def fn(x, value):
        kept.value = value
        return x * 2, [value]

    traced = jit.trace(fn)
    for _ in range(4):
        value = make()
        assert traced(vec(1.0, 2.0), value)[1][0] is value is kept.value


@dataclass(frozen=True, eq=False)
class Compared:
    a: object


@dataclass(eq=False)
class Known:
    a: object


WHOLES = [{1, 2}, bytearray(b"ab"), Frozen(2), Compared(2), Known(2), Pair(2), Result(2), np.arange(3),
          np.array(["a"]), deque([2])]


@pytest.mark.parametrize("whole", WHOLES, ids=[type(x).__name__ for x in WHOLES[:-3]] + ["numbers", "texts", "deque"])
@pytest.mark.parametrize("others", [{3}, Frozen(4), Known(5)], ids=lambda x: type(x).__name__)
def test_one_object_in_two_places_is_one_object(whole, others):
    def from_outside(x):
        return [whole, others, whole, others, x * 2]

    def among_arguments(x, a, b, c, n):
        return [a, b, a, c, x * n]

    for fn, more in ((from_outside, ()), (among_arguments, (whole, others, others))):
        traced = jit.trace(fn)
        for i in range(4):
            given = (*more, 1.5 + i) if more else ()        # the number gets symbolic
            got, want = traced(vec(1.0), *given), fn(vec(1.0), *given)
            assert [a is b for a, b in zip(got[:4], want)] == [True] * 4 and plain(got[4]) == plain(want[4]), (fn.__name__, i)


@pytest.mark.parametrize("base", [list, set, dict, deque, OrderedDict, tuple])
def test_containers_of_a_class_whose_constructor_takes_operands(base):
    class Own(base):
        def __new__(cls, n):
            made = super().__new__(cls)
            made.n = n
            return made

        def __init__(self, n):
            super().__init__()

    traced = jit.trace(lambda x: (x * 2, Own(3)))
    for i in range(4):
        _, made = traced(ingot.ones(2) * i)
        assert type(made) is Own and made.n == 3 and not made
