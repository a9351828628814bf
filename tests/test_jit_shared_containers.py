"""Containers that live on, reached on many ways and changed in calls and between them: traced as eager, or refused."""

import collections

import pytest

import ingot
from ingot import jit, nn
from side_by_side import plain


class Table(dict):
    pass


class Shifted(dict):
    def __getitem__(self, key):
        return dict.__getitem__(self, key) + 1


KINDS = {"dict": dict, "ordered": collections.OrderedDict, "counter": collections.Counter,
         "default": lambda **items: collections.defaultdict(int, **items), "own": Table, "overriding": Shifted}


def bump(table):
    table["n"] = table["n"] + 1
    return table


def look(table, x):
    return x * table["n"]


def copied(table):
    return table.copy() if isinstance(table, collections.defaultdict) else type(table)(table)


class Places:
    """A container, in all the places in which the ways below find it."""

    def __init__(self, kind):
        self.table = kind(n=1)
        self.all = [self.table]
        self.module = nn.Identity()
        self.module.table = self.table

    def find(self):
        return self.table


WAYS = {
    "attribute": lambda p, x: look(p.table, x),
    "list": lambda p, x: sum(look(t, x) for t in p.all),
    "module": lambda p, x: look(p.module.table, x),
    "method": lambda p, x: look(p.find(), x),
    "length": lambda p, x: x * len(p.find()),
    "values": lambda p, x: x * sum(p.find().values()),
    "changed attribute": lambda p, x: look(bump(p.table), x),
    "changed in a list": lambda p, x: sum(look(bump(t), x) for t in p.all),
    "changed in a module": lambda p, x: look(bump(p.module.table), x),
    "changed copy": lambda p, x: look(bump(copied(p.table)), x),
    "changed alias": lambda p, x: look(bump([p.table][0]), x),
    "changed in a tuple": lambda p, x: sum(look(bump(t), x) for t, _ in zip(p.all, "a")),
    "to the end": lambda p, x: x * p.table.setdefault("n", p.table.pop("n")) + next(iter(p.table.values())),
}


def life(kind, way, road):
    """What four stages of three calls each give and leave, or why that was refused."""
    places = Places(KINDS[kind])
    fn, seen = road(lambda x: WAYS[way](places, x)), []
    for stage in range(4):
        if stage:
            places.table["n" if stage % 2 else "m"] = stage * 10
        for i in range(3):
            try:
                seen.append((plain(fn(ingot.ones(2) * i)), list(places.table.items())))
            except jit.TraceError as refusal:
                return str(refusal), fn
    return seen, fn


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_containers_that_live_on(kind, way):
    want, _ = life(kind, way, lambda fn: fn)
    got, traced = life(kind, way, jit.trace)
    if isinstance(got, str):
        assert kind in ("own", "overriding") and "lives outside of it" in got, got
    else:
        assert got == want
        assert traced.stats()["compiles"] <= 6, traced.stats()["misses"]


def rotate(table, x):
    key = next(iter(table))
    table[key] = table.pop(key)
    return x * table[key]


def moved_to_the_end(table, x):
    table["b"] = table.pop("b", 1)
    return x * next(iter(table.values()))


@pytest.mark.parametrize("kind", ["dict", "ordered", "counter", "default"])
@pytest.mark.parametrize("change", [rotate, moved_to_the_end])
def test_the_order_of_a_dictionary_that_lives_on(kind, change):
    found = []
    for road in (lambda fn: fn, jit.trace):
        table = KINDS[kind](a=2, b=3)
        fn = road(lambda x: change(table, x))
        found.append([(plain(fn(ingot.ones(2) * i)), list(table.items())) for i in range(5)])
    assert found[0] == found[1]


def test_keys_are_told_apart_by_identity():
    """Tensors are keys, too, and have no truth to compare them by."""
    first, second = ingot.ones(3), ingot.zeros(3)
    table = {first: 2.0, second: 3.0}

    @jit.trace
    def fn(x):
        table[second] = x
        return x * table[first]

    assert [plain(fn(ingot.ones(3) * i)) for i in range(3)] == [plain(ingot.ones(3) * 2 * i) for i in range(3)]
    assert plain(table[second]) == plain(ingot.ones(3) * 2)
