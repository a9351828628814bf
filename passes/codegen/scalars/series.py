"""Hurwitz's zeta function, polygamma, and orthogonal polynomials whose degree is data.

They are sums and recurrences with as many steps as their arguments need.
"""

from ....ir.ops.math.polynomials import FAMILIES, MOST_DEGREE
from ....ir.reference import scalar_functions
from .exponential import pow

INF, NAN = float("inf"), float("nan")
# B_2j / (2j)!, the coefficients of Euler and Maclaurin's formula
EULER = (0.08333333333333333, -0.001388888888888889, 3.306878306878307e-05, -8.267195767195768e-07, 2.08767569878681e-08,
         -5.284190138687493e-10, 1.3382536530684679e-11, -3.3896802963225827e-13)
_FROM, _TO, TURNS = 12.0, 1000.0, scalar_functions.MOST_TERMS


def hurwitz_zeta(s, power, x):
    """The sum of (x + k)^-power over k >= 0, for powers above 1: first terms, then Euler and Maclaurin's formula. nan where too
    many first terms would be needed."""
    far = s.select(power < _FROM, _FROM, s.select(power > _TO, _TO, power))
    shift = s.ceil(far - x)
    shift = s.select(shift > TURNS, NAN, s.select(shift > 0, shift, 0.0))

    def step(k, total):
        return k + 1.0 < shift, k + 1.0, total + pow(s, x + k, -power)

    total = s.iterate(TURNS, shift > 0, (s.const(x.dtype, 0.0),) * 2, step)[1]
    y = x + shift
    last = pow(s, y, -power)
    total = total + last * (y / (power - 1.0) + 0.5)
    factor, inverse = last * power / y, 1.0 / (y * y)
    for j, b in enumerate(EULER):
        total = total + b * factor
        factor = factor * (power + (2.0 * j + 1.0)) * (power + (2.0 * j + 2.0)) * inverse
    return s.select(x.eq(INF), 0.0, total)


def zeta(s, x, q):
    """Hurwitz's zeta function, the sum of (q + k)^-x; infinite at its poles, nan where undefined."""
    pole = x.eq(1) | ((q <= 0) & s.floor(q).eq(q))
    unknown = (x < 1) | ((q <= 0) & s.floor(x).ne(x) & s.floor(q).ne(q))
    away = pole | unknown | x.eq(INF)
    found = hurwitz_zeta(s, s.select(away, 2.0, x), s.select(away, 1.0, q))
    at_infinity = s.select(q > 1, 0.0, s.select(q.eq(1), 1.0, s.const(x.dtype, NAN)))
    found = s.select(pole, INF, s.select(x.eq(INF), at_infinity, found))
    return s.select(unknown & x.ne(1), NAN, found)


def polygamma(s, n, x):
    """The n-th derivative of digamma for n >= 1: n! times Hurwitz's zeta, with a sign."""

    def step(k, product):
        return k + 1.0 < n, k + 1.0, product * k

    one = s.const(x.dtype, 1.0)
    factorial = s.iterate(TURNS, one < n, (one, one), step)[1] * n
    half = n * 0.5
    return s.select(s.floor(half).eq(half), -factorial, factorial) * hurwitz_zeta(s, n + 1.0, x)


def _of_family(name, first, following):
    """Return the polynomial of degree n of an orthogonal family; 0 for negative degrees, nan for too large ones."""

    def polynomial(s, x, n):
        degree, one = s.trunc(n), s.const(x.dtype, 1.0)

        def step(k, before, now):
            new = following(x, now, before, k)
            return (k + 1.0 < degree) & new.eq(new), k + 1.0, now, new

        near = degree <= MOST_DEGREE
        going = near & (degree > 1)
        found = s.iterate(MOST_DEGREE, going, (one, one, first(x)), step)[2]
        found = s.select(degree.eq(0), 1.0, s.select(degree < 0, 0.0, found))
        return s.select(near, found, NAN)

    polynomial.__name__, polynomial.__doc__ = name, f"{name} of x and its degree."
    return polynomial


FAMILY = {name: _of_family(name, *rules) for name, rules in FAMILIES.items()}
