"""Weak references that a traced function follows: traces keep nothing alive to which nothing else leads."""

import gc
import weakref
from operator import attrgetter

import pytest

import ingot
from ingot import jit, nn

pytestmark = pytest.mark.filterwarnings("ignore::ingot.jit.TracerWarning")


class Thing:
    """An object with a number and a tensor."""

    def __init__(self):
        self.k, self.w = 2.0, ingot.ones(3)

    def scaled(self, x):
        return x * self.k + self.w


class Table(weakref.WeakValueDictionary):
    """A user's weak container."""


OBJECTS = {
    "tensor": (lambda: ingot.full((3,), 2.0), lambda o, x: x * o),
    "parameter": (lambda: nn.Parameter(ingot.full((3,), 2.0)), lambda o, x: x * o),
    "module": (lambda: nn.Linear(3, 3), lambda o, x: o(x)),
    "object": (Thing, lambda o, x: x * o.k + o.w),
    "method": (Thing, lambda o, x: o.scaled(x)),
}


def first(found):
    return next(iter(found), None)


# Weak container or reference -> (its maker, function that takes the object out).
WAYS = {
    "ref": (weakref.ref, lambda r: r()),
    "ref in a list": (lambda o: [weakref.ref(o)], lambda r: first([ref() for ref in r])),
    "ref by a method": (weakref.ref, lambda r: r.__call__()),
    "values get": (lambda o: weakref.WeakValueDictionary(a=o), lambda d: d.get("a")),
    "values item": (lambda o: weakref.WeakValueDictionary(a=o), lambda d: d["a"] if len(d) else None),
    "values loop": (lambda o: weakref.WeakValueDictionary(a=o), lambda d: first(d.values())),
    "values items": (lambda o: weakref.WeakValueDictionary(a=o), lambda d: first([v for _, v in d.items()])),
    "values references": (lambda o: weakref.WeakValueDictionary(a=o), lambda d: first([r() for r in d.valuerefs()])),
    "values of a subclass": (lambda o: Table(a=o), lambda d: d.get("a")),
    "copy": (lambda o: weakref.WeakValueDictionary(a=o), lambda d: d.copy().get("a")),
    "keys loop": (lambda o: weakref.WeakKeyDictionary({o: 3.0}), first),
    "keys items": (lambda o: weakref.WeakKeyDictionary({o: 3.0}), lambda d: first([k for k, _ in d.items()])),
    "keys references": (lambda o: weakref.WeakKeyDictionary({o: 3.0}), lambda d: first([r() for r in d.keyrefs()])),
    "set": (lambda o: weakref.WeakSet([o]), first),
    "union of sets": (lambda o: weakref.WeakSet([o]), lambda s: first(s | weakref.WeakSet())),
    "finalizer": (lambda o: weakref.finalize(o, len, ()), lambda f: (f.peek() or [None])[0]),
}
USES = {"uses it": None, "asks whether it lives": lambda o, x: x * 5}


def _function(take, held, use):
    def f(x):
        found = take(held)
        return x * 0 if found is None else use(found, x)
    return f


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", OBJECTS)
def test_an_object_dies_with_its_owner(kind, way, use):
    make, compute = OBJECTS[kind]
    hold, take = WAYS[way]
    owner, x = make(), ingot.ones(3)
    held, alive = hold(owner), weakref.ref(owner)
    plain = _function(take, held, USES[use] or compute)
    f = jit.trace(plain)
    for _ in range(6):
        assert f(x).tolist() == plain(x).tolist()
    if kind in ("object", "method"):
        owner.k = 7.0
        assert f(x).tolist() == plain(x).tolist()
    del owner
    gc.collect()
    assert alive() is None
    for _ in range(3):
        assert f(x).tolist() == plain(x).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("call", [lambda p, x: x * p.k + p.w, lambda p, x: p.scaled(x), lambda p, x: attrgetter("k")(p) * x],
                         ids=["attributes", "method", "attrgetter"])
def test_a_proxy_keeps_nothing_alive(call):
    owner, x = Thing(), ingot.ones(3)
    proxy, alive = weakref.proxy(owner), weakref.ref(owner)
    f = jit.trace(lambda x: call(proxy, x))
    for k in (2.0, 2.0, 3.0, 3.0):
        owner.k = k
        assert f(x).tolist() == call(proxy, x).tolist()
    del owner
    gc.collect()
    assert alive() is None
    with pytest.raises(ReferenceError):
        f(x)


def test_a_weak_method_keeps_nothing_alive():
    owner, x = Thing(), ingot.ones(3)
    method, alive = weakref.WeakMethod(owner.scaled), weakref.ref(owner)
    f = jit.trace(lambda x: x * 0 if method() is None else method()(x))
    assert [f(x).tolist() for _ in range(4)] == [[3.0, 3.0, 3.0]] * 4
    del owner
    gc.collect()
    assert alive() is None
    assert f(x).tolist() == [0.0, 0.0, 0.0]


def test_whether_a_finalizer_is_alive():
    owner, x = Thing(), ingot.ones(3)
    done = weakref.finalize(owner, len, ())
    f = jit.trace(lambda x: x * 2 if done.alive else x * 3)
    assert [f(x)[0].item() for _ in range(4)] == [2.0] * 4
    del owner
    gc.collect()
    assert f(x)[0].item() == 3.0


class Child(nn.Module):
    """A module with a weak reference to its parent."""

    def __init__(self, parent):
        super().__init__()
        self.parent = weakref.ref(parent)

    def forward(self, x):
        return x * self.parent().scale


class Parent(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale, self.child = 2.0, Child(self)

    def forward(self, x):
        return self.child(x)


def test_objects_that_other_ways_lead_to_are_recorded():
    net, x = Parent(), ingot.ones(3)
    f = jit.trace(net)
    for scale in (2.0, 2.0, 5.0, 5.0, 5.0):
        net.scale = scale
        assert f(x).tolist() == [scale] * 3
    assert f.stats()["compiles"] == 2 and not f.stats()["eager"]


def test_lookups_by_objects_are_recorded():
    owner, x = Thing(), ingot.ones(3)
    factors, names = weakref.WeakKeyDictionary({owner: 3.0}), weakref.WeakValueDictionary(a=owner)
    f = jit.trace(lambda o, x: x * factors[o] if "a" in names else x)
    assert [f(owner, x)[0].item() for _ in range(4)] == [3.0] * 4
    assert f.stats()["compiles"] == 1 and not f.stats()["eager"]


def test_a_reference_that_nothing_follows_is_recorded():
    owner, other, x = Thing(), Thing(), ingot.ones(3)
    owner.other = weakref.ref(other)
    f = jit.trace(lambda x: x * owner.k)
    assert [f(x)[0].item() for _ in range(4)] == [2.0] * 4
    assert f.stats()["compiles"] == 1
    del other
    gc.collect()
    assert owner.other() is None and f(x)[0].item() == 2.0 and f.stats()["compiles"] == 1


def test_classes_that_their_modules_hold_are_recorded():
    kinds, x = weakref.WeakValueDictionary(thing=Thing), ingot.ones(3)
    f = jit.trace(lambda x: kinds["thing"]().scaled(x))
    assert [f(x).tolist() for _ in range(4)] == [[3.0, 3.0, 3.0]] * 4
    assert f.stats()["compiles"] == 1
