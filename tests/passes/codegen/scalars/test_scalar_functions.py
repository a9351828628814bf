"""The scalar functions: accuracy against wider arithmetic, special values, casts; all run by the numpy builder."""

import zlib
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import multiply_add
from ingot.ir import dtype as dt
from ingot.ir.reference import scalar_functions
from ingot.passes.codegen import scalars
from ingot.passes.codegen.scalars import exponential

LONG = np.longdouble
S = scalars.NumpyBuilder()


def run(name, *arrays):
    """Run a scalar function on arrays by the NumPy builder."""
    return S.value(scalars.apply(S, name, *(S.value(a) for a in arrays)).ref).ref


def ulps(got, want, kind, floor=0.0):
    """Return the distance in units of the last place of the result (subnormal spacing below the normal range)."""
    with np.errstate(all="ignore"):
        exact = np.asarray(want, LONG)
        unit = np.spacing(np.maximum(np.abs(exact), floor).astype(kind)).astype(LONG)
        unit = np.maximum(unit, np.finfo(kind).smallest_subnormal)
        err = np.abs(got.astype(LONG) - exact) / unit
        rounded = exact.astype(kind)
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded)) | (np.isinf(rounded) & (got == rounded))
    near_top = np.isinf(rounded) & (np.abs(got) >= np.finfo(kind).max) | np.isinf(got) & (np.abs(rounded) >= np.finfo(kind).max)
    return np.where(same | near_top, 0, np.where(np.isnan(err), np.inf, err))


def spread(rng, kind, n, low, high):
    """Return numbers of a range: half uniform, half of every magnitude."""
    info = np.finfo(kind)
    uniform = rng.uniform(max(low, -1e4), min(high, 1e4), n)
    magnitude = np.exp2(rng.uniform(np.log2(float(info.smallest_subnormal)), np.log2(float(info.max)) - 1e-3, n))
    signed = magnitude * np.where(rng.random(n) < 0.5, -1, 1)
    x = np.concatenate([uniform, signed[(signed >= low) & (signed <= high)], np.clip([low, high, 1, -1, 0.5], low, high)])
    return x.astype(kind)


BIG = float("inf")
# name, domain, bound in f32, bound in f64, long-double reference
UNARY = [
    ("exp", (-800, 720), 0.9, 1.0, np.exp), ("exp2", (-1100, 1030), 0.8, 1.0, np.exp2),
    ("expm1", (-60, 720), 0.51, 2.0, np.expm1), ("log", (0, BIG), 0.85, 1.0, np.log),
    ("log2", (0, BIG), 0.51, 1.0, np.log2), ("log10", (0, BIG), 0.51, 1.0, np.log10),
    ("log1p", (-1, BIG), 0.51, 1.5, np.log1p), ("sin", (-BIG, BIG), 0.51, 1.0, np.sin),
    ("cos", (-BIG, BIG), 0.51, 1.0, np.cos), ("tan", (-BIG, BIG), 0.51, 2.0, np.tan),
    ("asin", (-1, 1), 0.51, 1.5, np.arcsin), ("acos", (-1, 1), 0.51, 1.5, np.arccos),
    ("atan", (-BIG, BIG), 0.51, 1.0, np.arctan), ("sinh", (-720, 720), 0.51, 2.0, np.sinh),
    ("cosh", (-720, 720), 0.51, 2.0, np.cosh), ("tanh", (-BIG, BIG), 1.5, 2.0, np.tanh),
    ("asinh", (-BIG, BIG), 0.51, 3.0, np.arcsinh), ("acosh", (1, BIG), 0.51, 3.0, np.arccosh),
    ("atanh", (-1, 1), 0.51, 3.0, np.arctanh), ("cbrt", (-BIG, BIG), 0.51, 1.0, np.cbrt),
    ("sqrt", (0, BIG), 0.5, 0.5, np.sqrt), ("rsqrt", (0, BIG), 1.5, 1.5, lambda x: 1 / np.sqrt(x)),
    ("sigmoid", (-800, 800), 2.5, 2.5, lambda x: 1 / (1 + np.exp(-x))),
    ("softplus", (-800, 800), 2.0, 2.0, lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))),
    ("silu", (-85, 800), 2.5, 2.5, lambda x: x / (1 + np.exp(-x))),
    ("mish", (-85, 800), 4.0, 6.0, lambda x: x * np.tanh(np.log1p(np.exp(np.minimum(x, 3000))))),
]


