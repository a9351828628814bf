"""Special functions: Bessel's, gamma and its relatives, the normal distribution, orthogonal polynomials.

Some of PyTorch's functions have 9 or 10 digits in float64, no gradient, or nan for infinities. Their formulas here are
integrals and series.
"""

import numpy as np
import torch

from ..families import rounded
from ..row import Leaf
from . import case, cases, formula, into_row, like_torch
from .elementwise import INF, NAN, of_one_argument, pairs, special

like_torch("erf", "erfc", "erfcx", "erfinv", "lgamma", "i0e", "i1e", "ndtri", "ndtr", "log_ndtr", "entr", "zeta", "frexp")


def in_double(function):
    """Compute in float64, round once."""
    return lambda *xs: function(*[x.double() for x in xs]).to(xs[0].dtype)


def moderate(x, most):
    """Return whether numbers are in the range of an integral, and the numbers with 1 for those that are not."""
    inside = x.abs() <= most
    return inside, torch.where(inside, x, torch.ones_like(x)).unsqueeze(-1)


def chosen(inside, near, far):
    """Return an integral's values where it holds."""
    return torch.where(inside, near, far.detach())


# Bessel's functions of integer order: (1 / pi) times the integral of cos(n t - x sin t) over 0 to pi, and so on.

STEPS = (torch.arange(200, dtype=torch.float64) + 0.5) * np.pi / 200
NODES, WEIGHTS = (torch.tensor(v) for v in np.polynomial.legendre.leggauss(200))


def first_kind(order):
    """Return J of an order; the integrand is periodic, so the midpoint rule is exact."""
    theirs = torch.special.bessel_j1 if order else torch.special.bessel_j0

    @in_double
    def function(x):
        inside, safe = moderate(x, 60)
        near = torch.cos(order * STEPS - safe * torch.sin(STEPS)).mean(-1)
        return chosen(inside, near, torch.where(x.isinf(), torch.zeros_like(x), theirs(x)))

    return function


def second_kind(order):
    """Return Y of an order."""
    theirs = torch.special.bessel_y1 if order else torch.special.bessel_y0

    @in_double
    def function(x):
        inside, safe = moderate(x, 20)
        inside, safe = inside & (x > 0.1), torch.where((x > 0.1).unsqueeze(-1), safe, torch.ones_like(safe))
        angle = (NODES + 1) * np.pi / 2
        first = (torch.sin(safe * torch.sin(angle) - order * angle) * WEIGHTS).sum(-1) / 2
        top = torch.asinh(750 / safe.detach())
        t = (NODES + 1) / 2 * top
        both = torch.exp(order * t) + (-1) ** order * torch.exp(-order * t)
        second = (both * torch.exp(-safe * torch.sinh(t)) * WEIGHTS * top / 2).sum(-1) / np.pi
        return chosen(inside, first - second, torch.where(x == INF, torch.zeros_like(x), theirs(x)))

    return function


def third_kind(order, scaled):
    """Return K of an order, times exp(x) if `scaled`: the integral of exp(-x cosh t) cosh(n t) over 0 to infinity."""
    @in_double
    def function(x):
        positive, small = (x > 1e-30) & x.isfinite(), (x > 0) & (x <= 1e-30)
        safe = torch.where(positive, x, torch.ones_like(x)).unsqueeze(-1)
        top = torch.acosh(1 + 760 / safe.detach())
        t = torch.linspace(0, 1, 801, dtype=torch.float64) * top
        ends = torch.ones(801, dtype=torch.float64)
        ends[0] = ends[-1] = 0.5
        swell = 2 * torch.sinh(t / 2) ** 2 if scaled else torch.cosh(t)
        found = (torch.exp(-safe * swell) * torch.cosh(order * t) * ends).sum(-1) * top.squeeze(-1) / 800
        far = torch.where(x == 0, INF, torch.where(x == INF, 0.0, NAN))
        near = 1 / x if order else -torch.log(x) + np.log(2) - np.euler_gamma
        return torch.where(positive, found, torch.where(small, near.detach(), far))

    return function


for _order in (0, 1):
    formula(f"bessel_j{_order}")(first_kind(_order))
    formula(f"bessel_y{_order}")(second_kind(_order))
    formula(f"modified_bessel_k{_order}")(third_kind(_order, False))
    formula(f"scaled_modified_bessel_k{_order}")(third_kind(_order, True))


def at_infinity(function, value):
    """PyTorch's function, with the limit at infinity where it gives nan."""
    return lambda x: torch.where(x.isinf(), torch.as_tensor(value(x), dtype=x.dtype), function(torch.where(x.isinf(), 1.0, x)))


formula("i0")(at_infinity(torch.special.i0, lambda x: INF))
formula("i1")(at_infinity(torch.special.i1, lambda x: x.detach()))


