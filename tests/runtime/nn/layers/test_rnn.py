"""Recurrent modules with computed weights: normalised, pruned, parametrised, with and without a trace."""

import pytest

import ingot
from ingot import jit, nn
from ingot.nn.utils import parametrizations, parametrize, prune

CLASSES = [nn.LSTM, nn.GRU, nn.RNN]


def layer_and_input(cls, **kw):
    ingot.manual_seed(3)
    return cls(6, 10, 2, **kw), ingot.randn(7, 5, 6)


class Doubled(nn.Module):
    """A parametrization that doubles the weight."""

    def forward(self, w):
        return w * 2


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("name", ["weight_ih_l0", "weight_hh_l1", "bias_hh_l0"])
def test_weights_that_are_made(cls, name):
    layer, x = layer_and_input(cls)
    plain, _ = layer_and_input(cls)
    with ingot.no_grad():
        getattr(plain, name).mul_(2)
    parametrize.register_parametrization(layer, name, Doubled())
    for one in (layer, jit.trace(layer)):
        for _ in range(2):
            got, want = one(x)[0], plain(x)[0]
            assert (got - want).abs().max() < 1e-6, f"{cls.__name__}.{name}"
    want.sum().backward()
    layer(x)[0].sum().backward()
    made = layer.parametrizations[name].original.grad
    assert (made - 2 * getattr(plain, name).grad).abs().max() < 1e-4


@pytest.mark.parametrize("cls", CLASSES)
def test_normalised_and_pruned_weights(cls):
    layer, x = layer_and_input(cls)
    want = layer(x)[0]
    parametrizations.weight_norm(layer, "weight_hh_l0")
    assert (layer(x)[0] - want).abs().max() < 1e-6
    layer, _ = layer_and_input(cls)
    prune.l1_unstructured(layer, "weight_hh_l0", amount=0.5)
    plain, _ = layer_and_input(cls)
    with ingot.no_grad():
        plain.weight_hh_l0.mul_(layer.weight_hh_l0_mask)
    assert (layer(x)[0] - plain(x)[0]).abs().max() < 1e-6
    assert (layer(x)[0] - want).abs().max() > 1e-3


@pytest.mark.parametrize("kw", [{"bias": False}, {"proj_size": 4}, {"bidirectional": True}], ids=str)
def test_weights_by_layer(kw):
    layer, x = layer_and_input(nn.LSTM, **kw)
    count = (2 + 2 * kw.get("bias", True) + bool(kw.get("proj_size")))
    assert [len(w) for w in layer.all_weights] == [count] * len(layer.all_weights)
    assert layer(x)[0].shape[:2] == (7, 5)
