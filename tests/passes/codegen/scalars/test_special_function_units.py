"""Functions on special units of GPUs, run by the numpy builder.

Accuracy is tested over all of float32, with units that round correctly and with units as inaccurate as permitted. Special
values and 16-bit numbers follow.
"""

import ml_dtypes
import numpy as np
import pytest

from ingot.ir import dtype as dt
from ingot.ir.reference import scalar_functions
from ingot.passes.codegen import scalars
from ingot.passes.codegen.scalars import exponential
from special_units import Units
from tests.passes.codegen.scalars.test_scalar_functions import EDGES, LONG, ulps

F32 = np.float32


def run(name, off, *arrays):
    """Run a scalar function by inexact units."""
    s = Units(off)
    return scalars.apply(s, name, *(s.value(a) for a in arrays)).ref


def everywhere(low=-np.inf, high=np.inf, more=()):
    """Return float32 numbers of every exponent in a range, dense where functions bend, and neighbours of some numbers."""
    rng = np.random.default_rng(11)
    bits = np.arange(0, 1 << 31, 9973, np.int64) + rng.integers(0, 9973, (1 << 31) // 9973 + 1)
    sizes = bits[bits < 0x7F800000].astype(np.uint32).view(F32)
    edges = np.array([0.0, 1.0, *more, 0.6, 3.0, 5.7, np.log(2) / 2, 1.5 * np.log(2), 86.0, 87.33655, 88.72284, 103.97], F32)
    near = [np.nextafter(e, F32(way)) for e in edges for way in (np.inf, -np.inf)]
    x = np.concatenate([sizes, -sizes, rng.uniform(-110, 100, 200_000), rng.uniform(-3, 3, 200_000), edges, -edges, near])
    x = x.astype(F32)
    return x[(x >= low) & (x <= high)]


def _wide(f):
    return lambda x: f(x.astype(LONG))


def _below(x):
    """Return the normal distribution function."""
    return LONG(0.5) * scalar_functions.erfc(-x.astype(np.float64) / np.sqrt(2)).astype(LONG)


def _slope(x):
    wide = x.astype(LONG)
    return _below(x) + wide * np.exp(-wide * wide / 2) / np.sqrt(2 * LONG(np.pi))


def _gelu_tanh(x):
    inner = np.sqrt(2 / LONG(np.pi)) * x * (1 + LONG(0.044715) * x * x)
    return x / (1 + np.exp(-2 * inner))


# name, domain, bounds by units that round correctly and by those that are off, the function, what an ulp is taken of beside
# the result
BOUNDS = [
    ("exp", (-np.inf, np.inf), 1.0, 2.6, _wide(np.exp), None), ("exp2", (-np.inf, np.inf), 0.8, 2.1, _wide(np.exp2), None),
    ("expm1", (-np.inf, np.inf), 1.5, 1.5, _wide(np.expm1), None),
    ("tanh", (-np.inf, np.inf), 1.5, 2.7, _wide(np.tanh), None),
    ("sigmoid", (-np.inf, np.inf), 2.3, 5.2, _wide(lambda x: 1 / (1 + np.exp(-x))), None),
    ("silu", (-85, np.inf), 2.8, 5.8, _wide(lambda x: x / (1 + np.exp(-x))), None),
    ("softplus", (-np.inf, np.inf), 1.5, 4.3, _wide(lambda x: np.maximum(x, 0) + np.log1p(np.exp(-abs(x)))), None),
    ("log_sigmoid", (-np.inf, np.inf), 1.5, 4.3, _wide(lambda x: np.minimum(x, 0) - np.log1p(np.exp(-abs(x)))), None),
    ("mish", (-85, np.inf), 3.7, 6.5, _wide(lambda x: x * np.tanh(np.log1p(np.exp(np.minimum(x, 3000))))), None),
    ("gelu", (-1e30, np.inf), 1.5, 2.4, lambda x: x.astype(LONG) * _below(x), np.abs),
    ("gelu_slope", (-1e30, np.inf), 1.2, 1.5, _slope, np.ones_like),
    ("gelu_tanh", (-1e10, np.inf), 1.9, 2.2, _wide(_gelu_tanh), np.abs),
]


@pytest.mark.parametrize("off", [0, 1, -1])
@pytest.mark.parametrize("name, domain, right, far, function, floor", BOUNDS, ids=[r[0] for r in BOUNDS])
def test_errors(name, domain, right, far, function, floor, off):
    x = everywhere(*domain)
    check(name, x, run(name, off, x), far if off else right, function, floor)


def check(name, x, got, bound, function, floor):
    """Check results against a bound in units of the last place."""
    with np.errstate(all="ignore"):
        want = function(x)
    err = ulps(got, want, F32, 0.0 if floor is None else floor(x))
    at = int(np.argmax(err))
    assert err[at] <= bound, f"{name}({x[at]!r}) is off by {err[at]:.3f} ulp"


@pytest.mark.parametrize("name", [r[0] for r in BOUNDS])
def test_special_values_equal_those_of_the_polynomials(name):
    x = np.array(EDGES + [-87.5, -103.9, -103.98, 88.73, 1e-38, 1e38, -1e38], F32)
    s = scalars.NumpyBuilder()
    got, want = run(name, 0, x), scalars.apply(s, name, s.value(x)).ref
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=3e-8 if "gelu" in name else 1e-45, err_msg=name)
    same = ~np.isnan(want) & (abs(want) > 1e-30)
    np.testing.assert_array_equal(np.signbit(got[same]), np.signbit(want[same]), err_msg=name)


