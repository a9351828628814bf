"""Orders, running sums and gathers against NumPy: every dtype, ties, nan, signed zeros, any length."""

import ml_dtypes
import numpy as np
import pytest

import ingot  # noqa: F401  (fills the table of operators)
from graphs import same_bits
from ingot.ir import dtype as dt
from ingot.ir.errors import IngotError
from ingot.ir.graph.graph import Builder
from ingot.ir.opdef.aval import Aval
from ingot.ir.opdef.op import OPS
from ingot.ir.ops.index import indexing
from ingot.runtime.cpu.calls import pool
from ingot.runtime.cpu.graph import composites, eager
from ingot.runtime.cpu.index import gathers, ordering, scans, search

FLOATS = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16]
KINDS = [*FLOATS, np.bool_, *[np.dtype(f"{s}{n}") for s in "iu" for n in (1, 2, 4, 8)]]
LENGTHS = [1, 5, 16, 33, 100, 144, 161, 700, 3000]       # few are counted, more sorted by digits


def rows(kind, n, seed=0):
    """Return five rows: random, with special values, sorted, with many ties, all equal."""
    x = 100 * np.random.default_rng(seed).standard_normal((5, n))
    x[2].sort()
    x[3] = np.round(x[3], -2)
    x[4] = x[4, 0]
    kind = np.dtype(kind)
    if kind == np.bool_:
        return x > 0
    x = (np.abs(x) if kind.kind == "u" else x).astype(np.float32).astype(kind)
    if kind in [np.dtype(f) for f in FLOATS] and n > 4:
        x[1, :5] = [np.nan, -np.nan, 0.0, -0.0, -np.inf]
        x[0, 3] = np.inf
    elif kind.kind in "iu" and n > 1:
        x[1, :2] = np.iinfo(kind).min, np.iinfo(kind).max
    return x


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_argsort_and_topk_equal_the_reference(kind, descending):
    for n in LENGTHS:
        x = rows(kind, n)
        want = OPS["argsort"].ref(x, dim=1, descending=descending)
        assert (ordering.argsort(x, dim=1, descending=descending) == want).all(), f"{n}, seed 0"
        assert (ordering.argsort(np.asfortranarray(x.T), dim=0, descending=descending) == want.T).all()
        for k in {k for k in (1, 2, n // 5, n) if 0 < k <= n}:
            got = ordering.arg_topk(x, k=k, dim=1, largest=descending)
            assert (got == want[:, :k]).all(), f"the first {k} of {n}, seed 0"


def test_topk_of_rows_that_replace_the_selection():
    x = np.arange(40_000, dtype=np.float32).reshape(2, -1)      # every element comes before all that were kept
    assert (ordering.arg_topk(x, k=9, dim=1, largest=True) == np.arange(19_999, 19_990, -1)).all()
    assert (ordering.arg_topk(x, k=9, dim=1, largest=False) == np.arange(9)).all()


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int32, np.int64], ids=str)
def test_running_sums_are_additions_in_order(kind):
    rng = np.random.default_rng(3)
    for shape, dim in (((7,), 0), ((1, 1), 1), ((3, 5), 0), ((21, 33), 1), ((4, 9, 70), 1), ((1000, 3), 0), ((2, 6, 200), 1),
                       ((16, 32), 1), ((37, 100), 1), ((2, 50), 1), ((20, 5), 1)):
        x = (50 * rng.standard_normal(shape)).astype(kind)
        x.reshape(-1)[0] = -0.0
        want = np.cumsum(x, axis=dim, dtype=kind)
        assert same_bits(scans.scan("add", x, dim=dim), want), f"{shape} along {dim}, seed 3"


