"""Bound methods, views and iterators of containers, wherever a traced function gets them from: the containers count."""

import array
import functools
import operator
import os
import types
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, defaultdict, deque, namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest

import ingot
from ingot import jit, nn, optim


class Row(NamedTuple):
    """An object that leads to a container.

    held       the object that the function gets
    use        how the function makes a number of it
    change     what happens between two calls
    content    the container as text, to compare side effects
    """

    held: Any
    use: Callable
    change: Callable
    content: Callable


class Reader:
    def __init__(self):
        self.values = {"k": 2.0}

    def rate(self):
        return self.values["k"]

    def __call__(self):
        return self.values["k"]


@dataclass
class Rates:
    values: dict = field(default_factory=lambda: {"k": 2.0})

    def rate(self):
        return self.values["k"]


Pair = namedtuple("Pair", "values rest")


def _set(d, value):
    d["k"] = value


def _mappings(make) -> dict:
    """Return rows of the objects that lead to a dictionary which `make` returns."""
    ways = {
        "get": (lambda d: d.get, lambda g: g("k")),
        "getitem": (lambda d: d.__getitem__, lambda g: g("k")),
        "contains": (lambda d: d.__contains__, lambda g: 1.0 + g("new")),
        "len": (lambda d: d.__len__, lambda g: float(g())),
        "keys": (lambda d: d.keys, lambda g: float(len(list(g())))),
        "values": (lambda d: d.values, lambda g: sum(g())),
        "items": (lambda d: d.items, lambda g: sum([v for _, v in g()])),
        "copy": (lambda d: d.copy, lambda g: g()["k"]),
        "view of values": (lambda d: d.values(), lambda g: sum(g)),
        "view of items": (lambda d: d.items(), lambda g: sum([v for _, v in g])),
        "view of keys": (lambda d: d.keys(), lambda g: float(len(g))),
        "itself": (lambda d: d, lambda g: g["k"]),
        "pop": (lambda d: d.pop, lambda g: g("new", 0.5)),
        "setdefault": (lambda d: d.setdefault, lambda g: g("late", 3.0)),
    }

    def row(way, use):
        d = make()
        steps = iter([5.0, 7.0, 9.0])

        def change():
            _set(d, next(steps))
            d["new"] = 1.0

        return Row(way(d), use, change, lambda: sorted(map(str, dict(d).items())))

    return {name: functools.partial(row, *how) for name, how in ways.items()}


def _sequences(make) -> dict:
    ways = {
        "getitem": (lambda s: s.__getitem__, lambda g: g(0)),
        "len": (lambda s: s.__len__, lambda g: float(g())),
        "count": (lambda s: s.count, lambda g: 1.0 + g(5.0)),
        "index": (lambda s: s.index, lambda g: 1.0 + g(3.0)),
        "iter": (lambda s: s.__iter__, lambda g: sum(g())),
        "append": (lambda s: s.append, lambda g: 1.0 if g(4.0) is None else 0.0),
        "pop": (lambda s: s.pop, lambda g: g()),
        "itself": (lambda s: s, lambda g: g[0]),
        "iterator": (iter, lambda g: next(g)),
    }

    def row(way, use):
        s = make()
        steps = iter([5.0, 7.0, 9.0])

        def change():
            s[0] = next(steps)
            s.append(6.0)

        return Row(way(s), use, change, lambda: str(list(s)))

    return {name: functools.partial(row, *how) for name, how in ways.items()}


def _other(held, use, change, content=str) -> Callable:
    """Return a function that makes a row: `held(x)`, `use` and `change(x, number)` of an object `x` that the row makes."""
    def row(make):
        x, steps = make(), iter([5.0, 7.0, 9.0])
        return Row(held(x), use, lambda: change(x, next(steps)), lambda: content(x))

    return lambda make: functools.partial(row, make)


def _network():
    net = nn.Linear(1, 1)
    return net, optim.SGD(net.parameters(), lr=2.0)


def _set_rate(pair, value):
    pair[1].param_groups[0]["lr"] = value


def _environment():
    os.environ["INGOT_TEST_RATE"] = "2.0"
    return os.environ


def _set_environment(e, value):
    e["INGOT_TEST_RATE"] = str(value)


def _put(s, value):
    s.clear()
    s.add(value)


_of_groups = functools.partial(_other, change=_set_rate, content=lambda pair: pair[1].param_groups[0]["lr"])
_of_environment = functools.partial(_other, change=_set_environment, content=lambda e: e["INGOT_TEST_RATE"])
_of_set = functools.partial(_other, change=_put)
_of_array = functools.partial(_other, change=lambda a, v: a.__setitem__(0, v))
_of_dict = functools.partial(_other, change=_set)
_of_reader = functools.partial(_other, change=lambda r, v: _set(r.values, v), content=lambda r: str(r.values))