@pytest.mark.parametrize("kind", [np.float32, np.float64], ids=["f32", "f64"])
@pytest.mark.parametrize("name, domain, single, double, reference", UNARY, ids=[r[0] for r in UNARY])
def test_unary_error(name, domain, single, double, reference, kind):
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    x = spread(rng, kind, 20000, *domain)
    with np.errstate(all="ignore"):
        want = reference(x.astype(LONG))
    err = ulps(run(name, x), want, kind)
    bound = single if kind is np.float32 else double
    at = int(np.argmax(err))
    assert err[at] <= bound, f"{name}({x[at]!r}) is off by {err[at]:.3f} ulp, allowed {bound}"


BINARY = [("pow", np.power, 0.51, 1.0), ("atan2", np.arctan2, 0.51, 1.5), ("hypot", np.hypot, 0.51, 1.0)]


@pytest.mark.parametrize("kind", [np.float32, np.float64], ids=["f32", "f64"])
@pytest.mark.parametrize("name, reference, single, double", BINARY, ids=[r[0] for r in BINARY])
def test_binary_error(name, reference, single, double, kind):
    rng = np.random.default_rng(11)
    a, b = spread(rng, kind, 20000, -BIG, BIG), spread(rng, kind, 20000, -BIG, BIG)
    if name == "pow":
        a, b = np.abs(a), np.where(np.abs(b) > 30, rng.uniform(-30, 30, len(b)), b).astype(kind)
    n = min(len(a), len(b))
    a, b = a[:n], rng.permutation(b[:n])
    with np.errstate(all="ignore"):
        want = reference(a.astype(LONG), b.astype(LONG))
    err = ulps(run(name, a, b), want, kind)
    at = int(np.argmax(err))
    assert err[at] <= (single if kind is np.float32 else double), f"{name}({a[at]!r}, {b[at]!r}) is off by {err[at]:.3f} ulp"


# name, samples, bound f32, bound f64, mpmath's name, smallest magnitude that an ulp is taken of
SPECIAL = [
    ("erf", (-6.2, 6.2), 2.0, 1.5, "erf", 0.0), ("erfc", (-6, 27), 0.51, 4.0, "erfc", 0.0),
    ("erfcx", (-8, 12), 0.51, 4.0, "erfcx", 0.0), ("erfcx", (9, 60), 0.51, 4.0, "erfcx", 0.0),
    ("erfinv", (-1, 1), 0.51, 4.0, "erfinv", 0.0), ("lgamma", (1e-3, 60), 0.51, 4.0, "loggamma", 0.0),
    ("lgamma", (-9.5, 0), 0.51, 8.0, "loggamma", 1.0), ("digamma", (1e-3, 60), 0.51, 8.0, "digamma", 1.0),
    ("digamma", (-9.5, 0), 0.51, 16.0, "digamma", 1.0), ("trigamma", (1e-3, 200), 0.51, 8.0, "psi1", 0.0),
    ("trigamma", (-9.5, 0), 0.51, 16.0, "psi1", 1.0),
]


