"""Functions with `functools.lru_cache`: the results that a call gets are guarded, and no others."""

import functools
import sys

import pytest

import ingot
from ingot import jit
from ingot.jit.python_state.cached_functions import FunctionCaches
from ingot.jit.python_state.reachable import Reachable


class Kept:
    """Result of the functions here."""

    def __init__(self, n):
        self.rate, self.parts = float(n), [float(n)]


class Net:
    def __init__(self, limit):
        self.table = {"get": functools.lru_cache(limit)(Kept)}

    @functools.lru_cache(None)      # noqa: B019  (the object lives as long)
    def method(self, n):
        return Kept(n)

    @property
    @functools.lru_cache(None)      # noqa: B019
    def computed(self):
        return Kept(2)

    @functools.lru_cache(None)      # noqa: B019
    def __getitem__(self, n):
        return Kept(n)


USES = {        # expressions that give a Kept; `get` is a cached function, `net` an object with some
    "a call": "get(2)",
    "by name": "get(n=2)",
    "a spread call": "get(*[2])",
    "a computed argument": "get(len(net.table) + 1)",
    "a text": "name('2')",
    "several arguments": "pair(1, b=2)",
    "in a dictionary": "net.table['get'](2)",
    "a method": "net.method(2)",
    "a bound method": "bound(2)",
    "by partial": "part()",
    "by map": "list(map(get, [2]))[0]",
    "by sorted": "(sorted([2], key=key), get(2))[1]",
    "by its __call__": "get.__call__(2)",
    "a property": "net.computed",
    "an item": "net[2]",
    "in a helper": "(lambda n: get(n))(2)",
    "an unhashable default": "other(Equal(2))",
}
CHANGES = {     # what happens between calls
    "nothing": "",
    "an attribute": "kept.rate = 5.0",
    "an item": "kept.parts[0] = 7.0",
    "an attribute of another": "get(3).rate = 5.0",
    "the cache is cleared": "clear()",
    "results come": "[get(n) for n in range(10, 30)]",
}
TEXT = """
class Equal:
    def __init__(self, n): self.n = n
    def __eq__(self, other): return type(other) is Equal and self.n == other.n
    def __hash__(self): return hash(self.n)

@functools.lru_cache({limit}, typed={typed})
def get(n): return Kept(n)
@functools.lru_cache({limit})
def name(n): return Kept(int(n))
@functools.lru_cache({limit})
def pair(a, b): return Kept(a * b)
@functools.lru_cache({limit})
def other(e): return Kept(e.n)
net = Net({limit})
part, bound, key = functools.partial(get, 2), net.method, functools.lru_cache({limit})(float)
def clear():
    for f in (get, name, pair, other, net.table["get"], Net.method, key, Net.computed.fget, Net.__getitem__): f.cache_clear()
def fn(x):
    kept = {use}
    return x * kept.rate + kept.parts[0]
def give(): return {use}
"""


def life(wrap, use, change, limit, typed):
    space = {"functools": functools, "Kept": Kept, "Net": Net, "__name__": f"{__name__}.life"}
    exec(compile(TEXT.format(limit=limit, typed=typed, use=use), "<cached>", "exec"), space)
    space["clear"]()
    fn, seen = wrap(space["fn"]), []
    for step in range(6):
        if step == 4:
            space["kept"] = space["give"]()
            exec(change, space)
        seen.append(fn(ingot.ones(2)).tolist())
    return seen, fn


@pytest.mark.parametrize("limit, typed", [(None, False), (64, False), (None, True), (64, True)])
@pytest.mark.parametrize("use", USES)
def test_used_results_are_guarded(use, limit, typed):
    """Each way to get a result, with each change between calls, gives eager's results."""
    for name, change in CHANGES.items():
        want, _ = life(lambda f: f, USES[use], change, limit, typed)
        got, traced = life(jit.trace, USES[use], change, limit, typed)
        assert got == want, name
        assert traced.stats()["compiles"] >= 1


@pytest.mark.parametrize("limit", [None, 1 << 16])
def test_what_is_not_used_costs_nothing(limit, monkeypatch):
    """A recording visits as many objects, and a replay compares as many, however many results the cache holds."""
    visited: list = []
    for owner, name in ((Reachable, "walk"), (FunctionCaches, "_guard")):
        def counted(self, *args, really=getattr(owner, name), **kwargs):
            visited.append(args)
            return really(self, *args, **kwargs)

        monkeypatch.setattr(owner, name, counted)

    def work(n):
        get = functools.lru_cache(limit)(Kept)
        for i in range(n):
            get(i)
        def fn(x):
            return x * get(n - 1).rate

        jit.trace(fn)(ingot.ones(2))
        visited.clear()
        traced = jit.trace(fn)
        assert traced(ingot.ones(2)).tolist() == [n - 1.0] * 2
        for _ in range(4):
            traced(ingot.ones(2))
        calls: list = []
        sys.setprofile(lambda frame, event, arg: calls.append(event))
        traced(ingot.ones(2))
        sys.setprofile(None)
        return len(visited), len(calls)

    work(4)         # (modules and kernels load late)
    assert work(8) == work(32)


def test_calls_that_nobody_saw_guard_all_results():
    """If code in C calls a cached function, the next call is recorded with guards on all its results."""
    get = functools.lru_cache(None)(Kept)
    for n in range(4):
        get(n)
    call = get.__call__
    traced = jit.trace(lambda x: x * call(2).rate)
    assert [traced(ingot.ones(1)).item() for _ in range(3)] == [2.0] * 3
    get(2).rate = 8.0
    assert traced(ingot.ones(1)).item() == 8.0 and traced.stats()["compiles"] == 2