@formula("spherical_bessel_j0")
def spherical(x):
    """sin(x) / x, with its limits."""
    return torch.where(x.isinf(), 0.0, torch.sinc(torch.where(x.isinf(), 1.0, x) / np.pi)) if x.dtype == torch.float64 else \
        torch.special.spherical_bessel_j0(x)


@formula("airy_ai")
@in_double
def airy(x):
    """The real part of the integral of exp(i (t^3 / 3 + x t)) / pi along a ray on which it falls."""
    inside, safe = moderate(x, 12)
    turn = torch.tensor(np.exp(1j * np.pi / 6))
    s = (NODES + 1) * 6
    near = (torch.exp(-s ** 3 / 3 + 1j * safe * s * turn) * turn * WEIGHTS * 6).sum(-1).real / np.pi
    return torch.where(inside, near, torch.where(x.isinf(), 0.0, torch.special.airy_ai(x)))


DOMAINS = {
    "erf": (-2.5, 2.5), "erfc": (-2.5, 2.5), "erfcx": (-2.5, 6), "erfinv": (-0.95, 0.95), "lgamma": (0.1, 8),
           "digamma": (0.1, 8),
    "trigamma": (0.1, 8), "i0": (-6, 6), "i0e": (-6, 6), "i1": (-6, 6), "i1e": (-6, 6), "bessel_j0": (-9, 9),
           "bessel_j1": (-9, 9),
    "bessel_y0": (0.2, 9), "bessel_y1": (0.2, 9), "modified_bessel_k0": (0.2, 5), "modified_bessel_k1": (0.2, 5),
    "scaled_modified_bessel_k0": (0.2, 9), "scaled_modified_bessel_k1": (0.2, 9), "spherical_bessel_j0": (-9, 9),
           "ndtri": (0.01, 0.99),
    "ndtr": (-4, 4), "log_ndtr": (-6, 4), "entr": (0.1, 4),
}


@cases(*DOMAINS)
def unary(name, rng):
    yield from of_one_argument(name, rng, *DOMAINS[name])
    if name in ("i1", "i1e", "bessel_j1", "spherical_bessel_j0"):
        yield case("near zero", Leaf(np.array([0.0, 0.001, -0.25, 0.49, 0.51])))
    if name == "entr":
        yield case("edges", Leaf(np.array([1.0, 0.5])))


@cases("airy_ai")
def of_airy(name, rng):
    yield case("matrix", rounded(rng, 3, 5, low=-8, high=4))
    yield case("turned", rounded(rng, 2, 3, 4, low=-8, high=4), options={"turned": [0]})
    both = [special(dtype) for dtype in ("float64", "float32")]
    yield into_row("values", [case("", values[~(np.abs(values) > 1e4) | np.isinf(values)]) for values in both])


# Gamma and its derivatives. Those of digamma are sums 1 / (x + k)^n, zeta functions.


def polygamma_of(n, x):
    """The n-th derivative of digamma; PyTorch's own has 9 digits. The first one below zero is a reflection."""
    if n == 1 and (x < 0).any():
        mirrored = (np.pi / torch.sin(np.pi * (x - x.round()))) ** 2 - polygamma_of(1, torch.where(x < 0, 1 - x, 1.0))
        return torch.where(x < 0, torch.where(x == x.round(), INF, mirrored), polygamma_of(1, torch.where(x < 0, 1.0, x)))
    if n == 1 and x.isinf().any():
        return torch.where(x == INF, 0.0, polygamma_of(1, torch.where(x == INF, 1.0, x)))
    sign = (-1.0) ** (n + 1) * float(torch.lgamma(torch.tensor(n + 1.0, dtype=torch.float64)).exp().round())
    return torch.where(x > 0, sign * torch.special.zeta(torch.full_like(x, n + 1.0), torch.where(x > 0, x, 1.0)),
                       torch.special.polygamma(n, x))


formula("trigamma")(lambda x: polygamma_of(1, x))
formula("polygamma")(lambda x, *, n: polygamma_of(n, x))


@formula("digamma")
def digamma(x):
    """PyTorch's values with gradients that have all digits."""
    plain = x.detach()
    correction = (polygamma_of(1, plain) * (x - plain)) if x.requires_grad else 0
    return torch.digamma(plain) + correction


@cases("polygamma")
def polygamma(name, rng):
    for n in (1, 2, 3):
        yield case(f"order {n}", Leaf(rounded(rng, 2 + n, 3, low=0.2, high=6)), n=n)
    yield case("below zero", np.array([-0.5, -1.25, -2.75, 12.5, 40.0]), n=2)
    both = [special(dtype) for dtype in ("float64", "float32")]
    yield into_row("values", [case("", values[(values >= 0) & (values < 1e3)], n=1) for values in both])


