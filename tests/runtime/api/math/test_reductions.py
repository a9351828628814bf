"""Reductions, scans and statistics as users call them, against numpy and hand-made cases."""

from contextlib import nullcontext

import numpy as np
import pytest

import ingot
import private_names  # noqa: F401
from ingot.ir.errors import ArgumentError, DimError, DTypeError

RNG = np.random.default_rng(11)
X = RNG.standard_normal((3, 4, 5))
NAN, INF = float("nan"), float("inf")


def t(a, **kw):
    return ingot.tensor(np.asarray(a), **kw)


def same(got, want, **tol):
    np.testing.assert_allclose(got.detach().numpy(), want, **({"rtol": 1e-12} | tol))


@pytest.mark.parametrize("dim", [None, 0, -1, (0, 2), [1, -1], ()])
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("name", ["sum", "mean", "amax", "amin", "std", "var"])
def test_reductions_are_numpys(name, dim, keepdim):
    if name in ("std", "var"):
        def numpys(x, **kw):
            return getattr(np, name)(x, ddof=1, **kw)
    else:
        numpys = getattr(np, name)
    axis = None if dim in (None, ()) else tuple(dim) if isinstance(dim, list) else dim
    want = numpys(X, axis=axis, keepdims=keepdim)
    same(getattr(ingot, name)(t(X), dim, keepdim=keepdim), want)
    same(getattr(t(X), name)(axis=dim, keepdims=keepdim), want)


def test_integers_sum_and_multiply_in_int64_and_have_no_mean():
    x = t(np.array([100, 100, 100], np.int8))
    assert x.sum().item() == 300 and x.sum().dtype is ingot.int64
    assert x.prod().item() == 10 ** 6 and (x > 0).sum().item() == 3
    assert x.sum(dtype=ingot.float32).dtype is ingot.float32
    with pytest.raises(DTypeError, match="mean takes a floating point"):
        x.mean()


def test_max_has_three_forms():
    x, y = t(X), t(X[::-1].copy())
    same(ingot.max(x), X.max())
    values, indices = x.max(1)
    same(values, X.max(1))
    same(indices, X.argmax(1))
    assert x.max(dim=1, keepdim=True).values.shape == (3, 1, 5)
    same(ingot.max(x, y), np.maximum(X, X[::-1]))
    assert type(ingot.min(x, 0)).__name__ == "min" and ingot.min(x, 0)._fields == ("values", "indices")


def test_nan_is_the_largest_and_the_smallest():
    x = t([1.0, NAN, 3.0])
    assert np.isnan(x.max().item()) and np.isnan(x.min().item())
    assert x.argmax().item() == 1 and x.argmin().item() == 1
    assert x.nansum().item() == 4.0 and x.nanmean().item() == 2.0
    assert np.isnan(x.median().item()) and x.nanmedian().item() == 1.0
    assert np.isnan(x.quantile(0.5).item()) and x.nanquantile(0.5).item() == 2.0


def test_a_nan_that_is_the_extreme_has_the_gradient():
    for extreme in (ingot.max, ingot.min, ingot.amax, ingot.amin):
        x = t([[0.0, 1.0], [NAN, 2.0]]).requires_grad_()
        extreme(x).backward()
        assert x.grad.tolist() == [[0, 0], [1, 0]]
    x = t([[0.0, NAN, 1.0, NAN], [1.0, 3.0, 3.0, 0.0]]).requires_grad_()
    x.amax(1).sum().backward()
    assert x.grad.tolist() == [[0, 0.5, 0, 0.5], [0, 0.5, 0.5, 0]]


def test_a_bool_is_no_dimension():
    for call in (lambda x: x.sum(True), lambda x: x.amax(True), lambda x: x.argmax(True), lambda x: x.mean((0, False))):
        with pytest.raises(TypeError, match=r"dim must be an integer, got (True|False); options like keepdim"):
            call(t([[1.0, 2.0]]))