_NUMBERS = (2.0, 3.0, 4.0, 6.0, 8.0, 9.0, 2.5, 3.5)
_DICT, _LIST = functools.partial(dict, k=2.0), functools.partial(list, _NUMBERS)
ROWS: dict = {
    **{f"{kind} {name}": row for kind, make in {
        "dict": _DICT, "OrderedDict": lambda: OrderedDict(k=2.0), "defaultdict": lambda: defaultdict(float, k=2.0),
        "Counter": lambda: Counter(k=2.0), "ChainMap": lambda: ChainMap({"k": 2.0}), "UserDict": lambda: UserDict(k=2.0),
    }.items() for name, row in _mappings(make).items()},
    **{f"{kind} {name}": row for kind, make in {
        "list": _LIST, "deque": lambda: deque(_NUMBERS), "array": lambda: array.array("d", _NUMBERS),
        "UserList": lambda: UserList(_NUMBERS),
    }.items() for name, row in _sequences(make).items()},
    "Counter total": _other(lambda c: c.total, lambda g: g(), _set)(lambda: Counter(k=2.0)),
    "Counter elements": _other(lambda c: c.most_common, lambda g: g()[0][1], _set)(lambda: Counter(k=2.0)),
    "OrderedDict reversed": _other(lambda d: d.__reversed__, lambda g: float(len(list(g()))), lambda d, v: d.update({v: v}))(
        lambda: OrderedDict(k=2.0)),
    "mappingproxy": _of_dict(types.MappingProxyType, lambda g: g["k"])(_DICT),
    "mappingproxy get": _of_dict(lambda d: types.MappingProxyType(d).get, lambda g: g("k"))(_DICT),
    "mappingproxy values": _of_dict(lambda d: types.MappingProxyType(d).values(), sum)(_DICT),
    "set contains": _of_set(lambda s: s.__contains__, lambda g: 1.0 + g(5.0))(lambda: {2.0}),
    "set copy": _of_set(lambda s: s.copy, lambda g: sum(g()))(lambda: {2.0}),
    "set union": _of_set(lambda s: s.union, lambda g: sum(g([1.0])))(lambda: {2.0}),
    "set add": _of_set(lambda s: s.add, lambda g: 1.0 if g(8.0) is None else 0.0, content=lambda s: sorted(s))(lambda: {2.0}),
    "numpy item": _of_array(lambda a: a.item, lambda g: g(0))(lambda: np.array([2.0])),
    "numpy sum": _of_array(lambda a: a.sum, lambda g: float(g()))(lambda: np.array([2.0])),
    "numpy tolist": _of_array(lambda a: a.tolist, lambda g: g()[0])(lambda: np.array([2.0])),
    "array tolist": _of_array(lambda a: a.tolist, lambda g: g()[0])(lambda: array.array("d", [2.0])),
    "memoryview": _of_array(memoryview, lambda g: g[0])(lambda: array.array("d", [2.0])),
    "memoryview getitem": _of_array(lambda a: memoryview(a).__getitem__, lambda g: g(0))(lambda: array.array("d", [2.0])),
    "memoryview tolist": _of_array(lambda a: memoryview(a).tolist, lambda g: g()[0])(lambda: array.array("d", [2.0])),
    "bytearray": _other(lambda b: b.__getitem__, lambda g: float(g(0)), lambda b, v: b.__setitem__(0, int(v)))(
        lambda: bytearray([2])),
    "environ": _of_environment(lambda e: e, lambda g: float(g["INGOT_TEST_RATE"]))(_environment),
    "environ get": _of_environment(lambda e: e.get, lambda g: float(g("INGOT_TEST_RATE")))(_environment),
    "environ getitem": _of_environment(lambda e: e.__getitem__, lambda g: float(g("INGOT_TEST_RATE")))(_environment),
    "environ items": _of_environment(lambda e: e.items(), lambda g: float(dict(g)["INGOT_TEST_RATE"]))(_environment),
    "groups": _of_groups(lambda pair: pair[1].param_groups, lambda g: g[0]["lr"])(_network),
    "groups getitem": _of_groups(lambda pair: pair[1].param_groups.__getitem__, lambda g: g(0)["lr"])(_network),
    "group getitem": _of_groups(lambda pair: pair[1].param_groups[0].__getitem__, lambda g: g("lr"))(_network),
    "group get": _of_groups(lambda pair: pair[1].param_groups[0].get, lambda g: g("lr"))(_network),
    "group items": _of_groups(lambda pair: pair[1].param_groups[0].items(), lambda g: dict(g)["lr"])(_network),
    "modules getitem": _other(lambda m: m.__getitem__, lambda g: g("k").negative_slope,
                              lambda m, v: setattr(m["k"], "negative_slope", v))(
        lambda: nn.ModuleDict({"k": nn.LeakyReLU(2.0)})),
    "modules values": _other(lambda m: m.values, lambda g: next(iter(g())).negative_slope,
                             lambda m, v: setattr(m["k"], "negative_slope", v))(
        lambda: nn.ModuleDict({"k": nn.LeakyReLU(2.0)})),
    "partial": _of_dict(lambda d: functools.partial(d.get, "k"), lambda g: g())(_DICT),
    "partial of a partial": _of_dict(lambda d: functools.partial(functools.partial(d.get), "k"), lambda g: g())(_DICT),
    "partial of itemgetter": _of_dict(lambda d: functools.partial(operator.itemgetter("k"), d), lambda g: g())(_DICT),
    "partial of a reader": _of_dict(lambda d: functools.partial(lambda values: values["k"], d), lambda g: g())(_DICT),
    "keywords of a partial": _of_dict(lambda d: functools.partial(lambda values: values["k"], values=d), lambda g: g())(_DICT),
    "method": _of_reader(lambda r: r.rate, lambda g: g())(Reader),
    "callable object": _of_reader(lambda r: r, lambda g: g())(Reader),
    "method of a dataclass": _of_reader(lambda r: r.rate, lambda g: g())(Rates),
    "namedtuple getitem": _other(lambda p: p.__getitem__, lambda g: g(0)["k"], lambda p, v: _set(p.values, v))(
        lambda: Pair({"k": 2.0}, 0)),
    "namedtuple asdict": _other(lambda p: p._asdict, lambda g: g()["values"]["k"], lambda p, v: _set(p.values, v))(
        lambda: Pair({"k": 2.0}, 0)),
    "map": _other(lambda s: functools.partial(map, float, s), lambda g: sum(g()), lambda s, v: s.append(v))(_LIST),
    "getattr": _of_reader(lambda r: functools.partial(getattr, r, "values"), lambda g: g()["k"])(Reader),
    "attrgetter": _of_reader(lambda r: functools.partial(operator.attrgetter("values"), r), lambda g: g()["k"])(Reader),
    "methodcaller": _of_dict(lambda d: functools.partial(operator.methodcaller("get", "k"), d), lambda g: g())(_DICT),
}


