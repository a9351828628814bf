"""Frequent losses over classes are one native call, with the results and errors of the calls before."""

import numpy as np
import pytest

import ingot
from graphs import same_bits
from ingot.ir.errors import DimError
from ingot.runtime.cpu.graph import composites
from ingot.runtime.cpu.nn import losses

F = ingot.nn.functional


def loss_and_gradient(x, y, **params):
    x = ingot.tensor(x, requires_grad=True)
    loss = F.cross_entropy(x, y, **params)
    (loss if params.get("reduction") != "none" else loss.sum()).backward()
    return loss.detach().numpy(), x.grad.numpy()


@pytest.fixture
def compiled(monkeypatch):
    """Log the graphs that are compiled, from the third call of a kind on."""
    names = []
    monkeypatch.setattr(losses, "_CALLS", 3)
    whole = composites.Whole
    monkeypatch.setattr(composites, "Whole", lambda graph: names.append(graph.name) or whole(graph))
    return names


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("params", [{}, {"reduction": "sum"}, {"reduction": "none"}, {"ignore_index": 2},
                                    {"label_smoothing": 0.1}, {"label_smoothing": 0.3, "ignore_index": 2}], ids=str)
def test_compiled_losses_equal_the_first_call(compiled, params, kind):
    rng = np.random.default_rng(0)
    x, y = (3 * rng.standard_normal((37, 11))).astype(kind), ingot.tensor(rng.integers(0, 11, 37))
    first = loss_and_gradient(x, y, **params)
    for _ in range(5):
        found = loss_and_gradient(x, y, **params)
        assert all(map(same_bits, first, found))
    assert compiled == ["eager_cross_entropy", "eager_cross_entropy_grad"][:1 + ("label_smoothing" not in params)]


def test_compiled_losses_raise_and_take_other_strides(compiled):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((12, 5)).astype("float32"), rng.integers(0, 5, 12)
    for _ in range(4):
        loss_and_gradient(x, ingot.tensor(y))
    assert compiled
    for bad in (5, -1):
        with pytest.raises(DimError, match=f"target {bad} is out of bounds for 5 classes"):
            loss_and_gradient(x, ingot.tensor(np.where(np.arange(12) == 3, bad, y)))
    transposed = np.asfortranarray(x)
    assert all(map(same_bits, loss_and_gradient(x, ingot.tensor(y)), loss_and_gradient(transposed, ingot.tensor(y))))
    a, b = ingot.tensor(x), ingot.tensor(np.stack([x, x], 1))[:, 0]
    assert same_bits(F.cross_entropy(a, ingot.tensor(y)).numpy(), F.cross_entropy(b, ingot.tensor(y)).numpy())
    assert np.isnan(F.cross_entropy(a, ingot.full((12,), -100)).item())


def test_weighted_losses_are_not_compiled(compiled):
    params = {"weight": ingot.ones(5)}
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((12, 5)).astype("float32"), ingot.tensor(rng.integers(0, 5, 12))
    first = loss_and_gradient(x, y, **params)
    for _ in range(4):
        assert all(map(same_bits, first, loss_and_gradient(x, y, **params)))
    assert "eager_cross_entropy" not in compiled
