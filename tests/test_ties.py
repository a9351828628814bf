"""Gradients where several elements are the extreme, the median or the limit: PyTorch's shares, in every way of running."""

import math

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot import jit
from ingot.autograd import forward_ad
from ingot.nn import functional as F

nan = math.nan
X = [-2.0, -1.0, 0.0, 1.0, 2.0, nan]
A, B = [-2.0, -1.0, 1.0, nan, 2.0, nan], [-2.0, 1.0, 0.0, 2.0, nan, nan]
ONES = [1.0] * 6
LOW, HIGH = [-1.0] * 6, [1.0] * 6

# function, arguments, the gradient of the sum for each argument
TABLE = {
    "clamp": (lambda x: x.clamp(-1, 1), [X], [[0, 0, 1, 0, 0, 0]]),
    "clip": (lambda x: ingot.clip(x, -1.0, 1.0), [X], [[0, 0, 1, 0, 0, 0]]),
    "clamp in place": (lambda x: (x * 1).clamp_(-1, 1), [X], [[0, 0, 1, 0, 0, 0]]),
    "clamp of nothing": (lambda x: x.clamp(1, -1), [X], [[0] * 6]),
    "clamp at nan": (lambda x: x.clamp(nan, 1), [X], [[0] * 6]),
    "clamp_min": (lambda x: x.clamp_min(-1), [X], [[0, 0, 1, 1, 1, 0]]),
    "clamp_max": (lambda x: x.clamp(max=1), [X], [[1, 1, 1, 0, 0, 0]]),
    "clamp at infinity": (lambda x: x.clamp(min=0), [[math.inf, -math.inf]], [[1, 0]]),
    "clamp by tensors": (lambda x, a, b: x.clamp(a, b), [X, LOW, HIGH],
                         [[0, 0.5, 1, 0.5, 0, 1], [1, 0.5, 0, 0, 0, 0], [0, 0, 0, 0.5, 1, 0]]),
    "clamp by equal tensors": (lambda x, a, b: x.clamp(a, b), [X, HIGH, HIGH],
                               [[0, 0, 0, 1, 0, 1], [1, 1, 1, 0, 0, 0], [0, 0, 0, 0, 1, 0]]),
    "clamp by crossed tensors": (lambda x, a, b: x.clamp(a, b), [X, HIGH, LOW], [[0, 0, 0, 0, 0, 1], [0] * 6, [1] * 6]),
    "clamp by tensors with nan": (
        lambda x, a, b: x.clamp(a, b), [[0.0, 0.0, 1.0, -1.0], [nan, nan, 0.0, 0.0], [1.0, -1.0, nan, nan]],
        [[1, 0, 1, 0], [0] * 4, [0] * 4]),
    "clamp by a row": (lambda x, a: x.reshape(2, 3).clamp(min=a), [X, [-1.0, -1.0, 0.0]],
                       [[0, 0.5, 0.5, 1, 1, 1], [1, 0.5, 1.5]]),
    "clamp_max by a tensor": (lambda x, a: x.clamp_max(a), [X, HIGH], [[1, 1, 1, 0.5, 0, 1], [0, 0, 0, 0.5, 1, 1]]),
    "fmax": (ingot.fmax, [A, B], [[0.5, 0, 1, 0, 1, 1], [0.5, 1, 0, 1, 0, 0]]),
    "fmin": (ingot.fmin, [A, B], [[0.5, 1, 0, 0, 1, 1], [0.5, 0, 1, 1, 0, 0]]),
    "maximum": (ingot.maximum, [A, B], [[0.5, 0, 1, 1, 1, 1], [0.5, 1, 0, 1, 1, 1]]),
    "minimum": (ingot.minimum, [A, B], [[0.5, 1, 0, 1, 1, 1], [0.5, 0, 1, 1, 1, 1]]),
    "median": (ingot.median, [[1.0, 2.0, 2.0, 2.0, 3.0]], [[0, 1 / 3, 1 / 3, 1 / 3, 0]]),
    "median of an even number": (lambda x: x.reshape(2, 2).median(), [[2.0, 2.0, 1.0, 3.0]], [[0.5, 0.5, 0, 0]]),
    "median with nan": (ingot.median, [[1.0, nan, nan, 2.0]], [[0, 0.5, 0.5, 0]]),
    "nanmedian": (ingot.nanmedian, [[1.0, nan, 2.0, 2.0, 3.0]], [[0, 0, 0.5, 0.5, 0]]),
    "nanmedian of nothing": (ingot.nanmedian, [[nan, nan]], [[0.5, 0.5]]),
    "amax": (lambda x: x.amax(), [[1.0, 2.0, 2.0]], [[0, 0.5, 0.5]]),
    "max": (ingot.max, [[1.0, 2.0, 2.0]], [[0, 0.5, 0.5]]),
    "max along": (lambda x: x.max(0).values, [[1.0, 2.0, 2.0]], [[0, 1, 0]]),
    "amin along": (lambda x: x.amin(0), [[1.0, 1.0, 2.0]], [[0.5, 0.5, 0]]),
    "margin_ranking_loss": (lambda x, y: F.margin_ranking_loss(x, y, ingot.ones_like(x), reduction="sum"),
                            [[1.0, 0.0, 2.0], [1.0, 1.0, 1.0]], [[0, -1, 0], [0, 1, 0]]),
}
SECOND = ["clamp", "clamp by tensors", "fmax", "median", "amax"]