@dataclass
class Holder:
    held: Any
    other: dict = field(default_factory=dict)       # (so that the object counts by its fields)


@dataclass(frozen=True)
class Frozen:
    held: Any


class Plain:
    def __init__(self, held):
        self.held = held


def _closure(use, held):
    return (lambda x: x * use(held)), (), {}


def _global(use, held):
    space = {"use": use, "held": held, "__name__": __name__}
    exec("def step(x):\n    return x * use(held)", space)
    return space["step"], (), {}


def _attribute(use, held):
    class Step:
        def __init__(self):
            self.held = held

        def step(self, x):
            return x * use(self.held)

    return Step().step, (), {}


# Place -> function of (use, object) that gives (traced function, arguments behind the tensor, keywords).
PLACES: dict = {
    "argument": lambda use, held: ((lambda x, g: x * use(g)), (held,), {}),
    "keyword": lambda use, held: ((lambda x, g: x * use(g)), (), {"g": held}),
    "list": lambda use, held: ((lambda x, g: x * use(g[0])), ([held],), {}),
    "dict": lambda use, held: ((lambda x, g: x * use(g["held"])), ({"held": held},), {}),
    "tuple": lambda use, held: ((lambda x, g: x * use(g[0])), ((held,),), {}),
    "deep": lambda use, held: ((lambda x, g: x * use(g["a"][0][0])), ({"a": [(held,)]},), {}),
    "partial": lambda use, held: ((lambda x, g: x * g()), (functools.partial(use, held),), {}),
    "dataclass": lambda use, held: ((lambda x, g: x * use(g.held)), (Holder(held),), {}),
    "frozen dataclass": lambda use, held: ((lambda x, g: x * use(g.held)), (Frozen(held),), {}),
    "object": lambda use, held: ((lambda x, g: x * use(g.held)), (Plain(held),), {}),
    "rest": lambda use, held: ((lambda x, *g: x * use(g[0])), (held,), {}),
    "named rest": lambda use, held: ((lambda x, **g: x * use(g["g"])), (), {"g": held}),
    "bound": lambda use, held: (functools.partial(lambda g, x: x * use(g), held), (), {}),
    "closure": _closure,
    "global": _global,
    "attribute": _attribute,
}


def differs(row, place) -> str:
    """Return how traced calls of a row differ from eager ones, or nothing. A call that is refused ends them."""
    eager, traced = row(), row()
    plain, plain_args, plain_names = PLACES[place](eager.use, eager.held)
    step, args, names = PLACES[place](traced.use, traced.held)
    step, x = jit.trace(step), ingot.ones(1)
    for at, is_changed in enumerate((False, False, False, True, False, True)):
        if is_changed:
            eager.change()
            traced.change()
        try:
            expected = plain(x, *plain_args, **plain_names).item()
        except (StopIteration, IndexError, RuntimeError) as error:      # there are no more items
            expected = type(error)
        try:
            got = step(x, *args, **names).item()
        except jit.TraceError:
            return ""
        except (StopIteration, IndexError, RuntimeError) as error:
            got = type(error)
        if got != expected:
            return f"call {at} gives {got}, eager {expected}"
        if str(traced.content()) != str(eager.content()):
            return f"call {at} leaves {traced.content()}, eager {eager.content()}"
    return ""


CASES = [(name, place) for name in ROWS for place in PLACES]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.drawn
@pytest.mark.parametrize(("name", "place"), CASES, ids=lambda x: x.replace(" ", "_"))
def test_objects_that_lead_to_containers(name, place):
    assert not differs(ROWS[name], place)
