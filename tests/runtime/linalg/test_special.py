"""Special functions: against precomputed values, and identities."""

import math
import pickle

import numpy as np
import pytest

import ingot
from ingot import special
from ingot.ir.opdef.aval import Aval
from ingot.ir.opdef.op import OPS


def test_names_are_ingots():
    x = ingot.tensor([0.3, 0.7])
    for mine, theirs in (("expit", "sigmoid"), ("gammaln", "lgamma"), ("psi", "digamma"), ("erf", "erf"), ("log1p", "log1p")):
        assert (getattr(special, mine)(x) == getattr(ingot, theirs)(x)).all(), mine


@pytest.mark.parametrize("name", ["airy_ai", "bessel_j0", "entr", "gammainc", "i0e", "legendre_polynomial_p", "zeta"])
def test_functions_can_be_pickled(name):
    function = getattr(special, name)
    assert pickle.loads(pickle.dumps(function)) is function and function.__name__ == name


def test_normal_distribution_function_and_its_inverse():
    x = ingot.tensor([-30.0, -5.0, -1.0, 0.0, 1.5], dtype=ingot.float64)
    want = [0.5 * math.erfc(-v / math.sqrt(2)) for v in x.tolist()]
    np.testing.assert_allclose(special.ndtr(x).numpy(), want, rtol=1e-12)
    np.testing.assert_allclose(special.log_ndtr(x)[1:].numpy(), np.log(want[1:]), rtol=1e-12)
    assert special.log_ndtr(x)[0].item() == pytest.approx(-454.3212439955, rel=1e-9)
    p = ingot.tensor([1e-300, 1e-12, 0.003, 0.01, 0.5, 0.9, 0.999], dtype=ingot.float64)
    np.testing.assert_allclose(special.ndtr(special.ndtri(p)).numpy(), p.numpy(), rtol=1e-9)
    assert special.ndtri(ingot.tensor([1e-20])).item() == pytest.approx(-9.26234, rel=1e-5)
    assert special.ndtri(ingot.tensor([0.0, 1.0])).tolist() == [-math.inf, math.inf]
    assert math.isnan(special.ndtri(ingot.tensor(1.5)).item())


def test_incomplete_gamma():
    a, x = ingot.tensor([0.5, 1.0, 3.0, 10.0], dtype=ingot.float64), ingot.tensor([0.3, 2.0, 2.5, 14.0], dtype=ingot.float64)
    want = [math.erf(math.sqrt(0.3)), 1 - math.exp(-2), 1 - math.exp(-2.5) * (1 + 2.5 + 2.5 ** 2 / 2),
            1 - math.exp(-14) * sum(14.0 ** k / math.factorial(k) for k in range(10))]
    np.testing.assert_allclose(special.gammainc(a, x).numpy(), want, rtol=1e-12)
    np.testing.assert_allclose((special.gammainc(a, x) + special.gammaincc(a, x)).numpy(), 1, rtol=1e-12)
    assert special.gammainc(ingot.tensor(2.0), ingot.tensor([1.0, 2.0])).shape == (2,)


def test_entropies_and_products_at_their_ends():
    x = ingot.tensor([-1.0, 0.0, 0.5, 1.0])
    assert special.entr(x).tolist()[:2] == [-math.inf, 0.0] and special.entr(x)[2].item() == pytest.approx(0.5 * math.log(2))
    zero = ingot.tensor([0.0, 2.0, 0.0])
    y = ingot.tensor([-1.0, 0.5, math.nan])
    got = special.xlog1py(zero, y).tolist()
    assert got[0] == 0 and got[1] == pytest.approx(2 * math.log(1.5)) and math.isnan(got[2])
    z = ingot.tensor([0.0, 1.0], requires_grad=True)
    special.xlog1py(z, -1.0 + z.detach()).sum().backward()
    assert math.isfinite(z.grad[1].item())


