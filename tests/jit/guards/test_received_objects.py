"""Objects that a function receives without being passed them: `self` of a bound method, defaults, arguments of a partial.

No call compares these with what was recorded, so each of their attributes is guarded.
"""

import dataclasses
import functools
from collections import namedtuple
from typing import Any

import pytest

import ingot
from ingot import jit


@dataclasses.dataclass
class Rates:
    first: float
    log: list
    table: dict
    inner: Any = None

    def apply(self, x):
        return x * self.first + len(self.log) + self.table["k"] + (self.inner.first if self.inner else 0)


@dataclasses.dataclass(frozen=True)
class Frozen:
    rates: Rates

    def apply(self, x):
        return self.rates.apply(x)


class Plain:
    def __init__(self, rates):
        self.rates = rates

    def apply(self, x):
        return self.rates.apply(x)


Pair = namedtuple("Pair", "rates other")


def apply_to(x, rates):
    return rates.apply(x)


def apply_to_pair(x, pair):
    return pair.rates.apply(x)


def with_default(rates):
    def apply(x, rates=rates):
        return rates.apply(x)

    return apply


def with_keyword(rates):
    def apply(x, *, rates=rates):
        return rates.apply(x)

    return apply


WAYS = {
    "self": lambda rates: rates.apply,
    "in self": lambda rates: Plain(rates).apply,
    "in a frozen self": lambda rates: Frozen(rates).apply,
    "inner": lambda rates: Rates(0.5, [], {"k": 0}, rates).apply,
    "default": with_default,
    "keyword": with_keyword,
    "partial": lambda rates: functools.partial(apply_to, rates=rates),
    "pair of a partial": lambda rates: functools.partial(apply_to_pair, pair=Pair(rates, 1)),
}
CHANGES = {
    "number": lambda rates, i: setattr(rates, "first", float(i)),
    "list": lambda rates, i: rates.log.append(i),
    "dictionary": lambda rates, i: rates.table.update(k=i),
    "another list": lambda rates, i: setattr(rates, "log", [0] * i),
    "inner object": lambda rates, i: setattr(rates, "inner", Rates(float(i), [], {"k": 0})),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("way", WAYS)
def test_what_changes_in_received_objects_is_seen(way, change):
    rates = Rates(1.0, [1], {"k": 2})
    function = WAYS[way](rates)
    traced, x = jit.trace(function, fullgraph=True), ingot.ones(2)
    for i in (1, 1, 2, 2, 3):
        CHANGES[change](rates, i)
        assert traced(x).tolist() == function(x).tolist()
