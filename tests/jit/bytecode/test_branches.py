"""Branches that arguments decide: what the other branch reads costs no recording, and is read where it counts."""

import pytest

import ingot
from ingot import jit

STATE: dict = {"scale": 1.0, "names": "a"}


def by_default(x, state=None):
    state = STATE["names"] if state is None else state
    return x * len(state)


def by_flag(x, is_on=False):
    if is_on:
        return x * len(STATE["names"])
    return x


def negated(x, state=None):
    if state is not None:
        return x * state
    return x * len(STATE["names"])


def assigned_before(x, state=2.0):
    if x.ndim:
        state = None
    return x * (len(STATE["names"]) if state is None else state)


def in_a_loop(x, state=None):
    for _ in range(2):
        x = x * (1.0 if state is None else len(STATE["names"]))
        state = 1.0
    return x


def joined(x, state=None):
    if (state if x.ndim == 2 else STATE) is None:
        return x
    return x * len(STATE["names"])


def in_inner(x, state=None):
    def scale():
        return len(STATE["names"]) if state is None else state

    return x * scale()


# (function, arguments, whether it reads the names)
READS = [
    (by_default, {}, True), (by_default, {"state": "abc"}, False), (by_default, {"state": ""}, False),
    (by_flag, {}, False), (by_flag, {"is_on": True}, True), (by_flag, {"is_on": 1}, True), (by_flag, {"is_on": None}, False),
    (negated, {}, True), (negated, {"state": 2.0}, False), (assigned_before, {}, True), (in_a_loop, {}, True),
    (joined, {}, True), (in_inner, {}, True), (in_inner, {"state": 3.0}, True),
]


@pytest.mark.parametrize("case", READS, ids=lambda c: f"{c[0].__name__}-{c[1]}")
def test_what_other_branches_read_is_not_guarded(case):
    fn, arguments, reads = case
    traced = jit.trace(lambda x: fn(x, **arguments))
    for names in ("a", "bc", "a", "def"):
        STATE["names"] = names
        x = ingot.ones(3)
        assert traced(x).tolist() == fn(x, **arguments).tolist(), names
    assert reads or traced.stats()["compiles"] == 1, traced.stats()["misses"]