def test_scaled_complementary_error_function():
    x = ingot.tensor([-2.0, 0.0, 1.0, 4.9, 5.1, 50.0], dtype=ingot.float64)
    got = special.erfcx(x)
    far = 1 / (50 * math.sqrt(math.pi)) * (1 - 1 / 5000 + 3 / 25e6)
    want = [math.exp(v * v) * math.erfc(v) for v in x.tolist()[:5]] + [far]
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-8)


def test_multivariate_gamma():
    x = ingot.tensor([2.5, 4.0], dtype=ingot.float64)
    want = [math.log(math.pi) * 0.5 + math.lgamma(v) + math.lgamma(v - 0.5) for v in x.tolist()]
    np.testing.assert_allclose(special.multigammaln(x, 2).numpy(), want, rtol=1e-12)
    with pytest.raises(ValueError, match="at least 1"):
        special.multigammaln(x, 0)


POLYNOMIALS = {
    "chebyshev_polynomial_t": lambda mp, n, x: mp.chebyt(n, x), "chebyshev_polynomial_u": lambda mp, n, x: mp.chebyu(n, x),
    "chebyshev_polynomial_v": lambda mp, n, x: mp.chebyu(n, x) - mp.chebyu(n - 1, x),
    "chebyshev_polynomial_w": lambda mp, n, x: mp.chebyu(n, x) + mp.chebyu(n - 1, x),
    "hermite_polynomial_h": lambda mp, n, x: mp.hermite(n, x),
    "hermite_polynomial_he": lambda mp, n, x: mp.hermite(n, x / mp.sqrt(2)) / mp.sqrt(2) ** n,
    "laguerre_polynomial_l": lambda mp, n, x: sum((-x) ** k * mp.binomial(n, k) / mp.factorial(k) for k in range(n + 1)),
    "legendre_polynomial_p": lambda mp, n, x: mp.legendre(n, x),
}


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_orthogonal_polynomials(name):
    mpmath = pytest.importorskip("mpmath")
    x, n = np.linspace(-1.45, 1.35, 8)[:, None], np.array([0, 1, 2, 5, 11, 30])
    want = [[float(mpmath.re(POLYNOMIALS[name](mpmath.mp, int(k), mpmath.mpf(v)))) for k in n] for v in x[:, 0]]
    function = getattr(special, name)
    np.testing.assert_allclose(function(ingot.tensor(x), ingot.tensor(n)).numpy(), want, rtol=1e-9, atol=1e-12)
    if name.startswith("chebyshev"):
        shifted = getattr(special, "shifted_" + name)((ingot.tensor(x) + 1) / 2, ingot.tensor(n))
        np.testing.assert_allclose(shifted.numpy(), want, rtol=1e-9, atol=1e-9)
    assert function(ingot.tensor([0.5, 2.0]), 0).tolist() == [1.0, 1.0]
    assert function(0.5, ingot.tensor([-1, 0])).tolist() == [0, 1]
    assert function(ingot.ones(2, dtype=ingot.int64), 1).dtype is ingot.float32


def test_zeta_and_its_gradient():
    mpmath = pytest.importorskip("mpmath")
    mpmath.mp.dps = 150         # many are lost for large arguments
    s, q = np.array([1.001, 1.5, 2, 7.3, 40]), np.array([0.01, 0.7, 1, 12.5, 300])
    for a in s:
        want = [float(mpmath.zeta(a, b)) for b in q]
        np.testing.assert_allclose(special.zeta(float(a), ingot.tensor(q)).numpy(), want, rtol=1e-12)
    x = ingot.tensor(q, requires_grad=True)
    special.zeta(3.0, x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), -3 * special.zeta(4.0, ingot.tensor(q)).numpy(), rtol=1e-12)
    assert special.zeta(ingot.tensor([1.5, 2.0, 1.5]), ingot.tensor([0.0, -1, -2])).tolist() == [math.inf] * 3
    assert special.zeta(ingot.tensor([1.0, 0.5, 2, 2.5]), ingot.tensor([1.0, 1, 0, -0.5])).tolist()[:1] == [math.inf]