def test_results_do_not_depend_on_threads():
    x = np.random.default_rng(4).standard_normal((40, 5000)).astype(np.float32)
    before = pool.get_num_threads()
    try:
        found = []
        for count in (1, 3):
            pool.set_num_threads(count)
            sums = [scans.scan("add", x, dim=dim) for dim in (0, 1)]
            found.append((ordering.argsort(x, dim=1, descending=False), *sums))
    finally:
        pool.set_num_threads(before)
    assert all((a == b).all() for a, b in zip(*found))


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int32, np.int64], ids=str)
def test_running_extremes_equal_the_reference(kind):
    rng = np.random.default_rng(11)
    for size in (1, 3, 15, 16, 17, 33, 70):
        rising = np.arange(size)[None] // 3 * np.array([[1], [-1], [0]])
        x = np.concatenate([rising, rng.integers(-2, 3, (6, size))]).astype(kind)
        if np.issubdtype(kind, np.floating):
            x[5, size // 2::7] = x[6, ::5] = np.nan
        for name in ("cummax", "cummin"):
            found, want = eager.kernel_for(OPS[name])(x, dim=1), OPS[name].ref(x, dim=1)
            np.testing.assert_array_equal(found[0], want[0], f"{name} of {size}, seed 11")
            np.testing.assert_array_equal(found[1], want[1], f"{name} of {size}, seed 11")


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int32, np.int64], ids=str)
@pytest.mark.parametrize("name", ["cumprod", "products_of_others", "cummax", "cummin", "linear_scan"])
def test_other_scans_equal_the_reference(name, kind):
    rng = np.random.default_rng(7)
    real = np.issubdtype(kind, np.floating)
    if name in ("linear_scan", "products_of_others") and not real:
        return
    for shape, dim in (((300,), 0), ((19, 40), 1), ((19, 40), 0), ((3, 50, 70), 1), ((9, 21, 33), 0), ((5, 1), 1),
                       ((16, 48), 1), ((33, 7), 1), ((3, 40), 1), ((12, 64), 1), ((4, 1), 1)):
        x, b = (np.rint(3 * rng.standard_normal(shape)).astype(kind) / (2 if real else 1) for _ in range(2))
        x = x.astype(kind)
        if real and name != "linear_scan":
            x.reshape(-1)[[3, -2]] = np.nan, -0.0
        args = (x, b) if name == "linear_scan" else (x,)
        with np.errstate(all="ignore"):
            want = OPS[name].ref(*args, dim=dim)
        found = eager.kernel_for(OPS[name])(*args, dim=dim)
        for result, expected in zip(found, want) if type(want) is tuple else ((found, want),):
            is_same = same_bits(result, expected) or (real and np.array_equal(result, expected, equal_nan=True))
            assert is_same, f"{shape} along {dim}, seed 7"


@pytest.mark.parametrize("kind", [np.float32, np.float64], ids=str)
def test_logs_of_running_sums(kind):
    rng = np.random.default_rng(8)
    for shape, dim in (((300,), 0), ((19, 40), 1), ((19, 40), 0), ((3, 50, 70), 1), ((33, 7), 1)):
        x = (30 * rng.standard_normal(shape)).astype(kind)
        x.reshape(-1)[[0, 3, -2]] = -np.inf, -np.inf, np.inf
        x.reshape(-1)[-1] = np.nan
        with np.errstate(invalid="ignore"):
            want = np.logaddexp.accumulate(x.astype(np.float64), axis=dim)
        found = eager.kernel_for(OPS["logcumsumexp"])(x, dim=dim)
        assert found.dtype == kind
        np.testing.assert_allclose(found, want, rtol=20 * np.finfo(kind).eps, err_msg=f"{shape} along {dim}, seed 8")


@pytest.mark.parametrize("kind", [np.int8, np.float16, np.float32, np.complex64], ids=str)
def test_lookups_in_the_last_dim(kind):
    rng = np.random.default_rng(6)
    for shape, n in (((40, 300), 150), ((5, 20, 60), 60), ((300, 4), 5), ((2, 3), 2)):
        x = rng.integers(0, 100, shape).astype(kind)
        some = rng.integers(-shape[-1], shape[-1], n)
        for at in (some % shape[-1], some, some.astype(np.int32)):
            found = eager.kernel_for(indexing.index)(x, *(None,) * (len(shape) - 1), at)
            assert found.tobytes() == x[..., at].tobytes(), f"{shape} by {n}, seed 6"
        with pytest.raises(IngotError, match="index"):
            eager.kernel_for(indexing.index)(x, *(None,) * (len(shape) - 1), np.full(n, shape[-1]))


