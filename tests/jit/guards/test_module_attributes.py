"""Attributes of modules that are set past `Module.__setattr__`: calls find them, as in eager code."""

import pytest

import ingot
from ingot import jit, nn


class Scaled(nn.Module):
    """A module with attributes of each kind."""

    def __init__(self):
        super().__init__()
        self.linear, self.drop, self.act = nn.Linear(2, 2), nn.Dropout(0.0), nn.Tanh()
        self.rate, self.table = 2.0, {"a": 1.0}
        self.register_buffer("mean", ingot.ones(2))
        self.weight = nn.Parameter(ingot.ones(2))

    def forward(self, x):
        return self.act(self.linear(x)) * self.rate * self.mean * self.weight * self.table["a"] + self.drop(x)


def changed_class(m, i):
    m.act.__class__ = nn.Sigmoid if i % 2 else nn.Tanh


def removed_and_set(m, i):
    vars(m).pop("rate", None)
    vars(m)["rate"] = float(i)


def another_table(m, i):
    m.__dict__ = {**m.__dict__, "rate": float(i)}


WAYS = {
    "vars": lambda m, i: vars(m).__setitem__("rate", float(i)),
    "update": lambda m, i: m.__dict__.update(rate=float(i)),
    "another kind of number": lambda m, i: vars(m).__setitem__("rate", (2, 2.0)[i % 2]),
    "object.__setattr__": lambda m, i: object.__setattr__(m, "rate", float(i)),
    "__setstate__": lambda m, i: m.__setstate__({**m.__dict__, "rate": float(i)}),
    "removed": removed_and_set,
    "another table": another_table,
    "an attribute of a layer": lambda m, i: vars(m.drop).__setitem__("p", float(i % 2)),
    "the mode of a layer": lambda m, i: vars(m.drop).__setitem__("training", bool(i % 2)),
    "a method": lambda m, i: vars(m).__setitem__("forward", lambda x: x * i),
    "a method of a layer": lambda m, i: setattr(m.act, "forward", lambda x: x * i),
    "the class of a layer": changed_class,
    "parameters": lambda m, i: m._parameters.__setitem__("weight", nn.Parameter(ingot.ones(2) * i)),
    "buffers": lambda m, i: m._buffers.__setitem__("mean", ingot.ones(2) * i),
    "children": lambda m, i: m._modules.__setitem__("act", nn.ReLU() if i % 2 else nn.Tanh()),
    "a table in an attribute": lambda m, i: m.table.__setitem__("a", float(i)),
    "setattr": lambda m, i: setattr(m, "rate", float(i)),
    "nothing": lambda m, i: None,
}


def results(way, wrap, calls_first):
    ingot.manual_seed(0)
    net = Scaled()
    function, x, found = wrap(lambda x: net(x)), ingot.tensor([[1.0, 2.0]]), []
    for i in range(1, 7):
        if i > 1 or not calls_first:
            WAYS[way](net, i)
        found.append(function(x).tolist())
    return found, function


@pytest.mark.parametrize("calls_first", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_calls_find_the_attribute_that_is_set(way, calls_first):
    want, _ = results(way, lambda function: function, calls_first)
    found, traced = results(way, jit.trace, calls_first)
    assert found == want, traced.stats()["misses"]
    assert way != "nothing" or traced.stats()["compiles"] == 1
