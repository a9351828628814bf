"""Gradients with ties in extremes, medians or limits: PyTorch's shares, in every way of running."""

import contextlib
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


# scatter_reduce: operands, and by (reduction, dim, include_self) the gradients of `input` and `src` in PyTorch 2.13. For
# extremes of `src` alone `input` is 50 everywhere, so it is no extreme.

THERE = [[1.0, 2.0, 3.0], [2.0, 0.0, 2.0], [0.0, 5.0, -1.0]]
PLACES = {0: [[0, 1, 1], [0, 2, 1], [0, 1, 0], [2, 1, 1]], 1: [[0, 0, 0, 2], [1, 1, 1, 1], [2, 0, 2, 2]]}
COMING = {0: [[2.0, 0.0, 2.0], [2.0, 5.0, 2.0], [0.0, 0.0, 3.0], [0.0, 3.0, 2.0]],
          1: [[1.0, 2.0, 2.0, 3.0], [0.0, 0.0, 4.0, 2.0], [3.0, 0.0, 3.0, -1.0]]}
SLOPES = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]
SCATTERED = {
    ("sum", 0, True): (
        [[1, 2, 3], [4, 5, 6], [7, 8, 9]],
        [[1, 5, 6], [1, 8, 6], [1, 5, 3], [7, 5, 6]]),
    ("sum", 0, False): (
        [[0, 2, 0], [4, 0, 0], [0, 0, 9]],
        [[1, 5, 6], [1, 8, 6], [1, 5, 3], [7, 5, 6]]),
    ("prod", 0, True): (
        [[0, 2, 9], [4, 0, 48], [0, 40, 9]],
        [[0, 0, 48], [0, 40, 48], [4, 0, 9], [0, 0, 48]]),
    ("prod", 0, False): (
        [[0, 2, 0], [4, 0, 0], [0, 0, 9]],
        [[0, 0, 24], [0, 8, 24], [4, 0, 3], [7, 0, 24]]),
    ("mean", 0, True): (
        [[0.25, 2, 1.5], [4, 1.25, 1.5], [3.5, 4, 9]],
        [[0.25, 1.25, 1.5], [0.25, 4, 1.5], [0.25, 1.25, 1.5], [3.5, 1.25, 1.5]]),
    ("mean", 0, False): (
        [[0, 2, 0], [4, 0, 0], [0, 0, 9]],
        [[1 / 3, 5 / 3, 2], [1 / 3, 8, 2], [1 / 3, 5 / 3, 3], [7, 5 / 3, 2]]),
    ("amax", 0, True): (
        [[0, 2, 1.5], [4, 0, 1.5], [3.5, 4, 9]],
        [[0.5, 0, 1.5], [0.5, 4, 1.5], [0, 0, 1.5], [3.5, 5, 1.5]]),
    ("amax", 0, False): (
        [[0, 2, 0], [4, 0, 0], [0, 0, 9]],
        [[0.5, 0, 2], [0.5, 8, 2], [0, 0, 3], [7, 5, 2]]),
    ("amin", 0, True): (
        [[0, 2, 1.5], [4, 5 / 3, 1.5], [3.5, 4, 9]],
        [[0, 5 / 3, 1.5], [0, 4, 1.5], [1, 5 / 3, 1.5], [3.5, 0, 1.5]]),
    ("amin", 0, False): (
        [[0, 2, 0], [4, 0, 0], [0, 0, 9]],
        [[0, 2.5, 2], [0, 8, 2], [1, 2.5, 3], [7, 0, 2]]),
    ("sum", 1, True): (
        [[1, 2, 3], [4, 5, 6], [7, 8, 9]],
        [[1, 1, 1, 3], [5, 5, 5, 5], [9, 7, 9, 9]]),
    ("sum", 1, False): (
        [[0, 2, 0], [4, 0, 6], [0, 8, 0]],
        [[1, 1, 1, 3], [5, 5, 5, 5], [9, 7, 9, 9]]),
    ("prod", 1, True): (
        [[4, 2, 9], [4, 0, 6], [0, 8, -81]],
        [[4, 2, 2, 9], [0, 0, 0, 0], [27, 0, 27, -81]]),
    ("prod", 1, False): (
        [[0, 2, 0], [4, 0, 6], [0, 8, 0]],
        [[4, 2, 2, 3], [0, 0, 0, 0], [-27, 7, -27, 81]]),
    ("mean", 1, True): (
        [[0.25, 2, 1.5], [4, 1, 6], [3.5, 8, 2.25]],
        [[0.25, 0.25, 0.25, 1.5], [1, 1, 1, 1], [2.25, 3.5, 2.25, 2.25]]),
    ("mean", 1, False): (
        [[0, 2, 0], [4, 0, 6], [0, 8, 0]],
        [[1 / 3, 1 / 3, 1 / 3, 3], [1.25, 1.25, 1.25, 1.25], [3, 7, 3, 3]]),
    ("amax", 1, True): (
        [[0, 2, 1.5], [4, 0, 6], [3.5, 8, 0]],
        [[0, 0.5, 0.5, 1.5], [0, 0, 5, 0], [4.5, 3.5, 4.5, 0]]),
    ("amax", 1, False): (
        [[0, 2, 0], [4, 0, 6], [0, 8, 0]],
        [[0, 0.5, 0.5, 3], [0, 0, 5, 0], [4.5, 7, 4.5, 0]]),
    ("amin", 1, True): (
        [[0.5, 2, 1.5], [4, 5 / 3, 6], [3.5, 8, 4.5]],
        [[0.5, 0, 0, 1.5], [5 / 3, 5 / 3, 0, 0], [0, 3.5, 0, 4.5]]),
    ("amin", 1, False): (
        [[0, 2, 0], [4, 0, 6], [0, 8, 0]],
        [[1, 0, 0, 3], [2.5, 2.5, 0, 0], [0, 7, 0, 9]]),
}