@pytest.mark.parametrize("shape, dim, error", [((0,), None, DimError), ((2, 0), 1, DimError), ((2, 3), 2, DimError)])
def test_extremes_of_nothing_are_errors(shape, dim, error):
    x = ingot.zeros(shape)
    with pytest.raises(error):
        x.max() if dim is None else x.max(dim)


def test_gradient_of_max_goes_to_the_place_and_of_amax_to_all_ties():
    x = t([[2.0, 5.0, 5.0]], requires_grad=True)
    x.max(1).values.sum().backward()
    same(x.grad, [[0.0, 1.0, 0.0]])
    x.grad = None
    x.amax(1).sum().backward()
    same(x.grad, [[0.0, 0.5, 0.5]])


@pytest.mark.parametrize("row", [[2.0, 3.0, 4.0], [0.0, 3.0, 4.0], [0.0, 3.0, 0.0], [0.0, 0.0, 0.0]])
def test_gradient_of_prod_with_zeros(row):
    x = t(row, requires_grad=True)
    x.prod().backward()
    same(x.grad, [np.prod(row[:i] + row[i + 1:]) for i in range(3)])


def test_var_in_all_call_forms():
    x = t(X)
    same(ingot.var(x, False), X.var())
    same(ingot.var(x, 1, False), X.var(1))
    same(ingot.var(x, unbiased=False), X.var())
    same(ingot.var(x, dim=1, correction=2), X.var(1, ddof=2))
    both = ingot.std_mean(x, dim=0)
    same(both[0], X.std(0, ddof=1))
    same(both[1], X.mean(0))
    with pytest.raises(ArgumentError, match="not both"):
        ingot.var(x, unbiased=True, correction=0)


def test_gradient_of_std_at_equal_values_is_zero():
    x = t([3.0, 3.0], requires_grad=True)
    x.std().backward()
    same(x.grad, [0.0, 0.0])


def test_float16_accumulates_in_float32():
    x = ingot.full((4096,), 40.0, dtype=ingot.float16)
    assert x.mean().item() == 40.0 and x.mean().dtype is ingot.float16
    ones = ingot.ones(4096, dtype=ingot.bfloat16)
    assert ones.sum().item() == 4096.0


@pytest.mark.parametrize("p, want", [("fro", 5.0), (2, 5.0), (1, 7.0), (INF, 4.0), (-INF, 3.0), (0, 2.0), (3, 91 ** (1 / 3))])
def test_norm(p, want):
    x = t([3.0, -4.0])
    same(ingot.norm(x, p), want)
    same(x.norm(p, dim=0), want)


def test_norm_at_zero_has_the_gradient_zero():
    for p in (1, 2, 3, INF):
        x = ingot.zeros(3, dtype=ingot.float64, requires_grad=True)
        x.norm(p).backward()
        same(x.grad, [0.0] * 3, err_msg=f"p={p}")


def test_truth_and_counts():
    x = t(np.array([[0, 1], [0, 0]], np.uint8))
    assert x.any().dtype is ingot.uint8 and x.all(0).dtype is ingot.uint8
    assert t(X).any().dtype is ingot.bool
    same(x.count_nonzero(1), [1, 0])
    same(x.count_nonzero(0, 1), 1)
    same(x.count_nonzero(0, keepdim=True), [[0, 1]])
    same(ingot.aminmax(t(X), dim=1).max, X.max(1))


def test_out_takes_the_result():
    out, at = ingot.empty(0, dtype=ingot.float64), ingot.empty(0, dtype=ingot.int64)
    assert ingot.sum(t(X), 0, out=out) is out
    same(out, X.sum(0))
    ingot.max(t(X), 1, out=(out, at))
    same(out, X.max(1))
    same(at, X.argmax(1))


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_scans_are_numpys(dim):
    x = t(X)
    same(x.cumsum(dim), X.cumsum(dim))
    same(x.cumprod(dim), X.cumprod(dim))
    same(x.logcumsumexp(dim), np.log(np.cumsum(np.exp(X), dim)), rtol=1e-9)
    values, at = x.cummax(dim)
    same(values, np.maximum.accumulate(X, dim))
    same(np.take_along_axis(X, at.numpy(), dim) - values, 0.0)


