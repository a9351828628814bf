"""Methods of Tensor and layers that a program replaces between calls, and puts back, are noticed."""

import pytest

import ingot
from ingot import jit, nn

NAME = "tanh"
LAYER, TABLE = nn.ReLU(), {"k": nn.Sequential(nn.ReLU())}


def helper(x):
    return x.relu() * 2


USES = {
    "method": (lambda x: x.relu() + 1, ingot.Tensor, "relu", lambda t: t * 5),
    "function of the class": (lambda x: ingot.Tensor.relu(x) + 1, ingot.Tensor, "relu", lambda t: t * 5),
    "method in a helper": (helper, ingot.Tensor, "relu", lambda t: t * 5),
    "method by name": (lambda x: getattr(x, NAME)(), ingot.Tensor, "tanh", lambda t: t * 5),
    "method of another function": (lambda x: x.relu() + 1, ingot.Tensor, "relu", ingot.Tensor.tanh),
    "addition": (lambda x: x + 1, ingot.Tensor, "__add__", lambda t, other: t * 5),
    "product": (lambda x: x * x, ingot.Tensor, "__mul__", lambda t, other: t),
    "item": (lambda x: x[1], ingot.Tensor, "__getitem__", lambda t, key: t),
    "property": (lambda x: x.T, ingot.Tensor, "T", property(lambda t: t - 5)),
    "forward of layers": (lambda x: LAYER(x), nn.ReLU, "forward", lambda self, t: t * 5),
    "call of layers": (lambda x: LAYER(x), nn.Module, "__call__", lambda self, t: t * 5),
    "call of layers in a table": (lambda x: TABLE["k"](x), nn.Module, "__call__", lambda self, t: t * 5),
}


@pytest.mark.parametrize("name", USES)
def test_replaced_methods_are_noticed(name, monkeypatch):
    fn, owner, attribute, other = USES[name]
    x, traced = ingot.tensor([-1.0, 2.0]), jit.trace(fn)
    before = fn(x).tolist()
    assert [traced(x).tolist() for _ in range(3)] == [before] * 3
    with monkeypatch.context() as patch:
        patch.setattr(owner, attribute, other)
        after = fn(x).tolist()
        assert [traced(x).tolist() for _ in range(3)] == [after] * 3 != [before] * 3
    assert [traced(x).tolist() for _ in range(3)] == [before] * 3
    assert traced.stats()["compiles"] <= 3, traced.stats()["misses"]


def test_methods_that_load_late_make_no_recordings():
    traced = jit.trace(lambda x: x.relu() if x.sum() > 0 else x.cov())
    for _ in range(3):
        traced(ingot.ones(3))
    ingot.ones(2, 3).cov()
    for _ in range(3):
        traced(ingot.ones(3))
    assert traced.stats()["compiles"] == 1
