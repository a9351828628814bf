"""Containers that code reads only in part: what it does not read is not guarded, and all that it reads is."""

import pytest

import ingot
from fuzzed_modules.life import compare
from ingot import jit


class Base:
    rate = 1.0


def rate_of(o, name="rate"):
    return getattr(o, name)


def program(name):
    """Return a function that uses a set of classes, the classes, and whether it reaches all of them."""
    first, second = kinds = [type(f"Kind{i}", (Base,), {"rate": float(i + 2)}) for i in range(2)]
    seen = set(kinds)
    table = {first: 1.0, second: 2.0}

    def asks(x):
        return x * rate_of(first) if first in seen else x

    def adds(x):
        if first not in seen:
            seen.add(first)
        return x * rate_of(first)

    def drops(x):
        seen.discard(Base)
        return x * rate_of(first)

    def goes_through(x):
        seen.add(first)
        return x * sum(map(rate_of, seen))

    def loops_later(x):
        return adds(x) + goes_through(x)

    def loops_before(x):
        return goes_through(x) + adds(x)

    def keeps_the_method(x):
        add = seen.add
        return x * sum(map(rate_of, add.__self__))

    def takes_the_owner(x):
        seen.add(first)
        return x * sum(map(rate_of, seen.add.__self__))

    def passes_the_method(x):
        list(map(seen.add, [first]))
        return x * owner_of(seen.add)

    def owner_of(method):
        return sum(map(rate_of, method.__self__))

    def copies(x):
        return x * sum(map(rate_of, seen.copy()))

    def asks_a_table(x):
        return x * rate_of(first) if first in table else x

    found = locals()[name]
    return found, kinds, name not in ("asks", "adds", "drops", "asks_a_table")


NAMES = ("asks", "adds", "drops", "goes_through", "loops_later", "loops_before", "keeps_the_method", "takes_the_owner",
         "passes_the_method", "copies", "asks_a_table")


@pytest.mark.parametrize("name", NAMES)
def test_classes_in_a_set_count_where_code_reaches_them(name):
    def life(wrap):
        fn, kinds, _ = program(name)
        traced, seen = wrap(fn), []
        for i in range(6):
            if i in (2, 4):
                kinds[i // 4].rate = 10.0 + i
            seen.append(traced(ingot.ones(2)).tolist())
        return seen

    assert life(jit.trace) == life(lambda fn: fn)


@pytest.mark.parametrize("name", NAMES)
def test_members_are_guarded_only_where_code_reaches_them(name):
    fn, (_, second), reaches = program(name)
    traced = jit.trace(fn)
    traced(ingot.ones(2))
    guards = [g for entry in traced._cache.all_entries() for g in entry.guards.values() if getattr(g, "root", None) is second]
    assert bool(guards) == reaches


MADE = "def make():\n    k = 2.0\n    def f(x): return x * k\n    return f\nf = make()\ncell = f.__closure__[0]\n"
CELLS = {
    "written": "def fn(x):\n    f.__closure__[0].cell_contents = 3.0\n    return f(x)",
    "counted": "def fn(x):\n    f.__closure__[0].cell_contents += 1\n    return f(x)",
    "written through a local variable": "def fn(x):\n    c = f.__closure__[0]\n    c.cell_contents = x + 1\n    return x",
    "written in a loop": "def fn(x):\n    for c in [cell]: c.cell_contents = 9\n    return x",
    "written behind functions of a list":
        "fs = [f]\ndef fn(x):\n    for g in fs: g.__closure__[0].cell_contents = 9\n    return x",
    "written by setattr": "def fn(x):\n    setattr(cell, 'cell_contents', 5.0)\n    return x",
    "written by object.__setattr__": "def fn(x):\n    object.__setattr__(cell, 'cell_contents', 5.0)\n    return x",
    "emptied": "def fn(x):\n    del cell.cell_contents\n    return x",
    "a size": "def fn(x):\n    cell.cell_contents = x.shape[0]\n    return x",
    "read": "def fn(x): return x * cell.cell_contents",
    "read through a local variable": "def fn(x):\n    c = f.__closure__[0]\n    return x * c.cell_contents",
    "read in a loop": "def fn(x):\n    for c in f.__closure__: x = x * c.cell_contents\n    return x",
    "read by getattr": "def fn(x): return x * getattr(cell, 'cell_contents')",
    "read by attrgetter": "g = operator.attrgetter('cell_contents')\ndef fn(x): return x * g(cell)",
    "compared": "other = types.CellType(2.0)\ndef fn(x): return x * (1 if cell == other else 5)",
    "tested": "def fn(x):\n    try: return x * cell.cell_contents\n    except ValueError: return x",
}


@pytest.mark.parametrize("name", CELLS)
def test_closure_cells_are_variables(name):
    removes = "\n    if i == 3: del cell.cell_contents" if name == "tested" else ""
    verdict, fn = compare(f"{MADE}{CELLS[name]}\ndef turn(i):\n    cell.cell_contents = float(i % 4){removes}")
    assert verdict.kind == "same", verdict.text
    assert fn.stats()["compiles"] <= 6, fn.stats()["misses"]


# Attributes that the function has set, read by other code through the `__dict__` of the object.


class Holding:
    """Object with a dictionary, and ways to it."""

    def __init__(self, value):
        self.d = {"a": value}

    def item(self):
        return self.__dict__["d"]

    def table(self):
        return self.__dict__

    @property
    def through(self):
        return self.__dict__["d"]["a"]

    def __getattr__(self, name):
        return self.__dict__["d"][name]


def _named(q):
    own = q.__dict__
    return own["d"]["a"]


TABLES = {
    "item": lambda s: s.item()["a"], "whole": lambda s: s.table()["d"]["a"], "property": lambda s: s.through,
    "__getattr__": lambda s: s.a, "function": _named, "vars": lambda s: vars(s)["d"]["a"],
    "in it": lambda s: s.a if "d" in s.__dict__ else None, "get": lambda s: s.__dict__.get("d")["a"],
}
SETS = {
    "another": lambda s, x: setattr(s, "d", {"a": x * 2}), "view": lambda s, x: s.__dict__.update(d={"a": x.detach()}),
    "item": lambda s, x: s.d.__setitem__("a", x + 1), "nothing": lambda s, x: None,
}


@pytest.mark.filterwarnings("ignore::ingot.jit.TracerWarning")
@pytest.mark.parametrize("sets", SETS)
@pytest.mark.parametrize("way", TABLES)
def test_attributes_read_through_the_dictionary_of_their_object(way, sets):
    def run(wrap):
        s, found = Holding(ingot.arange(3.0)), []

        def function(x):
            SETS[sets](s, x)
            value = TABLES[way](s)
            return value * x, TABLES[way](s).add_(1).sum()

        traced = wrap(function)
        for i in range(6):
            if i == 4:
                s.d = {"a": ingot.ones(3)}
            found.append(([t.tolist() for t in traced(ingot.arange(3.0) + i)], s.d["a"].tolist(), sorted(s.__dict__)))
        return found

    assert run(jit.trace) == run(lambda function: function)
