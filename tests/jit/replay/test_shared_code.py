"""Code that jobs of the same graph share."""

import gc

import numpy as np
import pytest

import ingot
from ingot import jit, nn
from ingot.jit.replay.shared_code import SHARED


def adaptive(net):
    """A solver of an equation: its data says how many steps it takes, and which of them it repeats."""
    def solve(y):
        with ingot.no_grad():
            t, dt = ingot.tensor(0.0), ingot.tensor(0.3)
            while t < 1:
                change = net(y)
                error = (dt * (net(y + dt * change) - change)).abs().max()
                if error < 0.002:
                    t, y = t + dt, y + dt * change
                dt = dt * (0.04 / error.sqrt()).clamp(0.5, 1.5)
            return y, t

    return solve


def test_steps_of_a_loop_are_compiled_once():
    ingot.manual_seed(0)
    solve = adaptive(nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 2)))
    traced, graphs = jit.trace(solve), []
    starts = [ingot.randn(3, 2) * scale for scale in (0.1, 4.0, 0.5, 2.0, 1.0, 6.0)]
    for y in [*starts, *starts]:
        for got, want in zip(traced(y), solve(y), strict=True):
            np.testing.assert_array_equal(got.numpy(), want.numpy())
        graphs.append(traced.stats()["graphs"])
    jobs = len(traced.graphs)
    assert traced.stats()["compiles"] > 2 and jobs > 20
    assert graphs[-1] <= jobs // 2


@pytest.mark.parametrize("is_same", [True, False])
def test_values_of_weights_are_shared_with_the_weights(is_same):
    weights = [ingot.full((3, 3), 2.0), ingot.full((3, 3), 3.0)]
    traced = [jit.trace(lambda x, w=w: x @ (w @ w).exp()) for w in ([weights[0]] * 2 if is_same else weights)]
    x = ingot.full((2, 3), 1e-6)
    for _ in range(3):
        for fn in traced:
            np.testing.assert_allclose(fn(x).numpy(), fn.fn(x).numpy(), 1e-5)
    weights[0].mul_(0.5)
    for fn in traced:
        np.testing.assert_allclose(fn(x).numpy(), fn.fn(x).numpy(), 1e-5)


def test_code_dies_with_its_last_job():
    gc.collect()
    before = len(SHARED)
    traced = jit.trace(lambda x: (x * 3.25 + 1).tanh())
    for _ in range(3):
        traced(ingot.ones(5))
    assert len(SHARED) == before + 1
    del traced
    gc.collect()
    assert len(SHARED) == before
