"""Code that may compare the identity of tensors is found; the common questions about None and numbers are not."""

import operator

import pytest

from ingot.jit.bytecode.identity import asks_identity


def comprehension(x, xs):
    return [v for v in xs if v is x]


def key(x):
    memo = {}
    memo[x] = 1
    return memo


ASKS = {
    "is": lambda x, y: x is y, "is not": lambda x, y: x is not y, "in": lambda x, y: x in y, "not in": lambda x, y: x not in y,
    "id": lambda x, y: id(x) == id(y), "a set": lambda x, y: {x, y}, "a dict": lambda x, y: {x: 1, y: 2}, "a key": key,
    "operator": lambda x, y: operator.is_(x, y), "index": lambda x, y: y.index(x), "an attribute": lambda x, y: x is y.z,
    "hash": lambda x, y: hash(x), "None first": lambda x, y: None is x, "kept keys": lambda x, y: dict.fromkeys((x, y), 1),
}
ASKS_NOT = {
    "is None": lambda x, y: x if x is None else y, "is not None": lambda x, y: (y is not None, x), "equal": lambda x, y: x == y,
    "sums": lambda x, y: x * 2 + y.sum(), "an item": lambda x, y: y[x], "a method": lambda x, y: x.relu(),
}


@pytest.mark.parametrize("name", ASKS)
def test_questions_of_identity_are_found(name):
    assert asks_identity(ASKS[name].__code__)


@pytest.mark.parametrize("name", ASKS_NOT)
def test_other_code_asks_for_no_identity(name):
    assert not asks_identity(ASKS_NOT[name].__code__)


def test_code_inside_of_code_counts_where_it_runs():
    inner = [c for c in comprehension.__code__.co_consts if hasattr(c, "co_code")]
    assert any(map(asks_identity, (comprehension.__code__, *inner)))