def leaves(arguments, device="cpu"):
    return [ingot.tensor(a, dtype=ingot.float64).to(device).requires_grad_() for a in arguments]


def gradients(fn, arguments, device="cpu"):
    given = leaves(arguments, device)
    found = ingot.autograd.grad(fn(*given).sum(), given, allow_unused=True)
    return [np.zeros(len(a)) if g is None else g.cpu().numpy() for a, g in zip(arguments, found)]


@pytest.mark.parametrize("name", TABLE)
def test_ties_share_gradients(name):
    fn, arguments, want = TABLE[name]
    np.testing.assert_array_equal(np.concatenate(gradients(fn, arguments)), np.concatenate(want))


@pytest.mark.parametrize("name", TABLE)
def test_ties_share_gradients_in_traces(name):
    fn, arguments, want = TABLE[name]
    traced = jit.trace(lambda *given: fn(*given))
    for _ in range(2):
        np.testing.assert_array_equal(np.concatenate(gradients(traced, arguments)), np.concatenate(want))


@pytest.mark.parametrize("name", TABLE)
def test_ties_share_gradients_on_a_device(name):
    fn, arguments, want = TABLE[name]
    with mock_cuda.installed():
        np.testing.assert_array_equal(np.concatenate(gradients(fn, arguments, "cuda")), np.concatenate(want))


@pytest.mark.parametrize("name", [name for name in TABLE if not any(nan in a for a in TABLE[name][1])])
def test_ties_share_tangents(name):
    fn, arguments, want = TABLE[name]
    tangents = [ingot.arange(1.0, len(a) + 1, dtype=ingot.float64) for a in arguments]
    with forward_ad.dual_level():
        out = fn(*[forward_ad.make_dual(x.detach(), t) for x, t in zip(leaves(arguments), tangents)])
        tangent = forward_ad.unpack_dual(out).tangent
    total = sum(float(np.dot(w, t.numpy())) for w, t in zip(want, tangents))
    assert (0.0 if tangent is None else tangent.sum().item()) == pytest.approx(total)


@pytest.mark.parametrize("name", SECOND)
def test_the_shares_do_not_change_nearby(name):
    fn, arguments, _ = TABLE[name]
    given = leaves(arguments)
    first = ingot.autograd.grad((fn(*given) * 3).sum(), given, create_graph=True)
    total = sum((g * g).sum() for g in first)
    if total.requires_grad:
        second = ingot.autograd.grad(total, given, allow_unused=True)
        assert all(g is None or not g.numpy().any() for g in second)
