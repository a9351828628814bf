"""Sorting, searching and distinct values as users call them."""

import numpy as np
import pytest

import ingot
from ingot.ir.errors import ArgumentError, DimError, ShapeError

RNG = np.random.default_rng(5)
X = RNG.integers(-4, 5, (6, 7))
NAN = float("nan")


def t(a, **kw):
    return ingot.tensor(np.asarray(a), **kw)


def same(got, want):
    np.testing.assert_array_equal(got.detach().numpy(), want)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "int8", "uint8", "bool"])
@pytest.mark.parametrize("dim", [0, 1])
def test_sort_is_stable_in_both_directions(dtype, dim):
    a = (X + 4).astype(dtype)
    values, at = t(a).sort(dim)
    same(at, np.argsort(a, dim, kind="stable"))
    same(values, np.sort(a, dim))
    down = t(a).argsort(dim, descending=True)
    same(down, np.argsort(-a.astype(np.int64), dim, kind="stable"))


def test_nan_is_last_and_first_when_descending():
    x = t([1.0, NAN, -np.inf, np.inf, -0.0, 0.0])
    same(x.argsort(), [2, 4, 5, 0, 3, 1])
    same(x.argsort(descending=True), [1, 3, 0, 4, 5, 2])


@pytest.mark.parametrize("k", [0, 1, 3, 7])
@pytest.mark.parametrize("largest", [True, False])
def test_topk_is_the_head_of_the_stable_sort(k, largest):
    a = RNG.integers(0, 5, (4, 40))
    values, at = t(a).topk(k, largest=largest)
    same(at, np.argsort(-a if largest else a, -1, kind="stable")[:, :k])
    same(values, np.take_along_axis(a, at.numpy(), -1))


def test_topk_and_kthvalue_refuse_too_many():
    with pytest.raises(ShapeError, match=r"k=9 must be within 0\.\.7"):
        t(X).topk(9)
    with pytest.raises(DimError, match="k=0"):
        t(X).kthvalue(0)


def test_places_of_one_in_each_row_lie_in_rows():
    assert all(found.is_contiguous() for k in (1, 3) for found in t(X).kthvalue(k, 0))


def test_gradients_go_to_where_the_values_came_from():
    x = t([3.0, 1.0, 2.0], requires_grad=True)
    (x.sort().values * t([1.0, 10.0, 100.0])).sum().backward()
    same(x.grad, [100.0, 1.0, 10.0])
    x.grad = None
    x.topk(2).values.sum().backward()
    same(x.grad, [1.0, 0.0, 1.0])
    x.grad = None
    x.kthvalue(2).values.backward()
    same(x.grad, [0.0, 0.0, 1.0])


def test_zero_dimensional_tensors_sort():
    values, at = t(5.0).sort()
    assert values.item() == 5.0 and at.shape == () and t(5.0).topk(1).values.shape == ()


@pytest.mark.parametrize("right", [False, True])
def test_search(right):
    row, wanted = np.array([1, 3, 3, 9]), RNG.integers(0, 11, (3, 4))
    want = np.searchsorted(row, wanted, "right" if right else "left")
    same(ingot.searchsorted(t(row), t(wanted), right=right), want)
    same(ingot.bucketize(t(wanted), t(row), right=right, out_int32=True), want)
    assert ingot.searchsorted(t(row), 4).item() == 3
    with pytest.raises(ArgumentError, match="one side"):
        ingot.searchsorted(t(row), t(wanted), right=True, side="left")


def test_unique_with_everything():
    values, inverse, counts = ingot.unique(t(X), return_inverse=True, return_counts=True)
    want = np.unique(X, return_counts=True)
    same(values, want[0])
    same(counts, want[1])
    same(values[inverse], X)


@pytest.mark.parametrize("dim", [0, 1])
def test_unique_along_a_dim(dim):
    a = RNG.integers(0, 2, (9, 3) if dim == 0 else (3, 9))
    values, inverse, counts = ingot.unique(t(a), dim=dim, return_inverse=True, return_counts=True)
    want = np.unique(a, axis=dim, return_counts=True)
    same(values, want[0])
    same(counts, want[1])
    same(values.index_select(dim, inverse), a)


KINDS = (ingot.float32, ingot.float64, ingot.float16, ingot.bfloat16, ingot.int64, ingot.uint8, ingot.bool)
ASKED = [{"return_inverse": inverse, "return_counts": counts} for inverse in (False, True) for counts in (False, True)]


@pytest.mark.parametrize("call", ["unique", "unique_consecutive"])
@pytest.mark.parametrize("dtype", KINDS, ids=str)
def test_few_distinct_values_are_those_of_the_operators(call, dtype):
    """Few elements need no operators: bits, shapes and dtypes are the same (a profile runs operators)."""
    rng, f = np.random.default_rng(6), getattr(ingot, call)
    for n in (1, 2, 6, 60, 700):
        for special in ([0.0, -0.0, 1.0], [np.nan, 1.0, np.inf], [5.0]):
            values = np.where(rng.random(n) < 0.4, rng.choice(special, n), rng.integers(0, 9, n).astype(float))
            values = values if dtype.is_floating_point else np.abs(np.nan_to_num(values, posinf=7))
            x = t(values).to(dtype)
            for given in (x, x.reshape(-1, 1 if n % 2 else 2).T):
                for asked in ASKED:
                    here = f(given, **asked)
                    with ingot.profiler.profile():
                        there = f(given, **asked)
                    for a, b in zip(*[r if type(r) is tuple else (r,) for r in (here, there)], strict=True):
                        assert (a.dtype, a.shape, a._a.tobytes()) == (b.dtype, b.shape, b._a.tobytes())


def test_unique_consecutive():
    values, inverse, counts = ingot.unique_consecutive(t([1, 1, 2, 2, 2, 1]), return_inverse=True, return_counts=True)
    same(values, [1, 2, 1])
    same(inverse, [0, 0, 1, 1, 1, 2])
    same(counts, [2, 3, 1])
    assert ingot.unique(ingot.zeros(0)).shape == (0,)


def test_isin():
    same(ingot.isin(t(X), t([1, -2])), np.isin(X, [1, -2]))
    same(ingot.isin(t(X), t([1, -2]), invert=True), ~np.isin(X, [1, -2]))
    same(ingot.isin(t(X), 3), X == 3)
    same(ingot.isin(t(X), ingot.zeros(0, dtype=ingot.int64)), np.zeros(X.shape, bool))


def test_a_sorter_orders_the_whole_sequence():
    row, sorter = t([3.0, 1.0, 2.0]), t([1, 2, 0])
    assert ingot.searchsorted(row, t([1.5]), sorter=sorter).tolist() == [1]
    with pytest.raises(ShapeError, match="all of the sequence"):
        ingot.searchsorted(row, t([1.5]), sorter=sorter[:2])
