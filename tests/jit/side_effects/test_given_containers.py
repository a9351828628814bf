"""Lists and dictionaries among arguments: traced functions change and return them as eager ones do."""

import collections
from dataclasses import dataclass

import pytest

import ingot
from ingot import jit
from side_by_side import plain, refused

CALLS = 4


@dataclass
class State:
    table: dict
    n: int


def one(i):
    return ingot.ones(2 + i) * i


def pops(d):
    return d.pop("y") * d["x"], len(d)


def renews(d):
    d["y"] = d.pop("y")
    d["x"] = d["x"] * 2
    return d


def sorts(a):
    a.reverse()
    a.insert(1, a[0] * 2)
    del a[-1]
    return a


def shares(a, b):
    a.append(b)
    b.append(a[0] * 2)
    return a, {"b": b, "c": [b, b]}


def refills(d, x):
    kept = dict(d)
    d.clear()
    d.update(kept=kept, x=x, deep=[x, (x + 1, "text")])
    return d["deep"], d


def counts(d):
    d["n"] = d["n"] * 2 + 1
    d["size"], d["half"] = d["x"].shape[0], d["n"] / 2
    d["list"].append(d["n"])
    return d["list"]


def adds_up(d):
    d["n"] += 1
    d["list"].append(d["n"])
    return d


def swaps(d):
    d["x"], d["list"] = d["list"], d["x"]
    return d


def gives_state(s, x):
    s.table["x"] = s.table["x"] + x
    return s, s.table, s.n


def asks_identity(a, b):
    return a is b, a


def passes_by_name(**named):
    named["more"] = 1
    named["a"].append(2)
    return named["a"], named


def repeats(x):
    made = [x * 2]
    return made, (made, {"again": made})


class Own(dict):
    pass


def default(i):
    return collections.defaultdict(int, n=i, list=[])


PROGRAMS = {
    "pop": (pops, lambda i: ({"x": one(i), "y": one(i), "n": i},)),
    "order": (renews, lambda i: ({"y": one(i), "x": one(i)},)),
    "ordered": (renews, lambda i: (collections.OrderedDict(y=one(i), x=one(i)),)),
    "sort": (sorts, lambda i: ([one(i), ingot.ones(3), "text"],)),
    "shared": (shares, lambda i: ([one(i)], [])),
    "refill": (refills, lambda i: ({"old": i}, one(i))),
    "numbers": (counts, lambda i: ({"n": i, "x": one(i), "list": []},)),
    "default": (adds_up, lambda i: (default(i),)),
    "swap": (swaps, lambda i: ({"x": one(i), "list": [1]},)),
    "state": (gives_state, lambda i: (State({"x": ingot.ones(2)}, i), ingot.ones(2))),
    "same": (asks_identity, lambda i: ((a := [ingot.ones(1)]), a if i % 2 else [a[0]])),
    "results": (repeats, lambda i: (one(i),)),
}


def objects(x, seen=None):
    """Return which objects are the same, in the order in which containers and tensors come."""
    seen = {} if seen is None else seen
    if not isinstance(x, (list, tuple, dict, ingot.Tensor, State)):
        return type(x)
    if id(x) in seen and not isinstance(x, tuple):
        return seen[id(x)]
    seen[id(x)] = len(seen)
    if isinstance(x, State):
        items = [x.table]
    else:
        items = x.values() if isinstance(x, dict) else [] if isinstance(x, ingot.Tensor) else x
    return type(x), [*x] if isinstance(x, dict) else None, [objects(v, seen) for v in items]


@pytest.mark.parametrize("program", PROGRAMS)
def test_containers_are_left_and_given_as_in_eager_code(program):
    fn, make = PROGRAMS[program]
    traced = jit.trace(fn)
    for i in (*range(CALLS), 1):
        a, b = make(i), make(i)
        want, got = fn(*a), traced(*b)
        assert objects((b, got)) == objects((a, want))
        assert plain([v for v in (b, got) if program != "state"]) == plain([v for v in (a, want) if program != "state"])


def test_containers_among_named_arguments():
    traced = jit.trace(passes_by_name)
    for _ in range(3):
        a = [1]
        got, named = traced(a=a)
        assert got is a and named["a"] is a and a == [1, 2] and [*named] == ["a", "more"]


def test_containers_from_elsewhere_are_given_themselves():
    table = {"x": ingot.ones(1)}

    @jit.trace
    def fn(x):
        table["n"] = x * 2
        return table, [table]

    for i in range(3):
        got, (again,) = fn(ingot.ones(1) * i)
        assert got is table and again is table and table["n"].item() == 2 * i


def test_what_a_function_changed_before_it_raised_stays():
    def fn(d, x):
        d["k"] = x * 2
        d["n"] += 1
        if d["n"] > 2:
            raise ValueError(d["n"])

    traced = jit.trace(fn)
    for i in range(5):
        d = {"n": i}
        if i > 1:
            with pytest.raises(ValueError, match=str(i + 1)):
                traced(d, ingot.ones(1))
        else:
            traced(d, ingot.ones(1))
        assert d["n"] == i + 1 and type(d["n"]) is int and d["k"].item() == 2


def test_gradients_go_through_what_was_put_into_a_dictionary():
    def grad(wrap):
        fn = wrap(lambda d, w: d.update(h=(d["h"] * w).tanh()))
        w, d = ingot.ones(2, requires_grad=True), {"h": ingot.ones(2)}
        for _ in range(3):
            fn(d, w)
        d["h"].sum().backward()
        return plain(w.grad)

    assert grad(jit.trace) == grad(lambda f: f)


def test_a_container_that_is_also_reached_otherwise_is_told_from_others():
    table = {"x": ingot.ones(1)}

    @jit.trace
    def fn(d, x):
        d["x"] = x
        return table["x"] * 2

    assert fn({"x": ingot.ones(1)}, ingot.zeros(1)).item() == 2
    assert fn({"x": ingot.ones(1)}, ingot.zeros(1)).item() == 2
    refused(fn, table, ingot.zeros(1))


def loop():
    made: list = [ingot.ones(1)]
    made.append({"inner": made})
    return made


@pytest.mark.parametrize("fn, make", [
    (lambda a: a[0] * 2, lambda: (loop(),)), (lambda x: (x, loop()), lambda: (ingot.ones(1),))])
def test_what_contains_itself_is_refused(fn, make):
    refused(jit.trace(fn), *make(), match="that contains itself")


@pytest.mark.parametrize("change, argument", [
    (lambda s: setattr(s, "n", s.n + 1), lambda: State({}, 1)), (lambda d: d.update(n=1), lambda: Own(x=ingot.ones(1)))])
def test_changes_of_other_objects_are_refused(change, argument):
    fn = jit.trace(lambda a, x: (change(a), x * 2)[1])
    refused(fn, argument(), ingot.ones(1), match="in a way that calls could not repeat")
