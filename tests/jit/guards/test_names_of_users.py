"""Objects of users with attributes and methods of names that classes of ingot use for their own: they mean nothing there."""

import itertools
from collections import namedtuple

import pytest

import ingot
from ingot import jit
from ingot.ir.symbols.symbolic import SymInt
from ingot.jit.guards import expectation, guards, locations, snapshot
from ingot.jit.proxies.lazy_scalars import LazyScalar

CLASSES = (expectation.PartsExpectation, guards.Guard, guards.ModulesGuard, guards.ReadCondition, locations.SameAs,
           locations.Location, snapshot.Snapshot, snapshot.Exactly, snapshot.Remade, snapshot.ArraySnapshot, ingot.Tensor,
           SymInt, LazyScalar)
# Names that code might ask any object for, to see what it is.
ASKED = {"items", "keys", "values", "registry", "dispatch", "func", "args", "keywords", "cache_info", "acquire", "release",
         "param_groups", "state_dict", "strides", "dtype", "shape", "hint", "number", "parts", "get_state"}
NAMES = sorted(ASKED | {name for kind in CLASSES for c in kind.__mro__ for name in vars(c) if not name.startswith("_")})
WORLD: dict = {}


def named_tuple(name):
    kind = namedtuple("P", [name, "k"], rename=True)
    return (lambda i: kind([1, 2], 2.0 + i)), lambda x: x * WORLD["p"].k * len(WORLD["p"][0])


def attribute(name):
    kind = type("P", (), {})

    def make(i):
        p = kind()
        setattr(p, name, 3.0 + i)
        return p

    return make, lambda x: (x * getattr(WORLD["p"], name), WORLD["p"])


def method(name):
    """One that takes whatever it is called with, and agrees."""
    kind = type("P", (), {"__init__": lambda self, k: setattr(self, "k", k), name: lambda self, *args, **options: self.k})
    return (lambda i: kind(2.0 + i)), lambda x: (x * WORLD["p"].k, [WORLD["p"]])


def computed(name):
    kind = type("P", (), {"__init__": lambda self, k: setattr(self, "_k", k), name: property(lambda self: self._k)})
    return (lambda i: kind(2.0 + i)), lambda x: x * getattr(WORLD["p"], name)


def shown(value):
    if isinstance(value, ingot.Tensor):
        return value.tolist()
    return [shown(v) for v in value] if type(value) in (list, tuple) else value is WORLD["p"]


def results(world, name, trace):
    make, function = world(name)
    WORLD["p"], found = make(0), []
    called = trace(function)
    for i in range(3):
        WORLD["p"] = make(i)
        found.append(shown(called(ingot.ones(2))))
    return found


@pytest.mark.drawn
@pytest.mark.parametrize("part", range(8))
@pytest.mark.parametrize("world", [named_tuple, attribute, method, computed])
def test_names_of_users_mean_nothing(world, part):
    for name in itertools.islice(NAMES, part, None, 8):
        assert results(world, name, jit.trace) == results(world, name, lambda f: f), name
