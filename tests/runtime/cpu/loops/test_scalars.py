"""`where` on arrays that are large enough for the compiled kernel: NumPy's values for every dtype and broadcast."""

import numpy as np
import pytest

import ingot
from ingot import jit
from ingot.ir.ops.core import elementwise as ew
from ingot.runtime.cpu.graph import eager

ROWS, COLUMNS = 64, eager.LARGE // 32


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int64", "bool"])
def test_where_of_every_dtype_and_broadcast(dtype):
    ingot.manual_seed(3)
    kind = getattr(ingot, dtype)
    x, y = (ingot.randn(*shape).to(kind) for shape in ((ROWS, COLUMNS), (1, COLUMNS)))
    condition = ingot.randn(ROWS, COLUMNS) > 0
    for c in (condition, condition[:, :1], condition[0], condition.T.contiguous().T):
        for a, b in ((x, y), (y, x), (x, x.T.contiguous().T)):
            got = ingot.where(c, a, b)
            want = np.where(c.numpy(), a.to(ingot.float64).numpy(), b.to(ingot.float64).numpy())
            assert got.dtype is kind and np.array_equal(got.to(ingot.float64).numpy(), want), (dtype, c.shape, a.shape)


def test_where_of_numbers_nan_and_inf():
    condition = ingot.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS) % 3 == 0
    x = ingot.randn(ROWS, COLUMNS)
    x[0, 0], x[1, 1], x[2, 2] = float("nan"), float("inf"), -0.0
    bits = ingot.where(condition, x, float("nan")).numpy().view(np.int32)
    assert np.array_equal(bits[condition.numpy()], x.numpy().view(np.int32)[condition.numpy()])
    assert np.array_equal(ingot.where(condition, 0.0, ingot.full((ROWS, COLUMNS), float("nan"))).isnan().numpy(),
                          ~condition.numpy())
    both = ingot.where(condition, 1.5, 2.5)
    assert both.dtype is ingot.float32 and np.array_equal(both.numpy(), np.where(condition.numpy(), 1.5, 2.5).astype("f4"))
    raw = ew.where(condition.numpy(), 1.5, 2.5)
    assert np.array_equal(raw, both.numpy())


def test_large_arrays_do_not_use_numpy(monkeypatch):
    """NumPy's `where` takes ten times as long."""
    run, x = eager.kernel_for(ew.where), np.ones((ROWS, COLUMNS), np.float32)
    monkeypatch.setattr(np, "where", None)
    assert run(x > 0, x, 0.0).sum() == x.size


@pytest.mark.parametrize("fn", [
    lambda x, y: ingot.where(x > 0, x, y), lambda x, y: ingot.where(x > 0, 0.0, y), lambda x, y: x.masked_fill_(x > 0, 1.0),
    lambda x, y: x.__setitem__(x > 0, 2.0), lambda x, y: ingot.nn.functional.leaky_relu(x)])
def test_arrays_of_some_thousand_elements_do_not_use_numpy(fn, monkeypatch):
    x, y = ingot.randn(100, 50), ingot.randn(100, 50)
    for name in ("where", "copyto"):
        monkeypatch.setattr(np, name, None)
    fn(x, y)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin", "nextafter", "max", "min"])
def test_functions_of_two_zeros_have_one_answer(name, dtype):
    """Small arrays, large ones and traced functions choose the same one of two equal zeros, and treat nan alike."""
    if (name, dtype) == ("nextafter", "bfloat16"):
        pytest.skip("no such kernel")
    function, kind = getattr(ingot, name), getattr(ingot, dtype)
    traced = jit.trace(lambda x, y: function(x, y))
    values = [0.0, -0.0, 1.0, -1.0, float("nan"), float("inf")]
    for a in values:
        for b in values:
            found = set()
            for n in (7, 33, 40_000):
                x, y = ingot.full((n,), a, dtype=kind), ingot.full((n,), b, dtype=kind)
                for got in (function(x, y), traced(x, y), traced(x, y)):
                    numbers = got.to(ingot.float64).numpy()
                    found.update(np.where(np.isnan(numbers), np.nan, numbers).view(np.int64).tolist()[:: max(1, n // 50)])
            assert len(found) == 1, (a, b, found)
