"""Dual tensors: tangents beside those of `func.jvp`."""

import numpy as np
import pytest

import ingot
from ingot.autograd import forward_ad as fwd
from ingot.ir.errors import IngotError


def test_tangents_are_those_of_jvp():
    x, t = ingot.randn(4), ingot.randn(4)
    f = lambda x: ingot.sin(x) * x.sum()
    with fwd.dual_level():
        dual = fwd.make_dual(x, t)
        assert fwd.unpack_dual(dual).tangent is t
        value, tangent = fwd.unpack_dual(f(dual))
        assert fwd.unpack_dual(x * 2).tangent is None
    _, expected = ingot.func.jvp(f, (x,), (t,))
    np.testing.assert_allclose(tangent.detach().numpy(), expected.numpy(), rtol=1e-5)
    np.testing.assert_allclose(value.detach().numpy(), f(x).numpy(), rtol=1e-6)
    assert fwd.unpack_dual(f(dual)).tangent is None


def test_several_duals_and_parameters_of_a_module():
    net, x = ingot.nn.Linear(3, 2), ingot.randn(5, 3)
    tangents = {n: ingot.randn(*p.shape) for n, p in net.named_parameters()}
    with fwd.dual_level():
        duals = {n: fwd.make_dual(p, tangents[n]) for n, p in net.named_parameters()}
        _, found = fwd.unpack_dual(ingot.func.functional_call(net, duals, x))
    expected = x @ tangents["weight"].T + tangents["bias"]
    np.testing.assert_allclose(found.detach().numpy(), expected.numpy(), rtol=1e-4, atol=1e-6)


def test_what_is_wrong_is_said():
    with pytest.raises(IngotError, match="level"):
        fwd.make_dual(ingot.ones(2), ingot.ones(2))
    with fwd.dual_level():
        with pytest.raises(IngotError, match="shape"):
            fwd.make_dual(ingot.ones(2), ingot.ones(3))
        with ingot.no_grad(), pytest.raises(IngotError, match="no_grad"):
            fwd.make_dual(ingot.ones(2), ingot.ones(2))
        with pytest.raises(IngotError, match="nested"), fwd.dual_level():
            pass


def test_histories_that_nobody_asked_for_are_not_seen():
    x = ingot.ones(2)
    w = ingot.ones(2, requires_grad=True)
    with fwd.dual_level():
        dual = fwd.make_dual(x, ingot.tensor([1.0, 2.0]))
        value, tangent = fwd.unpack_dual(dual * 3)
        assert not value.requires_grad and not tangent.requires_grad and tangent.numpy().tolist() == [3, 6]
        value, tangent = fwd.unpack_dual(dual * w)
        assert value.requires_grad and tangent.requires_grad
        value, tangent = fwd.unpack_dual(fwd.make_dual(x, w) * 3)
        assert tangent.requires_grad
