"""Containers that outlive the call, reached on many ways and changed in calls and between them: traced as eager, or refused."""

import collections

import numpy as np
import pytest

import ingot
from fuzzed_modules.life import compare
from ingot import jit, nn
from side_by_side import plain, same_or_refused


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
    """Return the results and state of four stages of three calls each, or why that was refused."""
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


def numbers(h):
    return lambda x: h.append(x.sum().item()) or x


def several(h):
    return lambda x: h.extend([x.sum().item(), 1.5]) or x


def tensors(h):
    return lambda x: h.append(x.detach()) or x


def numbered(h):
    return lambda x: h.append(len(h)) or x


def from_the_first(h):
    return lambda x: h.append((h[0] if h else 0.0) + x.sum().item()) or x


def alike(h):
    return lambda x: h.append("the same object") or x


def now_and_then(h):
    return lambda x: h.append(1) or x if x.shape[0] > 2 else x


def averaged(h):
    return lambda x: h.append(x.sum().item()) or x * (sum(h) / len(h))


@pytest.mark.parametrize("program", [numbers, several, tensors, numbered, from_the_first, alike, now_and_then, averaged])
@pytest.mark.parametrize("size", [None, 2, 5])
def test_a_deque_of_the_latest_items(program, size):
    """Between calls others change it, too."""
    found = []
    for road in (lambda fn: fn, jit.trace):
        history = collections.deque(maxlen=size)
        call, seen = road(program(history)), []
        for i in range(12):
            if i == 9:
                history.extend([0.5, 0.25])
            seen.append((plain(call(ingot.ones(2 + i % 2) * i)), plain(list(history))))
        found.append(seen)
    assert found[0] == found[1]
    if program in (numbers, several, tensors):          # which read nothing of it
        assert call.stats()["compiles"] <= (2 if size is None else 4), call.stats()["misses"]


def test_appends_to_a_full_deque_are_counted_exactly():
    """Its content after the first call fits one new item, or two."""
    history = collections.deque([0.5, "a", "a"], maxlen=3)
    fn = jit.trace(lambda x: history.extend(["a", "a"]) or x)
    fn(ingot.ones(2))
    history.extend([1.0, 2.0, 3.0])
    fn(ingot.ones(2))
    assert list(history) == [3.0, "a", "a"]


HELD = """
class Plain:
    def __init__(self, a): self.a = a
o, p, n = Plain([]), Plain([1]), 3
def fn(x):
    global n
    out = []
    n += 1
    USE
    return x, out
def turn(i):
    global n
    n += i
"""


@pytest.mark.parametrize("use", [
    "o.a = [n]; out.append(o.a); copy.copy(o)", "o.a = [n]; out.append(o.a); copy.copy(o); o.a.append(3)",
    "o.a = [n]; t = o.a; copy.deepcopy(p); t.append(3); o.a.append(4)", "o.a = {'k': [n]}; out.append(o.a['k']); copy.copy(o)",
    "o.a = [x.sum().item(), n]; out.append(o.a); copy.copy(o); out[0].append(2)", "o.a = p.a = [n]; copy.copy(o)",
    "o.a = ([n], 2); out.append(o.a[0]); copy.copy(o)"])
def test_a_list_with_numbers_stays_the_same_list_where_these_become_constants(use):
    """Code that copies all attributes fixes the numbers that change."""
    verdict, _ = compare(HELD.replace("USE", use))
    assert verdict.kind == "same", verdict.text


def test_an_array_takes_the_place_of_a_set():
    table, written = {"k": set()}, {4}

    @jit.trace
    def fn(x):
        written.add(4)
        written.discard(5)
        return x, 2 in table["k"], len(written)

    for i in range(5):
        written.add(5)
        if i == 3:
            table["k"] = np.ones(3, "f")
        assert fn(ingot.ones(2))[1] is False


CONTENTS = {
    "list": lambda: [1, 2], "dict": lambda: {"n": 1}, "set": lambda: {1, 2}, "deque": lambda: collections.deque([1, 2], 2),
    "counter": lambda: collections.Counter("aab"), "own": lambda: Table(n=1), "tuple": lambda: (1, 2), "text": lambda: "ab",
}
CHANGES = {
    "+= list": "s.a += [4]", "+= tuple": "s.a += (4, 5)", "|= dict": "s.a |= {'k': 2}", "|= set": "s.a |= {4}",
    "*= 2": "s.a *= 2",
    "append": "s.a.append(4)", "add": "s.a.add(4)", "update": "s.a.update({'k': 2})", "+= number": "s.a += 1",
    "extend": "s.a.extend([4])",
}


@pytest.mark.parametrize("holder", ["threading.local()", "types.SimpleNamespace()"])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("content", CONTENTS)
def test_changes_that_a_container_may_refuse(content, change, holder):
    """An operator that a kind of container lacks leaves it as it was. The error is caught."""
    def life(wrap):
        space = {}
        exec(f"import threading, types\ns = {holder}\ndef fn(x):\n    try:\n        {CHANGES[change]}\n        return x + 1\n"
             "    except Exception as error:\n        return type(error).__name__\n", space)
        fn, found = wrap(space["fn"]), []
        for call in range(5):
            if call != 3:
                space["s"].a = CONTENTS[content]()
            found.append((plain(fn(ingot.ones(2))), space["s"].a))
        return found

    same_or_refused(life, "cannot be traced")