@pytest.mark.parametrize("kind", [np.float32, np.float64], ids=["f32", "f64"])
@pytest.mark.parametrize("name, domain, single, double, oracle, floor", SPECIAL, ids=[f"{r[0]}{r[1]}" for r in SPECIAL])
def test_special_functions(name, domain, single, double, oracle, floor, kind):
    mpmath = pytest.importorskip("mpmath")
    mpmath.mp.dps = 30
    rng = np.random.default_rng(5)
    x = rng.uniform(*domain, 400).astype(kind)
    x = np.concatenate([x, (np.exp2(-rng.uniform(1, 50, 60)) * np.sign(domain[1] or -1)).astype(kind)])
    if domain == (-1, 1):
        x = np.concatenate([x, np.asarray(1 - np.exp2(-rng.uniform(1, 24, 60)), kind)])
    x = x[(x > domain[0]) & (x < domain[1])]
    own = {"psi1": lambda v: mpmath.psi(1, v), "erfcx": lambda v: mpmath.exp(v * v) * mpmath.erfc(v)}
    function = own.get(oracle) or getattr(mpmath, oracle)
    want = np.array([LONG(mpmath.nstr(mpmath.re(function(mpmath.mpf(float(v)))), 25)) for v in x])
    err = ulps(run(name, x), want, kind, floor)
    at = int(np.argmax(err))
    assert err[at] <= (single if kind is np.float32 else double), f"{name}({x[at]!r}) is off by {err[at]:.3f} ulp"


def _wave(x):
    """Return about the amplitude of a wave, which scales its error."""
    return 0.5 / np.sqrt(np.maximum(1, np.abs(x)))


# name, domain, bound in units of the last place of the result or of the amplitude, value, amplitude
BESSEL = [
    ("i0", (-700, 700), 6, lambda mp, x: mp.besseli(0, x), None), ("i1", (-700, 700), 12, lambda mp, x: mp.besseli(1, x), None),
    ("i0e", (-900, 900), 6, lambda mp, x: mp.besseli(0, x) * mp.exp(-abs(x)), None),
    ("i1e", (-900, 900), 12, lambda mp, x: mp.besseli(1, x) * mp.exp(-abs(x)), None),
    ("bessel_j0", (-300, 300), 24, lambda mp, x: mp.besselj(0, x), _wave),
    ("bessel_j1", (-300, 300), 16, lambda mp, x: mp.besselj(1, x), _wave),
    ("bessel_y0", (0, 300), 32, lambda mp, x: mp.bessely(0, x), _wave),
    ("bessel_y1", (0, 300), 12, lambda mp, x: mp.bessely(1, x), _wave),
    ("modified_bessel_k0", (0, 600), 6, lambda mp, x: mp.besselk(0, x), None),
    ("modified_bessel_k1", (0, 600), 6, lambda mp, x: mp.besselk(1, x), None),
    ("scaled_modified_bessel_k0", (0, 900), 6, lambda mp, x: mp.besselk(0, x) * mp.exp(x), None),
    ("scaled_modified_bessel_k1", (0, 900), 6, lambda mp, x: mp.besselk(1, x) * mp.exp(x), None),
    ("spherical_bessel_j0", (-300, 300), 2, lambda mp, x: mp.sin(x) / x, None),
    ("airy_ai", (-9, 9), 32, lambda mp, x: mp.airyai(x), lambda x: np.where(x < 0, 0.3, 0)),
]


@pytest.mark.parametrize("kind", [np.float32, np.float64], ids=["f32", "f64"])
@pytest.mark.parametrize("name, domain, bound, value, amplitude", BESSEL, ids=[r[0] for r in BESSEL])
def test_bessel_functions(name, domain, bound, value, amplitude, kind):
    mpmath = pytest.importorskip("mpmath")
    mpmath.mp.dps = 30
    rng = np.random.default_rng(6)
    low, high = domain
    count = 10 if kind is np.float64 else 4         # (float32 is what float64 gives, rounded)
    x = np.concatenate([rng.uniform(max(low, -12), min(high, 12), 20 * count), rng.uniform(low, high, 6 * count),
                        np.exp2(-rng.uniform(0, 50, 3 * count)), [2.4048255576957730, 5.5200781102863106, 8.0, 2.0, high]])
    x = x.astype(kind)
    want = np.array([LONG(mpmath.nstr(value(mpmath, mpmath.mpf(float(v))), 25)) for v in x])
    floor = 0.0 if amplitude is None else amplitude(x.astype(np.float64))
    err = ulps(run(name, x), want, kind, floor)
    at = int(np.argmax(err))
    assert err[at] <= (0.51 if kind is np.float32 else bound), f"{name}({x[at]!r}) is off by {err[at]:.3f} ulp"


