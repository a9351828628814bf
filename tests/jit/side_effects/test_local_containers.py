"""Containers that a function makes and passes to others, which change them: they are no state, and one recording is enough.
Beside them containers that only look local, and live on."""

import collections
import contextvars

import pytest

from ingot import jit, nn
from side_by_side import plain, vec

CURRENT = contextvars.ContextVar("current", default=None)
SHARED = {"n": 0, "h": []}


def count(d):
    d["n"] = d["n"] + 1


def append(d, v):
    last = d["h"][-1] if len(d["h"]) else 0
    d["h"].append(v + last)


def literal(x):
    d = {"n": 0, "h": []}
    for _ in range(3):
        count(d)
        append(d, x)
    return d["h"][-1] * d["n"]


class Own(dict):
    pass


def of_kind(kind):
    def program(x):
        d = kind(n=0, h=[])
        for _ in range(3):
            count(d)
            append(d, x)
        return d["h"][-1] * d["n"]
    return program


def in_a_queue(x):
    q = collections.deque(maxlen=2)
    for i in range(4):
        push(q, x * i)
    return q[0] + q[1] * len(q)


def push(q, v):
    q.append(v + q[0] if len(q) > 1 else v)


def called(x):
    d = dict(n=0)  # noqa: C408
    count(d)
    count(d)
    return x * d["n"]


def comprehended(x):
    d = {k: [] for k in "ha"}
    append(d, x)
    append(d, x * 2)
    return d["h"][-1] + len(d["h"])


def made():
    return {"n": 1, "h": []}


def made_elsewhere(x):
    d = made()
    count(d)
    append(d, x)
    return x * d["n"] + d["h"][0]


def in_a_context(x):
    d = {"n": 0}
    token = CURRENT.set(d)
    try:
        for _ in range(2):
            collect()
    finally:
        CURRENT.reset(token)
    return x * d["n"]


def collect():
    if CURRENT.get() is not None:
        count(CURRENT.get())


class Layer(nn.Module):
    def forward(self, x, cache):
        cache["n"] += 1
        cache.setdefault("k", x)
        return x * cache["n"]


LAYERS = nn.Sequential(Layer(), Layer())


def past_modules(x):
    cache = {"n": 0}
    for layer in LAYERS:
        x = layer(x, cache)
    return x + cache["k"]


@pytest.mark.parametrize("fn", [literal, called, comprehended, made_elsewhere, in_a_context, past_modules, in_a_queue,
                                *map(of_kind, (dict, collections.OrderedDict, Own))])
def test_new_containers_may_be_changed_by_callees(fn):
    traced = jit.trace(fn)
    for i in range(3):
        assert plain(traced(vec() + i)) == plain(fn(vec() + i))
    assert traced.stats()["compiles"] == 1


def shared_or_new(x):
    d = SHARED if x.ndim else {}
    count(d)
    return x * d["n"]


def handed(x, d):
    count(d)
    return x * d["n"]


def of_a_caller():
    """The variable of a caller outside of the trace is filled with what that makes, too."""
    def life(f):
        state = {"n": 0}
        return [plain(f(vec(), state)) for _ in range(3)], state

    return life


def test_containers_that_outlive_the_call_are_state():
    found = []
    for road in (lambda f: f, jit.trace):
        SHARED["n"] = 0
        f = road(shared_or_new)
        try:
            found.append([plain(f(vec())) for _ in range(4)] + [dict(SHARED)])
        except jit.TraceError:
            found.append(found[0])
    assert found[0] == found[1]
    life = of_a_caller()
    want = life(handed)
    try:
        assert life(jit.trace(handed)) == want
    except jit.TraceError as e:
        assert "among its arguments" in str(e)
