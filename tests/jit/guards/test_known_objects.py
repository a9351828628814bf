"""Arguments that are structures of containers: every call brings new tensors in them, and none is recorded again or kept
alive."""

import gc
import weakref
from collections import OrderedDict, namedtuple
from dataclasses import dataclass, fields, is_dataclass

import pytest

import ingot
from ingot import jit
from side_by_side import plain, vec

State = namedtuple("State", "h c")


@dataclass
class Batch:
    x: object
    y: object
    name: str = "up"

    def product(self):
        return self.x * self.y


@dataclass(frozen=True)
class Frozen:
    x: object
    y: object
    name: str = "up"


def item(b):
    return b["x"] * 2


def unpacked(b):
    x, (h, c) = b
    return x * h + c


def nested(b):
    return {"sum": b["a"] + b["b"][0], "size": len(b["b"])}


def all_of(b):
    return [{k: v * i for k, v in part.items()} for i, part in enumerate(b)]


def helper(part):
    return part["x"][0] * len(part["x"])


def through_a_helper(b):
    return helper(b["q"])


def states(b):
    return b[0].h * b[1][0] + b[1].c


def branch(b):
    return b["x"][0] * b["rate"] if b["mode"]["name"] == "up" else b["x"][0] - b["rate"]


def fields_read(b):
    return b.x * 2 + b.y if b.name == "up" else b.x - b.y


def method(b):
    return b.product() if isinstance(b, Batch) else b.x * b.y


def inner_fields(b):
    return b["one"].x * b["more"][0].y


STRUCTURES = [
    (fields_read, lambda: Batch(vec(1.0), vec(2.0))),
    (fields_read, lambda: Frozen(vec(1.0), vec(2.0), "down")),
    (method, lambda: Batch(vec(1.0), vec(2.0))),
    (inner_fields, lambda: {"one": Batch(vec(1.0), None), "more": [Frozen(0, vec(3.0))]}),
    (item, lambda: {"x": vec(1.0, 2.0)}),
    (item, lambda: OrderedDict(x=vec(1.0, 2.0))),
    (unpacked, lambda: (vec(1.0), (vec(2.0), vec(3.0)))),
    (unpacked, lambda: [vec(1.0), [vec(2.0), vec(3.0)]]),
    (nested, lambda: {"a": vec(1.0), "b": [vec(2.0)]}),
    (all_of, lambda: [{"x": vec(1.0)}, {"y": vec(2.0), "z": vec(3.0)}]),
    (through_a_helper, lambda: {"q": {"x": (vec(1.0), vec(2.0))}}),
    (states, lambda: (State(vec(1.0), vec(2.0)), State(vec(3.0), vec(4.0)))),
    (branch, lambda: {"x": [vec(1.0)], "rate": 2.0, "mode": {"name": "up"}}),
]
structures = pytest.mark.parametrize("fn, make", STRUCTURES, ids=lambda v: v.__name__.strip("<>"))


@structures
def test_new_containers_are_like_the_old_ones(fn, make):
    traced = jit.trace(fn)
    for _ in range(6):
        b = make()
        assert plain(traced(b)) == plain(fn(b))
    assert traced.stats()["compiles"] == 1, traced.stats()["misses"]


def test_containers_that_are_filled_anew():
    b, traced = {"a": None, "b": [None]}, jit.trace(nested)
    for i in range(6):
        b["a"], b["b"][0] = vec(1.0 + i), vec(2.0)
        assert plain(traced(b)) == plain(nested(b))
    assert traced.stats()["compiles"] == 1, traced.stats()["misses"]


def test_a_changed_structure_is_noticed():
    traced, b = jit.trace(branch), {"x": [vec(1.0)], "rate": 2.0, "mode": {"name": "up"}}
    for name, rate, size in [("up", 2.0, 1), ("down", 2.0, 1), ("up", 3.0, 2), ("down", 0.5, 3), ("up", 2.0, 1)] * 2:
        b["mode"]["name"], b["rate"], b["x"] = name, rate, [vec(*range(size))]
        assert plain(traced(b)) == plain(branch(b)), (name, rate, size)


@structures
def test_the_first_arguments_are_not_kept(fn, make):
    def leaves(b):
        parts = [getattr(b, f.name) for f in fields(b)] if is_dataclass(b) else b.values() if isinstance(b, dict) else b
        return [b] if isinstance(b, ingot.Tensor) else [
            t for v in parts for t in leaves(v)] if is_dataclass(b) or isinstance(b, (list, tuple, dict)) else []

    traced, first = jit.trace(fn), make()
    traced(first)
    kept = [weakref.ref(t) for t in leaves(first)]
    del first
    traced(make())
    gc.collect()
    assert not [ref() for ref in kept if ref() is not None]


@pytest.mark.parametrize("kind", [Batch, Frozen])
def test_changed_fields_are_noticed(kind):
    traced = jit.trace(fields_read)
    for name, y, size in [("up", 2.0, 1), ("down", 2.0, 1), ("up", 3.0, 2), ("down", 0.5, 3), ("up", 7.0, 4)] * 2:
        b = kind(vec(*range(size)), y, name)
        assert plain(traced(b)) == plain(fields_read(b)), (name, y, size)


def test_attributes_that_are_no_fields_are_guarded():
    def fn(b):
        return b.x * b.scale

    traced, b = jit.trace(fn), Batch(vec(1.0), vec(2.0))
    for scale in (1.0, 2.0, 3.0, 3.0, 0.5):
        b.scale = scale
        assert traced(b).item() == scale


def test_a_dataclass_that_is_written_is_refused_or_written():
    def fn(b):
        b.y = b.x * 2
        return b.y

    b = Batch(vec(1.0), None)
    with pytest.raises(jit.TraceError):
        jit.trace(fn)(b)
