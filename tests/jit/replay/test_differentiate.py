"""Gradients of a tensor that is used inside of a traced call and outside of it have eager's bits."""

import pytest

import ingot
from ingot import jit
from ingot.nn import functional as F

FUNCTIONS = {
    "one use": lambda w: w.exp().sum(),
    "two uses": lambda w: (w * w.exp() + w.sin()).sum(),
    "uses in a loop": lambda w: sum((w * (i + 0.3)).tanh() for i in range(4)).sum(),
    "softmax": lambda w: (F.softmax(w, 0) * w).sum(),
    "branch": lambda w: (w * w.cos() + w).sum() if w.sum() > 0 else (w * w.sin() - w.exp()).sum(),
}
AROUND = {
    "later": lambda f, w: f(w) + (w * 3.7).sum(),
    "earlier": lambda f, w: (w * 3.7).sum() + f(w),
    "on both sides": lambda f, w: (w * w).sum() + f(w) + (w.exp() * 0.3).sum(),
    "twice": lambda f, w: f(w) * f(w) + w.sum(),
    "of a result": lambda f, w: f(w) * w.sum(),
}


@pytest.mark.parametrize("inner", [False, True], ids=["leaf", "no leaf"])
@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_added_in_eagers_order(name, around, inner):
    f, traced = FUNCTIONS[name], jit.trace(FUNCTIONS[name])
    for seed in range(8):
        found = []
        for g in (f, traced):
            ingot.manual_seed(seed)
            leaf = ingot.randn(5).requires_grad_(True)
            w = leaf * 1.5 if inner else leaf
            AROUND[around](g, w).backward()
            found.append(leaf.grad.numpy().tobytes())
        assert found[0] == found[1], seed