@pytest.mark.parametrize("off, bound", [(0, 1.7), (1, 3.6), (-1, 3.6)])
def test_exponentials_of_summands_of_one(off, bound):
    """They are accurate where the sum depends on them; others, and those of nan, are nearly 0."""
    s = Units(off)
    x = np.concatenate([-np.random.default_rng(0).random(20000) * 86, -np.random.default_rng(1).random(20000), [0.0, -0.0]])
    near, far = [exponential.exp_below(s, s.value(np.asarray(a, F32))).ref for a in (x, [-87, -1e30, -np.inf, np.nan])]
    err = ulps(near, np.exp(x.astype(F32).astype(LONG)), F32)
    assert err[x > -12].max() <= bound and err.max() <= bound + 3 and (near[-2:] == 1).all()
    assert ((far >= 0) & (far <= 1e-36)).all()


@pytest.mark.parametrize("off, bound", [(0, 0.51), (1, 0.51), (-1, 0.51)])
def test_quotients_are_nearly_correctly_rounded(off, bound):
    rng = np.random.default_rng(3)
    a = (rng.standard_normal(200_000) * np.exp2(rng.uniform(-40, 40, 200_000))).astype(F32)
    b = np.concatenate([rng.uniform(1, 2, 100_000), np.exp2(rng.uniform(0, 80, 100_000))]).astype(F32)
    s = Units(off)
    assert ulps(s.quotient(s.value(a), s.value(b)).ref, a.astype(LONG) / b, F32).max() <= bound


def test_other_dtypes_use_the_polynomials():
    """Units compute float32; float64 results are unchanged."""
    s, plain = Units(), scalars.NumpyBuilder()
    x = np.random.default_rng(4).standard_normal(1000) * 5
    for name in [r[0] for r in BOUNDS]:
        np.testing.assert_array_equal(scalars.apply(s, name, s.value(x)).ref, scalars.apply(plain, name, plain.value(x)).ref)


@pytest.mark.parametrize("kind", [dt.float16, dt.bfloat16], ids=str)
@pytest.mark.parametrize("name", ["exp", "tanh", "sigmoid", "silu"])
def test_16_bit_results_are_rounded_once(name, kind):
    """All 16-bit numbers, by inexact units: errors are hardly more than half a unit of the last place."""
    x = np.arange(1 << 16, dtype=np.uint16).view(kind.np)
    with np.errstate(all="ignore"):
        want = next(r[4] for r in BOUNDS if r[0] == name)(x.astype(F32))
        unit = np.spacing(np.abs(want).astype(F32)) * F32(2 ** (13 if kind is dt.float16 else 16))
        err = np.abs(run(name, 1, x).astype(F32) - want) / np.maximum(unit, float(ml_dtypes.finfo(kind.np).smallest_subnormal))
    inside = np.abs(want) < float(ml_dtypes.finfo(kind.np).max)
    assert inside.sum() > 20000 and err[inside].max() <= 0.51
