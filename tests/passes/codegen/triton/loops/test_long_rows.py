"""Softmax and its kin over rows that registers do not hold, on the mock driver: as on the CPU, traced with the bits of
eager, in two sweeps at most.
"""

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot import jit
from ingot.ir.kernel.kernel import SWEEP
from ingot.nn import functional as F
from ingot.runtime.cuda.compiler import kernels

ROWS, CLASSES = 9, 9001


@pytest.fixture(autouse=True)
def cuda():
    with mock_cuda.installed() as mock:
        yield mock


@pytest.fixture
def ran(monkeypatch):
    """The kernels that run."""
    found = []
    monkeypatch.setattr(kernels, "LISTENERS", [lambda prepared: found.append(prepared.kernel)])
    return found


def masked(x, y):
    return F.softmax(ingot.where(x > 0.5, x, -float("inf")), 1)


FUNCTIONS = {
    "softmax": lambda x, y: F.softmax(x, 1),
    "log_softmax": lambda x, y: F.log_softmax(3 * x, 1),
    "logsumexp": lambda x, y: ingot.logsumexp(x, 1),
    "masked": masked,
    "cross entropy": F.cross_entropy,
    "smoothed": lambda x, y: F.cross_entropy(x.clamp(min=0), y, label_smoothing=0.1, reduction="sum"),
    "down columns": lambda x, y: F.softmax(x.t(), 0),
}


def logits_and_labels(kind, device):
    rng = np.random.default_rng(3)
    x, y = (100 + 5 * rng.standard_normal((ROWS, CLASSES))).astype("f"), rng.integers(0, CLASSES, ROWS)
    x[4, 1:], y[2], y[4] = -np.inf, -100, 0
    return ingot.tensor(x).to(kind).to(device).requires_grad_(), ingot.tensor(y).to(device)


def gradient(function):
    """A function that gives the result, and the gradient of the sum of its squares."""
    def both(x, y):
        out = function(x, y)
        weights = ingot.where(ingot.isfinite(out.detach()), out.detach(), 0.0)
        return out.detach(), ingot.autograd.grad((out * weights).sum(), x)[0]

    return both


@pytest.mark.parametrize("name, kind", [*[(f, "float32") for f in FUNCTIONS], ("softmax", "bfloat16"),
                                        ("cross entropy", "bfloat16")])
def test_as_on_the_cpu_and_traced_as_eager(name, kind):
    kind, function = getattr(ingot, kind), FUNCTIONS[name]
    want, eager, traced = [[t.float().cpu().numpy() for t in how(gradient(function))(*logits_and_labels(kind, device))]
                           for how, device in ((lambda f: f, "cpu"), (lambda f: f, "cuda"), (jit.trace, "cuda"))]
    slack = 2e-2 if kind is ingot.bfloat16 else 1e-5
    for a, b, c in zip(want, eager, traced):
        size = np.abs(a[np.isfinite(a)]).max()
        np.testing.assert_allclose(b, a, rtol=slack, atol=1e-3 * slack * size)
        np.testing.assert_array_equal(c, b)


@pytest.mark.parametrize("name, most", [("softmax", 2), ("log_softmax", 2), ("logsumexp", 1), ("cross entropy", 1)])
def test_sweeps(name, most, ran):
    x, y = logits_and_labels(ingot.float32, "cuda")
    FUNCTIONS[name](x.detach(), y)
    swept = [sum(s.over == SWEEP for s in k.stages) for k in ran if any(i.attr == "exp_sum" for i in k.instructions())]
    assert swept == [most], [k.name for k in ran]
    assert not any("exp" in k.name and "exp_sum" not in k.name for k in ran), "exponentials are nobody else's"
