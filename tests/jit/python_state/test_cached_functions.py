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
UNSEEN = ("by map", "by sorted", "a property", "an item")       # by code in C, whose calls replays could not make again
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
        assert traced.stats()["compiles"] >= 1 or use in UNSEEN


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


def test_calls_that_nobody_saw_are_not_replayed():
    """If code in C calls a cached function, nothing tells with which arguments."""
    get = functools.lru_cache(None)(Kept)
    for n in range(4):
        get(n)
    traced = jit.trace(lambda x: x * sum([kept.rate for kept in map(get, [2])]))
    assert [traced(ingot.ones(1)).item() for _ in range(3)] == [2.0] * 3
    get(2).rate = 8.0
    assert traced(ingot.ones(1)).item() == 8.0 and traced.stats()["compiles"] == 0


COUNTED = {         # what a traced function makes of x: `get` and `other` are cached functions, `net` has some
    "one call": "x * get(2)",
    "two calls": "x * get(2) + get(3)",
    "in another order": "x * get(3) + get(2) + get(3)",
    "an argument": "x * get(n)",
    "by name": "x * get(n=2)",
    "more arguments": "x * get(2, 3)",
    "a method": "x * net.method(2)",
    "a property": "x * net.computed",
    "a property of an item": "x * sum([one.computed for one in [net]])",
    "an item": "x * net[2]",
    "by map": "x * sum(map(get, [2, 3]))",
    "by max": "x * max([2, 3], key=get)",
    "by its __call__": "x * get.__call__(2)",
    "by partial": "x * functools.partial(get, 2)()",
    "a float": "x * get(float(2))",
    "code that compares": "x * get(key)",
    "a new object": "x * get(Key(3))",
    "an object": "x * other(net)",
    "a loop": "x * sum([get(q) for q in range(4)])",
    "its counts": "x * get.cache_info().hits",
    "its size": "x * get(2) * get.cache_info().currsize",
}
COUNTING = """
@functools.lru_cache(size, typed)
def get(n, *more):
    log.append(n)
    return 2.0
other = functools.lru_cache(size)(lambda q: 1.0)
class Key:
    def __init__(self, n): self.n = n
    def __hash__(self): return hash(self.n)
    def __eq__(self, q): return self.n == q.n
class Net:
    computed = property(functools.lru_cache(size)(lambda self: 2.0))
    method = functools.lru_cache(size)(lambda self, n: 2.0 * n)
    __getitem__ = functools.lru_cache(size)(lambda self, n: 2.0 * n)
net, key = Net(), Key(3)
cached = get, other, Net.computed.fget, Net.method, Net.__getitem__
def fn(x, n): return {use}
"""


@pytest.mark.parametrize("size", [None, 1, 2, 128])
@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize("use", COUNTED)
def test_replays_count_as_eager_calls(use, typed, size):
    """Hits and misses, and which results are dropped from a small cache, are those of eager code."""
    def life(wrap):
        log: list = []
        space = {"functools": functools, "size": size, "typed": typed, "log": log, "__name__": "user_of_caches"}
        exec(COUNTING.format(use=COUNTED[use]), space)
        fn, found = wrap(space["fn"]), []
        for i in range(8):
            for n in ((), (1,), (7,))[(i == 5) + 2 * (i == 6)]:
                space["get"](n)
            found.append((fn(ingot.ones(1), 2).item(), [f.cache_info() for f in space["cached"]], [*log]))
        return found

    assert life(jit.trace) == life(lambda f: f)


def test_replays_clear_a_cache():
    get = functools.lru_cache(Kept)

    def fn(x):
        get.cache_clear()
        return x * 2

    traced = jit.trace(fn)
    for n in range(6):
        if n > 2:           # (a cache that is empty is cleared by the recorded call, too)
            get(n)
        traced(ingot.ones(1))
        assert get.cache_info().currsize == 0