@pytest.mark.parametrize("way", ["eager", "traced", "cuda"])
@pytest.mark.parametrize("reduce, dim, include", SCATTERED)
def test_gradients_of_scatter_reduce_are_pytorchs(reduce, dim, include, way):
    def fn(x, src, index, slopes, dim):
        y = x.scatter_reduce(dim, index, src, reduce, include_self=include)
        return ingot.autograd.grad(y, (x, src), slopes)

    run = jit.trace(fn) if way == "traced" else fn
    device = "cuda" if way == "cuda" else "cpu"
    there = THERE if include or reduce in ("sum", "prod", "mean") else [[50.0] * 3] * 3
    with mock_cuda.installed() if way == "cuda" else contextlib.nullcontext():
        index, slopes = ingot.tensor(PLACES[dim], device=device), ingot.tensor(SLOPES, dtype=ingot.float64, device=device)
        for axis in (dim, dim - 2) if way == "eager" else (dim,):
            found = run(*leaves([there, COMING[dim]], device), index, slopes, axis)
            for got, want in zip(found, SCATTERED[reduce, dim, include]):
                np.testing.assert_allclose(got.cpu().numpy(), want, rtol=1e-15)


def scattered(x, index, src, slopes, reduce, dim, include):
    """Return the gradients of scatter_reduce by its definition, place by place."""
    terms, gx, gsrc = {}, np.zeros_like(x), np.zeros_like(src)
    for at in np.ndindex(index.shape):
        place = list(at)
        place[dim] = index[at]
        terms.setdefault(tuple(place), []).append((gsrc, at, src[at]))
    for place in np.ndindex(x.shape):
        if include or place not in terms:
            terms.setdefault(place, []).append((gx, place, x[place]))
        values = np.array([value for _, _, value in terms[place]])
        for i, (grad, at, value) in enumerate(terms[place]):
            extreme = values.max() if reduce == "amax" else values.min()
            share = {"sum": 1.0, "mean": 1 / len(values), "prod": np.delete(values, i).prod()}.get(
                reduce, (value == extreme) / (values == extreme).sum())
            grad[at] = slopes[place] * share
    return gx, gsrc


@pytest.mark.parametrize("include", [True, False])
@pytest.mark.parametrize("reduce", ["sum", "mean", "prod", "amax", "amin"])
def test_gradients_of_scatter_reduce_are_those_of_its_definition(reduce, include):
    """Cases with several zeros and ties at a position, and operands larger than the index. Without `include_self` the input
    has no share even if it equals the extreme; PyTorch counts it then, and loses its share."""
    random = np.random.default_rng(len(reduce) + include)
    traced = jit.trace(lambda x, src, index, slopes, dim: ingot.autograd.grad(
        x.scatter_reduce(dim, index, src, reduce, include_self=include), (x, src), slopes))
    for _ in range(12):
        rank = int(random.integers(1, 4))
        dim, shape = int(random.integers(rank)), random.integers(2, 5, rank)
        sizes = [int(random.integers(1, 7)) if d == dim else int(random.integers(1, n + 1)) for d, n in enumerate(shape)]
        x, src = random.integers(-1, 3, shape).astype(float), random.integers(-1, 3, [n + 1 for n in sizes]).astype(float)
        index, slopes = random.integers(0, shape[dim], sizes), random.standard_normal(shape)
        want = scattered(x, index, src, slopes, reduce, dim, include)
        for axis in (dim, dim - rank):
            given = leaves([x, src])
            y = given[0].scatter_reduce(axis, ingot.tensor(index), given[1], reduce, include_self=include)
            eager = ingot.autograd.grad(y, given, ingot.tensor(slopes))
            for got in (eager, traced(*given, ingot.tensor(index), ingot.tensor(slopes), axis)):
                np.testing.assert_allclose(got[0].numpy(), want[0], rtol=1e-14)
                np.testing.assert_allclose(got[1].numpy(), want[1], rtol=1e-14)