@pytest.mark.parametrize("kind", [np.float32, np.float64], ids=["f32", "f64"])
def test_gelu_error(kind):
    x = np.linspace(-12, 12, 20001).astype(kind)
    wide = x.astype(np.float64)
    want = x.astype(LONG) * 0.5 * scalar_functions.erfc(-wide / np.sqrt(2)).astype(LONG)
    err = np.abs(run("gelu", x).astype(LONG) - want) / np.spacing(np.maximum(np.abs(x), np.abs(want.astype(kind))))
    assert err.max() <= 2.0, f"gelu({x[err.argmax()]!r}) is off by {err.max():.3f}"


EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1e-40, 3e38, -3e38, 100.0,
         -104.5]
NUMPY_NAME = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}
EXACT_EDGES = ["exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
               "cosh", "tanh", "asinh", "acosh", "atanh", "cbrt", "sqrt", "floor", "ceil", "trunc"]


@pytest.mark.parametrize("kind", [np.float32, np.float64], ids=["f32", "f64"])
@pytest.mark.parametrize("name", EXACT_EDGES)
def test_edges_agree_with_numpy(name, kind):
    x = np.array(EDGES, kind)
    with np.errstate(all="ignore"):
        want = getattr(np, NUMPY_NAME.get(name, name))(x)
    got = run(name, x)
    np.testing.assert_allclose(got, want, rtol=4 * np.finfo(kind).eps, atol=0, err_msg=name)
    wrong = ~np.isnan(want) & (np.signbit(got) != np.signbit(want))
    assert not wrong.any(), f"signs of {name} at {x[wrong]}"


@pytest.mark.parametrize("name, reference", [("pow", np.power), ("atan2", np.arctan2), ("hypot", np.hypot), ("fmod", np.fmod),
                                             ("maximum", np.maximum), ("fmax", np.fmax), ("copysign", np.copysign),
                                             ("nextafter", np.nextafter)])
def test_binary_edges_agree_with_numpy(name, reference):
    a, b = (v.ravel() for v in np.meshgrid(np.array(EDGES), np.array(EDGES)))
    with np.errstate(all="ignore"):
        want = reference(a, b)
    got = run(name, a, b)
    np.testing.assert_allclose(got, want, rtol=1e-15, atol=0, err_msg=name)
    check = ~np.isnan(want) & ((want != 0) | (name not in ("maximum", "fmax")))
    bad = check & (np.signbit(got) != np.signbit(want))
    assert not bad.any(), f"sign of {name}{list(zip(a[bad], b[bad]))[:3]}"


@pytest.mark.parametrize("name, reference", [("pow", np.power), ("atan2", np.arctan2), ("hypot", np.hypot)])
def test_binary_edges_of_single_numbers(name, reference):
    """Return the rounded float64 result: numpy's own float32 functions are less exact."""
    with np.errstate(all="ignore"):
        a, b = (v.ravel().astype(np.float32) for v in np.meshgrid(np.array(EDGES), np.array(EDGES)))
        want = reference(a.astype(np.float64), b.astype(np.float64)).astype(np.float32)
    np.testing.assert_array_equal(run(name, a, b), want, err_msg=name)
    bad = ~np.isnan(want) & (np.signbit(run(name, a, b)) != np.signbit(want))
    assert not bad.any(), f"sign of {name}{list(zip(a[bad], b[bad]))[:3]}"


