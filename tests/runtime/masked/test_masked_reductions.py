"""Masked reductions: each result is the plain reduction of the selected elements; others influence nothing, not even
gradients."""

import numpy as np
import pytest

import ingot
from ingot import jit, masked

NAN, INF = float("nan"), float("inf")
# name, further arguments, result for nothing
REDUCTIONS = [("sum", {}, 0.0), ("prod", {}, 1.0), ("mean", {}, NAN), ("amax", {}, -INF), ("amin", {}, INF), ("var", {}, NAN),
              ("var", {"correction": 0}, NAN), ("std", {"unbiased": False}, NAN), ("norm", {"ord": 2.0}, 0.0),
              ("norm", {"ord": 1}, 0.0), ("norm", {"ord": INF}, 0.0), ("norm", {"ord": -INF}, INF), ("norm", {"ord": -1}, INF),
              ("logsumexp", {}, -INF), ("median", {}, NAN), ("argmax", {}, None), ("argmin", {}, None)]
IDS = [f"{name} {params}" for name, params, _ in REDUCTIONS]


def case(*shape, over=None):
    """Return values, and a mask of the shape `over` that excludes at least one."""
    rng = np.random.default_rng([len(shape), *shape])
    mask = rng.random(over or shape) < 0.6
    mask.flat[0] = False
    mask.flat[-1] = True
    return ingot.tensor(rng.standard_normal(shape)), ingot.tensor(mask)


def plain(name, x, params):
    """Return the reduction of a vector without a mask."""
    if name == "norm":
        return ingot.linalg.vector_norm(x, params["ord"])
    found = getattr(ingot, name)(x, -1, **params)
    return found.values if name == "median" else found


def lines(x, dim):
    return x.movedim(dim, -1).reshape(-1, x.shape[dim])


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("shape, over", [((4, 5), None), ((2, 4, 3), (4, 1)), ((3, 4), (4,))])
@pytest.mark.parametrize("name, params, nothing", REDUCTIONS, ids=IDS)
def test_each_line_is_the_plain_reduction(name, params, nothing, shape, over, dim):
    x, mask = case(*shape, over=over)
    found = lines(getattr(masked, name)(x, dim=dim, mask=mask, **params)[None], 0)
    chosen = lines(mask.expand(shape), dim)
    for got, values, selects in zip(found.reshape(-1), lines(x, dim), chosen, strict=True):
        if not selects.any():
            if nothing is not None:
                np.testing.assert_equal(got.item(), nothing)
            continue
        want = plain(name, values[selects], params)
        if name.startswith("arg"):
            want = selects.nonzero()[want, 0]
        np.testing.assert_allclose(got.item(), want.item(), rtol=1e-12)


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", [None, (), (0, 2), (-1,), 1])
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "amax", "amin", "var", "std", "norm", "logsumexp"])
def test_several_dimensions_and_no_mask(name, dim, keepdim):
    x, _ = case(2, 3, 4)
    every = ingot.ones(2, 3, 4, dtype=ingot.bool)
    for m in (None, every):
        got = getattr(masked, name)(x, dim=dim, keepdim=keepdim, mask=m)
        dims = tuple(range(3)) if dim is None or dim == () else dim
        if name == "prod":
            want = x
            for d in sorted(((d % 3) for d in np.atleast_1d(dims)), reverse=True):
                want = want.prod(d, keepdim)
        else:
            call = ingot.linalg.vector_norm if name == "norm" else getattr(ingot, name)
            want = call(x, dim=dims, keepdim=keepdim)
        assert got.shape == want.shape
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-12)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin", "cumsum", "cumprod", "normalize"])
def test_lines_that_keep_their_length(name):
    x, mask = case(4, 5)
    extra = (2.0,) if name == "normalize" else ()
    for dim in (0, 1):
        found = lines(getattr(masked, name)(x, *extra, dim, mask=mask), dim)
        for got, values, selects in zip(found, lines(x, dim), lines(mask, dim), strict=True):
            if not selects.any():
                continue
            part = values[selects]
            call = ingot.nn.functional if name in ("softmin", "normalize") else ingot
            want = getattr(call, name)(part, *extra, dim=0)
            np.testing.assert_allclose(got[selects].numpy(), want.numpy(), rtol=1e-12)
            rest = got[~selects].tolist()
            if name not in ("cumsum", "cumprod"):
                assert rest == [-INF if name == "log_softmax" else 0.0] * len(rest)


def test_logaddexp():
    a, b = ingot.tensor([1.0, 2.0, 3.0]), ingot.tensor([4.0, 5.0, 6.0])
    left, right = ingot.tensor([True, True, False]), ingot.tensor([True, False, False])
    got = masked.logaddexp(a, b, input_mask=left, other_mask=right)
    assert got.tolist() == [ingot.logaddexp(a, b)[0].item(), 2.0, -INF]


@pytest.mark.parametrize("name, params, nothing", [r for r in REDUCTIONS if r[0][:3] != "arg"],
                         ids=[i for i in IDS if i[:3] != "arg"])
def test_unselected_elements_have_no_influence(name, params, nothing):
    """Results and gradients keep their bits, also traced, whatever stands where the mask is False."""
    x, mask = case(4, 5)
    mask[:, -1] = True

    def run(x):
        x = x.detach().requires_grad_()
        y = getattr(masked, name)(x, dim=-1, mask=mask, **params)
        g, = ingot.autograd.grad(y.nan_to_num().sum(), x)
        return y.detach(), g

    want, slope = run(x)
    assert (slope[~mask] == 0).all()
    traced = jit.trace(run)
    for other in (0.0, 100.0, NAN, INF, -INF):
        for call in (run, traced):
            y, g = call(x.where(mask, other))
            assert y.numpy().tobytes() == want.numpy().tobytes()
            np.testing.assert_array_equal(g.nan_to_num(nan=7.0).numpy(), slope.nan_to_num(nan=7.0).numpy())


def test_whole_numbers():
    x, mask = ingot.tensor([[3, -1, 2], [5, 6, 7]]), ingot.tensor([[True, False, True], [False, False, False]])
    for name, want in (("sum", [5, 0]), ("prod", [6, 1]), ("amax", [3, -2 ** 63]), ("amin", [2, 2 ** 63 - 1])):
        got = getattr(masked, name)(x, dim=-1, mask=mask)
        assert got.dtype is ingot.int64 and got.tolist() == want
    assert masked.sum(x.to(ingot.int8), dim=0, mask=mask).dtype is ingot.int64
    assert masked.median(x[:1], mask=mask[:1]).tolist() == [2]
    assert masked.var(x[:1], dim=-1, mask=mask[:1]).tolist() == [0.5]
    assert masked.mean(x[:1], dim=-1, mask=mask[:1], dtype=ingot.float32).tolist() == [2.5]


@pytest.mark.parametrize("call, words", [
    (lambda x: masked.mean(x.long()), "no whole number"),
    (lambda x: masked.sum(x, mask=ingot.ones(2, dtype=ingot.bool)), "masked.sum of float64.*laid out over it"),
    (lambda x: masked.amax(x, mask=ingot.ones(1, 3, 4, dtype=ingot.bool)), "laid out over it"),
    (lambda x: masked.softmax(x, 0, mask=True), "got bool"),
    (lambda x: masked.var(x, unbiased=True, correction=1), "either"),
    (lambda x: masked.median(x.long(), mask=ingot.zeros(3, 4, dtype=ingot.bool)), "at least one"),
])
def test_wrong_arguments_raise(call, words):
    with pytest.raises(ingot.IngotError, match=words):
        call(case(3, 4)[0])