@pytest.mark.parametrize("kind", [np.int8, np.float16, np.float32, np.complex64], ids=str)
def test_gathers_and_indices_out_of_range(kind):
    rng = np.random.default_rng(5)
    for shape, count, dim in (((6, 40), 9, 1), ((7, 3, 5), 11, 0), ((3, 7, 5), 2, 1), ((2000,), 5000, 0)):
        x = (9 * rng.standard_normal(shape)).astype(kind)
        wanted = (*shape[:dim], count, *shape[dim + 1:])
        index = rng.integers(0, shape[dim], wanted)
        assert (gathers.gathered(x, index, dim=dim) == np.take_along_axis(x, index, dim)).all(), f"{shape} along {dim}, seed 5"
        for bad in (-1, shape[dim]):
            index.reshape(-1)[-1] = bad
            assert gathers.scatter(x, index, x.take(index, mode="clip"), dim=dim, how="set") is None
            assert gathers.gathered(x, index, dim=dim) is None


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int32, np.int64], ids=str)
def test_scattered_sums_run_in_the_order_of_the_indices(kind):
    rng = np.random.default_rng(6)
    for shape, count, dim in (((6, 40), 900, 1), ((7, 3, 5), 110, 0), ((3, 7, 5), 20, 1)):
        wanted = (*shape[:dim], count, *shape[dim + 1:])
        x, src = ((9 * rng.standard_normal(s)).astype(kind) for s in (shape, wanted))
        index = rng.integers(0, shape[dim], wanted)
        vector = rng.integers(0, shape[dim], [count if d == dim else 1 for d in range(len(shape))])
        if np.issubdtype(kind, np.floating):
            src.reshape(-1)[::7] = np.nan
        for at in (index, np.broadcast_to(vector, wanted)):
            assert same_bits(gathers.gathered(x, at, dim=dim), np.take_along_axis(x, at, dim)), f"{shape} along {dim}, seed 6"
            for mode in ("add", "set", "mul", "amax", "amin"):
                op = OPS["scatter" if mode in ("add", "set") else "scatter_reduce"]
                with np.errstate(invalid="ignore", over="ignore"):
                    want = op.ref(x, at, src, dim=dim, mode=mode)
                assert same_bits(gathers.scatter(x, at, src, dim=dim, how=mode), want), f"{mode}, {shape} along {dim}, seed 6"


SEARCHED = [np.float32, np.float64, np.int32, np.int64]


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("kind", SEARCHED, ids=str)
def test_searchsorted_equals_the_reference(kind, right):
    ref, sorts = OPS["searchsorted"].ref, OPS["argsort"].ref
    for n in [*LENGTHS, 2, 3, 4, 64]:
        table = rows(kind, n)
        table = np.take_along_axis(table, sorts(table, dim=1, descending=False), 1)
        for count in (1, 7, 37, 5000):
            wanted = rows(kind, count, seed=1)
            wanted[:, ::2] = np.resize(table, wanted[:, ::2].shape)         # equals of what is there
            assert (search.searchsorted(table, wanted, right=right) == ref(table, wanted, right=right)).all(), f"{count} in {n}"
            assert (search.searchsorted(table[1], wanted, right=right) == ref(table[1], wanted, right=right)).all()


def test_searches_do_not_depend_on_threads_and_strides():
    table, wanted = np.sort(rows(np.float32, 999)[0]), rows(np.float32, 30_000, seed=2)
    expected, before = OPS["searchsorted"].ref(table, wanted, right=False), pool.get_num_threads()
    try:
        for count in (1, 3):
            pool.set_num_threads(count)
            assert (search.searchsorted(table, wanted, right=False) == expected).all()
    finally:
        pool.set_num_threads(before)
    run = eager.kernel_for(OPS["searchsorted"])
    assert (run(np.repeat(table, 2)[::2], np.asfortranarray(wanted), right=False) == expected).all()
    assert run(table, wanted[:0], right=False).shape == (0, 30_000) and not run(table[:0], wanted, right=True).any()
    halves = table.astype(np.float16)
    assert (run(halves, wanted.astype(np.float16), right=True) == OPS["searchsorted"].ref(
        halves, wanted.astype(np.float16), right=True)).all()


def test_searches_in_graphs_are_native():
    table, x = np.linspace(-1, 1, 11, dtype=np.float32), np.random.default_rng(5).standard_normal((4, 50)).astype(np.float32)
    b = Builder("search")
    operands = [b.input(name, Aval(a.shape, dt.float32)) for name, a in (("table", table), ("x", x))]
    found = b.append(OPS["searchsorted"], operands, {"right": True})
    compiled = composites.Whole(b.finish((found,)))
    assert compiled.is_native
    assert (compiled.run([table, x])[0] == OPS["searchsorted"].ref(table, x, right=True)).all()