# The incomplete gamma functions.


def series(a, x):
    """Return 0, 1, 2, ... and the terms x^(a+n) e^-x / Gamma(a+n+1), whose sum is the lower incomplete gamma function."""
    n = torch.arange(600, dtype=torch.float64)
    a, x = a.double().unsqueeze(-1), x.double().unsqueeze(-1)
    return n, torch.exp((a + n) * torch.log(x) - x - torch.lgamma(a + n + 1))


@formula("gamma_slope")
def gamma_slope(a, x):
    """Minus the derivative of the distribution function by the concentration, over the density; both by the series."""
    n, terms = series(a, x)
    by_shape = (terms * (torch.log(x.double()).unsqueeze(-1) - torch.digamma(a.double().unsqueeze(-1) + n + 1))).sum(-1)
    density = torch.exp((a.double() - 1) * torch.log(x.double()) - x.double() - torch.lgamma(a.double()))
    return (-by_shape / density).to(x.dtype)


def incomplete_gamma(upper):
    """The series where it holds, which has gradients for both arguments; PyTorch's values beyond."""
    theirs = torch.special.gammaincc if upper else torch.special.gammainc

    def function(a, x):
        inside = (a > 0) & (x > 0) & (a < 200) & (x < 200)
        lower = series(torch.where(inside, a, 1.0), torch.where(inside, x, 1.0))[1].sum(-1).to(x.dtype)
        return chosen(inside, 1 - lower if upper else lower, torch.where(a.isnan() | x.isnan(), NAN, theirs(a, x)))

    return function


formula("gammainc")(incomplete_gamma(False))
formula("gammaincc")(incomplete_gamma(True))
WHY = "the operator integrates over the concentration numerically"


@cases("gamma_slope")
def gamma_slopes(name, rng):
    yield case("matrix", np.array([[0.125, 0.5, 1.0], [2.5, 10.0, 30.0]]), np.array([[0.02, 1.5, 1.0], [2.5, 14.0, 25.0]]),
               tolerance=1e-9, reason=WHY)
    yield case("row", np.array([3.0, 0.75, 5.0, 20.0]), np.array([0.5, 0.25, 9.0, 31.0]), tolerance=1e-9, reason=WHY)
    yield case("float32", np.array([3.0, 0.75], "float32"), np.array([0.5, 0.25], "float32"))


@cases("gammainc", "gammaincc")
def incomplete(name, rng):
    yield case("matrix", Leaf(np.array([[0.125, 0.75, 1.0], [3.5, 20.0, 8.0]])),
               Leaf(np.array([[0.25, 0.5, 2.0], [3.75, 26.0, 5.0]])),
               tolerance=1e-9, reason=WHY)
    yield case("row", Leaf(rounded(rng, 5, low=0.5, high=9)), Leaf(rounded(rng, 5, low=0.5, high=9)), tolerance=1e-9,
               reason=WHY)
    yield into_row("values", [case("", *pairs(dtype, values)) for dtype, values in
                              (("float64", [0.0, 1.0, 0.5, 30.5, -1.0, INF, NAN, 150.0]),
                               ("float32", [0.0, 1.0, 0.5, 30.5, -1.0, INF]))])


# Of two arguments.


@cases("zeta")
def zeta(name, rng):
    yield case("matrix", rounded(rng, 3, 4, low=1.2, high=8), Leaf(rounded(rng, 3, 4, low=0.2, high=9)))
    yield case("row", rounded(rng, 6, low=2, high=20), Leaf(rounded(rng, 6, low=1, high=30)))
    yield case("below zero", np.array([2.0, 3.0, 4.0]), np.array([-0.5, -1.25, -2.75]))
    yield into_row("values", [case("", *pairs(dtype, [1.0, 0.5, 2.0, 2.5, 0.0, -1.0, -0.5, 3.0]))
                              for dtype in ("float64", "float32")])


@cases("frexp")
def frexp(name, rng):
    yield case("matrix", Leaf(rounded(rng, 3, 4, low=-90, high=90)))
    yield case("row", Leaf(rounded(rng, 5, low=0.01, high=0.2)))
    yield into_row("values", [case("", special(dtype)[np.isfinite(special(dtype))]) for dtype in ("float64", "float32")])


FAMILIES = ("chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w",
            "hermite_polynomial_h",
            "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p")
formula("polynomial")(lambda x, n, *, family: getattr(torch.special, family)(x, n))


@cases("polynomial")
def polynomial(name, rng):
    for i, family in enumerate(FAMILIES):
        x = rounded(rng, 2, 4 + i % 2, low=-0.95, high=0.95)
        yield case(family, x, np.resize([0.0, 1, 2, 3, 5, 8, 4, 12, 6, 7], x.shape), family=family)