@pytest.mark.parametrize("kind, least, tiny", [(dt.float32, -86, 1e-36), (dt.float64, -700, 1e-300)], ids=str)
def test_exponentials_of_summands_of_one(kind, least, tiny):
    """They equal exp where the sum depends on them; others, and those of nan, are nearly 0."""
    x = np.concatenate([-np.random.default_rng(0).random(20000) * -least, [0.0, -0.0]]).astype(kind.np)
    below = np.array([least - 1, -1e30, -np.inf, np.nan], kind.np)
    with np.errstate(all="ignore"):
        near, far = [exponential.exp_below(S, S.value(a)).ref for a in (x, below)]
    assert ulps(near, np.exp(x.astype(np.longdouble)), kind.np).max() <= 1 and (near[-2:] == 1).all()
    assert ((far >= 0) & (far <= tiny)).all()


def test_powers_of_whole_numbers_are_exact():
    """Results that float32 can represent are exact."""
    a, b = (v.ravel().astype(np.float32) for v in np.meshgrid(np.arange(-40.0, 41), np.arange(0.0, 5)))
    np.testing.assert_array_equal(run("pow", a, b), (a.astype(np.float64) ** b).astype(np.float32))


def test_large_arguments_reduce_exactly():
    mpmath = pytest.importorskip("mpmath")
    mpmath.mp.dps = 400
    x = np.concatenate([2.0 ** np.arange(28, 1023, 7), [6381956970095103 * 2.0**797, 1e22, np.finfo(np.float64).max]])
    want = np.array([float(mpmath.sin(mpmath.mpf(v))) for v in x])
    assert ulps(run("sin", x), want, np.float64).max() <= 1.0


@pytest.mark.parametrize("kind", [np.float32, np.float64], ids=["f32", "f64"])
def test_fmod_is_exact(kind):
    rng = np.random.default_rng(3)
    a, b = (spread(rng, kind, 4000, -BIG, BIG) for _ in range(2))
    n = min(len(a), len(b))
    with np.errstate(all="ignore"):
        want = np.fmod(a[:n], b[:n])
    np.testing.assert_array_equal(run("fmod", a[:n], b[:n]), want)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.int64, np.float32, np.float64])
def test_division_rules(kind):
    rng = np.random.default_rng(4)
    a, b = (rng.integers(0 if kind is np.uint8 else -100, 100, 500).astype(kind) for _ in range(2))
    b[b == 0] = 7
    np.testing.assert_array_equal(run("floor_divide", a, b), np.floor_divide(a, b))
    np.testing.assert_array_equal(run("remainder", a, b), np.remainder(a, b))
    np.testing.assert_array_equal(run("fmod", a, b), np.fmod(a, b))


def test_integer_division_never_traps():
    low = np.iinfo(np.int32).min
    a, b = np.array([low, 5, -5, 0], np.int32), np.array([-1, 0, 0, 0], np.int32)
    assert run("trunc_divide", a, b).tolist() == [low, 0, 0, 0]
    assert run("floor_divide", a, b).tolist() == [low, 0, -1, 0]
    assert run("fmod", a, b).tolist() == [0, 5, -5, 0]


@pytest.mark.parametrize("low", [dt.float16, dt.bfloat16], ids=str)
def test_double_to_low_precision_rounds_once(low):
    rng = np.random.default_rng(6)
    ties = (rng.integers(1, 2000, 300) + 0.5) * np.exp2(rng.integers(-20, 4, 300).astype(float))
    x = np.concatenate([ties, ties * (1 + 1e-14), ties * (1 - 1e-14), rng.standard_normal(1000), [np.inf, -np.inf, 1e300, 0.0]])
    got = S.cast(S.value(x), low).ref.astype(np.float64)
    with np.errstate(all="ignore"):
        spacing = np.abs(np.spacing(got.astype(low.np)).astype(np.float64))
    finite = np.isfinite(got) & (np.abs(x) < 6e4)
    assert (np.abs(got[finite] - x[finite]) <= 0.5 * spacing[finite]).all()
    if low is dt.float16:
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(got, x.astype(np.float16).astype(np.float64))


