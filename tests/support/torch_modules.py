"""The same module here and in PyTorch: made from one text, compared forward and backward."""

import warnings

import numpy as np

import ingot
from ingot import nn


def pair(torch, text: str):
    """(ours, theirs) from the text of a constructor; they print alike."""
    ours, theirs = eval("nn." + text, {"nn": nn}), eval("torch.nn." + text, {"torch": torch})
    assert repr(ours) == repr(theirs)
    return ours, theirs


def agree(torch, ours, theirs, x, rng, rtol=1e-4, atol=1e-5):
    """Runs both on `x` with one random gradient: results, input gradients and parameter gradients must be close."""
    a, b = torch.tensor(x, requires_grad=True), ingot.tensor(x, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        u = theirs(a)
    v = ours(b)
    seed = rng.standard_normal(u.shape).astype(np.float32)
    u.backward(torch.tensor(seed))
    v.backward(ingot.tensor(seed))
    np.testing.assert_allclose(v.detach().numpy(), u.detach().numpy(), rtol=rtol, atol=atol)
    np.testing.assert_allclose(b.grad.numpy(), a.grad.numpy(), rtol=1e-4, atol=1e-5)
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-4, atol=1e-4)