def test_cummax_gives_the_last_of_equals_and_stays_at_nan():
    same(t([1.0, 3.0, 3.0, 2.0]).cummax(0).indices, [0, 1, 2, 2])
    same(t([1.0, NAN, 5.0]).cummax(0).indices, [0, 1, 1])


def test_cumprod_gradient_with_zeros():
    x = t([2.0, 0.0, 3.0, 0.0, 4.0], requires_grad=True)
    x.cumprod(0).sum().backward()
    same(x.grad, [1.0, 2 + 2 * 3, 0.0, 0.0, 0.0])


def test_differences_and_integrals():
    same(ingot.diff(t(X), 2, 1), np.diff(X, 2, 1))
    same(ingot.diff(t(X), dim=1, prepend=t(X[:, :1])), np.diff(X, axis=1, prepend=X[:, :1]))
    same(ingot.diff(t(X), 0, append=t(X)), np.diff(X, 0, append=X))
    same(ingot.trapezoid(t(X), dx=0.5), np.trapezoid(X, dx=0.5))
    places = np.sort(RNG.standard_normal(5))
    same(ingot.trapezoid(t(X), t(places)), np.trapezoid(X, places))
    assert ingot.cumulative_trapezoid(t(X), dim=1).shape == (3, 3, 5)


@pytest.mark.parametrize("method", ["linear", "lower", "higher", "nearest", "midpoint"])
def test_quantile_interpolates_as_numpy(method):
    q = np.array([0.0, 0.1, 0.55, 1.0])
    same(ingot.quantile(t(X), t(q), 1, interpolation=method), np.quantile(X, q, 1, method=method))
    same(t(X).quantile(0.3, interpolation=method), np.quantile(X, 0.3, method=method))
    assert t(X).quantile(t(q), 1, keepdim=True).shape == (4, 3, 1, 5)


@pytest.mark.parametrize("method, share", [("linear", 0.3), ("midpoint", 0.5)])
def test_equal_neighbours_share_the_gradient_of_a_quantile(method, share):
    x = ingot.tensor([2.0, 2.0], requires_grad=True)
    x.quantile(0.3, interpolation=method).backward()
    assert x.grad.tolist() == pytest.approx([1 - share, share])
    ends = ingot.tensor([-np.inf, -np.inf, 1.0, np.inf, np.inf], requires_grad=True)
    found = ends.quantile(ingot.tensor([0.0, 0.1, 0.5, 0.9, 1.0]), interpolation=method)
    assert found.tolist() == [-np.inf, -np.inf, 1, np.inf, np.inf]
    found.sum().backward()
    assert ends.grad.isfinite().all()


def test_quantile_refuses_levels_outside():
    with pytest.raises(ArgumentError, match="within 0 and 1"):
        t(X).quantile(1.5)


def test_median_is_the_lower_one():
    same(t([4.0, 1.0, 3.0, 2.0]).median(), 2.0)
    values, at = t([[4.0, 1.0, 3.0]]).median(1)
    same(values, [3.0])
    same(at, [2])


MANY = {"even": lambda r, n: r.standard_normal(n), "ties": lambda r, n: r.integers(-3, 9, n).astype(float),
        "zeros of both signs": lambda r, n: r.choice([0.0, -0.0], n),
        "infinite": lambda r, n: r.choice([np.inf, -np.inf, 1.0], n), "all nan": lambda r, n: np.full(n, np.nan),
        "nan": lambda r, n: np.where(r.random(n) < 0.001, np.nan, r.standard_normal(n))}
KINDS = (ingot.float32, ingot.float64, ingot.float16, ingot.bfloat16, ingot.int64, ingot.uint8)


