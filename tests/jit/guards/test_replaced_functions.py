"""Functions of `ingot.nn.functional` that a program replaces: layers call the new ones, in traces too."""

from unittest import mock

import pytest

import ingot
import ingot.nn.functional as F
from ingot import jit, nn

LAYERS = {      # a layer, and the function that it calls
    "linear": (lambda: nn.Linear(4, 4), "linear"), "relu": (nn.ReLU, "relu"), "gelu": (nn.GELU, "gelu"),
    "softmax": (lambda: nn.Softmax(-1), "softmax"), "layer_norm": (lambda: nn.LayerNorm(4), "layer_norm"),
    "dropout": (lambda: nn.Dropout(0.5).eval(), "dropout"), "conv": (lambda: nn.Conv1d(3, 3, 1), "conv1d"),
    "norm": (lambda: nn.BatchNorm1d(4).eval(), "batch_norm"), "pool": (lambda: nn.AvgPool1d(2), "avg_pool1d"),
    "loss": (lambda: Loss(), "mse_loss"), "a layer in a layer": (lambda: nn.Sequential(nn.Tanh(), nn.Linear(4, 2)), "linear"),
    "attention": (lambda: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval(), "multi_head_attention_forward"),
}


class Loss(nn.Module):
    def __init__(self):
        super().__init__()
        self.loss = nn.MSELoss()

    def forward(self, x):
        return self.loss(x, x * 2)


def doubled(function):
    def call(*args, **kwargs):
        result = function(*args, **kwargs)
        return (result[0] * 2, *result[1:]) if isinstance(result, tuple) else result * 2
    return call


def by_patch(name):
    with mock.patch.object(F, name, doubled(getattr(F, name))):
        yield


def by_setattr(name):
    old = getattr(F, name)
    setattr(F, name, doubled(old))
    yield
    setattr(F, name, old)


def by_path(name):
    with mock.patch(f"ingot.nn.functional.{name}", doubled(getattr(F, name))):
        yield


@pytest.mark.parametrize("wrap", ["a function", "the module"])
@pytest.mark.parametrize("first", [False, True], ids=["recorded before", "replaced before"])
@pytest.mark.parametrize("replace", [by_patch, by_setattr, by_path])
@pytest.mark.parametrize("layer", LAYERS)
def test_layers_call_the_function_that_stands_there(layer, replace, first, wrap):
    make, name = LAYERS[layer]
    ingot.manual_seed(0)
    net = make()
    step = jit.trace(net) if wrap == "the module" else jit.trace(lambda x: net(x) + 1)
    want = net if wrap == "the module" else lambda x: net(x) + 1

    def compare():
        for i in range(3):
            x = ingot.arange(12.0).reshape(1, 3, 4) + i
            x = x[0] if layer == "norm" else x
            assert ingot.allclose(step(x), want(x), rtol=1e-5, atol=1e-5)

    if not first:
        compare()
    for _ in replace(name):
        compare()
    compare()
    assert step.stats()["compiles"] == 2, step.stats()["misses"]


def test_the_reason_of_a_recording_names_the_function():
    step = jit.trace(nn.Sequential(nn.Linear(4, 2)))
    x = ingot.ones(2, 4)
    for _ in range(3):
        step(x)
    for _ in by_patch("linear"):
        step(x)
        assert "replaced in ingot.nn.functional (linear)" in step.stats()["misses"][-1]