def test_methods_in_place():
    x = ingot.tensor([0.5, 2.0])
    assert (x.clone().i0_() == special.i0(x)).all() and (x.clone().polygamma_(2) == special.polygamma(2, x)).all()
    assert (x.clone().igamma_(x) == special.gammainc(x, x)).all() and (x.igammac(x) == special.gammaincc(x, x)).all()
    assert (special.modified_bessel_i1(x) == special.i1(x)).all() and ingot.i0(ingot.tensor(1)).dtype is ingot.float32


def test_errors_show_the_arguments():
    with pytest.raises(TypeError, match="entr takes a tensor"):
        special.entr(1.0)
    with pytest.raises(RuntimeError, match="one dtype"):
        ingot.ir.ops.math.gamma.gammainc.infer(Aval((1,), ingot.float32), Aval((1,), ingot.float64))


def test_small_upper_incomplete_gamma_is_accurate():
    mpmath = pytest.importorskip("mpmath")
    a, x = np.array([0.3, 2.0, 5.0, 30.0]), np.array([200.0, 60.0, 90.0, 150.0])
    want = np.array([float(mpmath.gammainc(p, q, mpmath.inf, regularized=True)) for p, q in zip(a, x)])
    np.testing.assert_allclose(special.gammaincc(ingot.tensor(a), ingot.tensor(x)).numpy(), want, rtol=1e-12)
    single = special.gammaincc(ingot.tensor(a[2:], dtype=ingot.float32), ingot.tensor(x[2:], dtype=ingot.float32))
    np.testing.assert_allclose(single.numpy(), want[2:].astype(np.float32), rtol=1e-6)


# a, x, P(a, x), Q(a, x)
SHARES = [
    (1e-308, 0.5, 1.0, 5.597735947761546e-309), (1e-308, 1.0, 1.0, 2.1938393439551e-309),
    (1e-20, 0.5, 1.0, 5.597735947761604e-21), (1e-10, 1e-10, 0.9999999977551365, 2.2448635240024114e-09),
    (0.001, 0.9, 0.9997395703001781, 0.00026042969982181807), (0.0999, 1e-30, 0.0010583782819176594, 0.9989416217180823),
    (1e10, 1e10, 0.5000013298076014, 0.4999986701923987), (1e10, 1e10 + 2e5, 0.9772493281448552, 0.022750671855144743),
    (1e7, 9.99e6, 0.0007801532152520492, 0.999219846784748)]


@pytest.mark.parametrize("dtype", [ingot.float64, ingot.float32])
def test_shares_of_very_small_and_very_large_concentrations(dtype):
    a, x, lower, upper = (np.array(v) for v in zip(*[row for row in SHARES if dtype is ingot.float64 or 1e-30 < row[0] < 1e7]))
    for fn, want in ((special.gammainc, lower), (special.gammaincc, upper)):
        found = fn(ingot.tensor(a, dtype=dtype), ingot.tensor(x, dtype=dtype))
        np.testing.assert_allclose(found.numpy(), want, rtol=1e-11 if dtype is ingot.float64 else 2e-6)


def test_the_step_at_nan_is_that_of_no_positive_number():
    x = ingot.tensor([math.nan, math.nan, -1.0, 0.0, 0.0, 2.0])
    v = ingot.tensor([0.0, math.nan, math.nan, math.nan, 0.5, math.nan])
    np.testing.assert_array_equal(ingot.heaviside(x, v).numpy(), [0, 0, 0, math.nan, 0.5, 1])


def test_lgamma_of_numbers_at_the_ends():
    x = np.array([-np.inf, -1e308, -2.0, 0.0, 2.5e305, 1e308, np.inf, np.nan])
    want = [np.inf, np.inf, np.inf, np.inf, 1.7555118639e308, np.inf, np.inf, np.nan]
    for found in (OPS["lgamma"].ref(x), ingot.lgamma(ingot.tensor(x)).numpy()):
        np.testing.assert_allclose(found, want)