@pytest.mark.parametrize("dtype", KINDS, ids=str)
@pytest.mark.parametrize("kind", MANY)
def test_medians_of_many_are_those_that_sorting_gives(kind, dtype):
    """Eager medians use selection: bits and gradients equal those of the sorting operators (which run under a profile)."""
    rng = np.random.default_rng(4)
    for n in (1 << 10, (1 << 10) + 1, 5000):
        values = MANY[kind](rng, n)
        if not dtype.is_floating_point:
            values = np.abs(np.nan_to_num(values, posinf=9, neginf=-7))
        x = t(values).to(dtype).reshape(-1, 1)
        x.requires_grad_(dtype.is_floating_point)
        found = []
        for listens in (False, True, False, False):
            with ingot.profiler.profile() if listens else nullcontext():
                pair = x.median(), x.nanmedian()
                if x.requires_grad:
                    pair = *pair, *[ingot.autograd.grad(m, x)[0] for m in pair]
            found.append([(m.dtype, m.shape, m._a.tobytes()) for m in pair])
        assert found[0] == found[1] == found[2] == found[3]


def test_mode_is_the_smallest_of_the_most_frequent():
    values, at = t([[2, 1, 2, 1, 3]]).mode(1)
    same(values, [1])
    same(at, [3])


def test_counts():
    x = np.array([0, 3, 3, 1])
    same(ingot.bincount(t(x)), np.bincount(x))
    same(ingot.bincount(t(x), t([1.0, 0.5, 2.0, 4.0]), minlength=6), np.bincount(x, [1.0, 0.5, 2.0, 4.0], 6))
    same(ingot.histc(t(X), 7, -1, 1), np.histogram(X, 7, (-1, 1))[0])
    with pytest.raises(ArgumentError, match="at least 0"):
        ingot.bincount(t([-1]))


def test_covariance_and_correlation():
    x = X[0]
    same(ingot.cov(t(x)), np.cov(x))
    same(ingot.cov(t(x), correction=0, fweights=t([1, 2, 3, 1, 1])), np.cov(x, ddof=0, fweights=[1, 2, 3, 1, 1]))
    same(ingot.cov(t(x), aweights=t([.1, .2, .3, .2, .2])), np.cov(x, aweights=[.1, .2, .3, .2, .2]))
    same(ingot.corrcoef(t(x)), np.corrcoef(x))


def test_covariance_of_complex_numbers():
    z = X[0] + 1j * X[1]
    same(ingot.cov(t(z)), np.cov(z))
    assert ingot.cov(t(z[0])).item() == pytest.approx(np.cov(z[0]).item())
    weights = {"fweights": [1, 2, 3, 1, 1], "aweights": [.1, .2, .3, .2, .2]}
    same(ingot.cov(t(z), **{k: t(w) for k, w in weights.items()}), np.cov(z, **weights))
    same(ingot.corrcoef(t(z)), np.corrcoef(z))


@pytest.mark.parametrize("f", [ingot.amax, ingot.amin, ingot.median, ingot.nanmedian, ingot.mode, ingot.argmax, ingot.aminmax,
                               ingot.max, lambda x, dim: ingot.kthvalue(x, 1, dim)])
def test_extremes_of_nothing_are_errors_of_indices(f):
    with pytest.raises(IndexError):
        f(ingot.ones(0, 3), dim=0)
    assert not np.asarray(ingot.utils._pytree.tree_leaves(f(ingot.ones(0, 3), dim=1))[0].numpy()).size


@pytest.mark.parametrize("f, want", [(ingot.all, [True, False]), (ingot.any, [True, True])])
@pytest.mark.parametrize("given", ["bool", "uint8", "float32", "complex64"])
def test_truths_are_written_as_bool_or_uint8(f, want, given):
    x = ingot.tensor([[1, 1], [0, 1]]).to(getattr(ingot, given))
    for d in (ingot.bool, ingot.uint8):
        out = ingot.empty(0, dtype=d)
        assert f(x, 1, out=out) is out and out.tolist() == want and out.dtype is d
    for d in (ingot.int64, ingot.float32):
        with pytest.raises(DTypeError, match="bool or uint8"):
            f(x, 1, out=ingot.empty(0, dtype=d))
