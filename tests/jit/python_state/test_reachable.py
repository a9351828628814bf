"""Objects that traced code reaches on ways that no chain of names shows: what is replaced in them is seen."""

import contextvars
import functools
import itertools
import types
import weakref

import pytest

import ingot
from ingot import distributions, jit, nn
from side_by_side import vec


def by_a_loop(thing):
    things = [thing]

    def find():
        for found in things:
            last = found
        return last

    return find


def by_a_default(thing):
    def find(found=thing):
        return found

    return find


def by_a_cache(thing):
    find = functools.lru_cache(lambda: thing)
    find()
    return find


def by_a_variable(thing):
    variable = contextvars.ContextVar("variable")
    variable.set(thing)
    return variable.get


class Computing:
    def __init__(self, thing):
        self.things = {"found": [(thing,)]}

    def __getattr__(self, name):
        return self.things[name][0][0]


# Way -> maker of a function that finds an object there.
WAYS = {
    "loop": by_a_loop,
    "default": by_a_default,
    "method": lambda thing: types.MethodType(lambda own: own, thing),
    "reference": weakref.ref,
    "bound": lambda thing: functools.partial({"k": thing}.get, "k"),
    "partial": lambda thing: functools.partial(lambda found: found, thing),
    "values": lambda thing: lambda things={"a": [(thing,)]}: next(iter(things.values()))[0][0],
    "largest": lambda thing: lambda things=(thing,): max(things, key=lambda found: 1),
    "cache": by_a_cache,
    "variable": by_a_variable,
    "computed": lambda thing: lambda owner=Computing(thing): owner.found,
    "chain": lambda thing: lambda things=(thing,): next(itertools.chain(things)),
}
QUICK = 5


def holder(child):
    m = nn.Module()
    m.child = child
    return m


# Kind -> maker of the holder, use of what the holder has, its name, maker of what is put in its place.
KINDS = {
    "parameter": (lambda: nn.Linear(3, 3), lambda get, x: get().weight @ x, "weight", lambda: nn.Parameter(ingot.ones(3, 3))),
    "child": (lambda: holder(nn.Tanh()), lambda get, x: get().child(x), "child", nn.ReLU),
    "parameters": (lambda: nn.Linear(3, 3), lambda get, x: next(get().parameters()) @ x, "weight",
                   lambda: nn.Parameter(ingot.ones(3, 3))),
    "children": (lambda: nn.Sequential(nn.Tanh()), lambda get, x: next(get().children())(x), "0", nn.ReLU),
    "name": (lambda: nn.Linear(3, 3), lambda get, x: x * getattr(get(), "".join(("in_", "features"))), "in_features",
             lambda: 7),
    "scale": (lambda: distributions.Normal(vec(0., 0., 0.), vec(1., 1., 1.)), lambda get, x: get().log_prob(x), "scale",
              lambda: vec(3., 3., 3.)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", [way if n < QUICK else pytest.param(way, marks=pytest.mark.slow) for n, way in enumerate(WAYS)])
def test_replaced_parts_are_seen(way, kind):
    make, use, name, another = KINDS[kind]
    thing = make()
    find = WAYS[way](thing)
    traced = jit.trace(lambda x: use(find, x))
    x = vec(-1., 0.5, 2.)
    traced(x)
    setattr(thing, name, another())
    assert traced(x).tolist() == use(lambda: thing, x).tolist()


def test_the_number_of_a_tensor_is_that_of_the_call():
    known, a, b = {}, vec(1., 2.), vec(3., 4.)

    @jit.trace
    def doubled(x):
        if id(x) not in known:
            known[id(x)] = x * 2
        return known[id(x)]

    assert [doubled(t).tolist() for t in (a, a, b, a)] == [[2., 4.], [2., 4.], [6., 8.], [2., 4.]]