@pytest.mark.parametrize("size", [0, -1000, -1022, -1040, -1074, -1150])
@pytest.mark.parametrize("builder", [S, multiply_add.Builder()], ids=["numpy", "compiled"])
def test_fma_is_exact(builder, size):
    """Sums of products and numbers that nearly cancel, or do not, down to subnormal ones."""
    rng = np.random.default_rng(7)
    a, b = rng.standard_normal((2, 900)) * [[2.0 ** (size // 2)], [2.0 ** (size - size // 2)]]
    c = -a * b * (1 + rng.integers(-3, 4, 900) * 2.0**-52)
    c[300:] = np.ldexp(rng.standard_normal(600), rng.integers(max(size, -1080), size + 100, 600) if size > -1080 else -1040)
    got = builder.fma(*map(builder.value, (a, b, c))).ref
    assert builder.fma(*[builder.value(v[0]) for v in (a, b, c)]).ref.shape == ()
    want = [float(Fraction(x) * Fraction(y) + Fraction(z)) for x, y, z in zip(a.tolist(), b.tolist(), c.tolist())]
    assert got.tolist() == want


def test_low_precision_is_float32_rounded_once():
    x = np.linspace(-8, 8, 1001).astype(ml_dtypes.bfloat16)
    for name in ("exp", "tanh", "gelu", "sin", "erfc", "sinh"):
        want = run(name, x.astype(np.float32)).astype(ml_dtypes.bfloat16) if name != "sinh" else run(name, x.astype(np.float64))
        np.testing.assert_array_equal(run(name, x).astype(np.float64), want.astype(ml_dtypes.bfloat16).astype(np.float64))


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.int64])
def test_gcd_lcm_and_integer_powers(kind):
    rng = np.random.default_rng(8)
    top = min(np.iinfo(kind).max, 10**6)
    a, b = (rng.integers(0 if kind is np.uint8 else -top, top, 300).astype(kind) for _ in range(2))
    a[:3], b[:3] = (0, 5, 0), (7, 0, 0)
    np.testing.assert_array_equal(run("gcd", a, b), np.gcd(a, b))
    np.testing.assert_array_equal(run("lcm", a, b), np.lcm(a, b))
    exponent = rng.integers(0, 9, 300).astype(kind)
    np.testing.assert_array_equal(run("pow", a, exponent), np.power(a, exponent))


def test_negative_integer_powers():
    got = run("pow", np.array([1, -1, -1, 2, 0], np.int32), np.array([-3, -3, -2, -1, -1], np.int32))
    assert got.tolist() == [1, -1, 1, 0, 0]


def test_polygamma():
    mpmath = pytest.importorskip("mpmath")
    mpmath.mp.dps = 30
    x = np.random.default_rng(9).uniform(0.05, 40, 60)
    for n in (1, 2, 3, 5):
        want = np.array([float(mpmath.polygamma(n, mpmath.mpf(v))) for v in x])
        np.testing.assert_allclose(run("polygamma", np.full(60, float(n)), x), want, rtol=1e-13)
    x = np.concatenate([x, -x])
    want = np.array([float(mpmath.polygamma(1, mpmath.mpf(v))) for v in x])
    np.testing.assert_allclose(run("trigamma", x), want, rtol=1e-11)


@pytest.mark.parametrize("kind", [np.float32, np.float64], ids=["f32", "f64"])
def test_ldexp_rounds_once(kind):
    rng = np.random.default_rng(10)
    x, n = rng.standard_normal(500).astype(kind), rng.integers(-200, 200, 500)
    if kind is np.float64:
        n *= 8
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(run("ldexp", x, n.astype(kind)), np.ldexp(x, n))
