"""Bessel functions of orders 0 and 1, and Airy functions."""

import math

from ...opdef.op import NO_GRAD
from ...reference import bessel
from ..core.elementwise import abs_, add, cos, div, elementwise, eq, exp, lt, mul, neg, sign, sub, where

# Of I1(x) / x and, with every other sign changed, of J1(x) / x in powers of (x / 2)^2.
_TERMS = tuple([0.5 / (math.factorial(k) * math.factorial(k + 1)) for k in range(8)])


def _over(y, x, sign=1, scaled=False):
    """Return y / x for I1 (J1: sign -1; scaled: times exp(-|x|)); near 0 by the series, as a quotient's derivatives cancel."""
    near = lt(abs_(x), 0.5)
    small = where(near, x, 0.0)
    power = mul(mul(small, small), 0.25 * sign)
    series = mul(power, _TERMS[-1])
    for term in _TERMS[-2:0:-1]:
        series = mul(add(series, term), power)
    series = add(series, _TERMS[0])
    return where(near, mul(series, exp(neg(abs_(small)))) if scaled else series, div(y, where(near, 1.0, x)))


def _record(name, fn, vjp):
    return elementwise(name, fn, vjp if vjp is NO_GRAD else (vjp,), takes="real_float")


i0 = _record("i0", bessel.i0, lambda g, out, x: mul(g, i1(x)))
i0e = _record("i0e", bessel.i0e, lambda g, out, x: mul(g, sub(i1e(x), mul(sign(x), out))))
i1 = _record("i1", bessel.i1, lambda g, out, x: mul(g, sub(i0(x), _over(out, x))))
i1e = _record("i1e", bessel.i1e, lambda g, out, x: mul(g, sub(sub(i0e(x), _over(out, x, scaled=True)), mul(sign(x), out))))
bessel_j0 = _record("bessel_j0", bessel.j0, lambda g, out, x: neg(mul(g, bessel_j1(x))))
bessel_j1 = _record("bessel_j1", bessel.j1, lambda g, out, x: mul(g, sub(bessel_j0(x), _over(out, x, -1))))
bessel_y0 = _record("bessel_y0", bessel.y0, lambda g, out, x: neg(mul(g, bessel_y1(x))))
bessel_y1 = _record("bessel_y1", bessel.y1, lambda g, out, x: mul(g, sub(bessel_y0(x), div(out, x))))
modified_bessel_k0 = _record("modified_bessel_k0", bessel.k0, lambda g, out, x: neg(mul(g, modified_bessel_k1(x))))
modified_bessel_k1 = _record("modified_bessel_k1", bessel.k1,
                             lambda g, out, x: neg(mul(g, add(modified_bessel_k0(x), div(out, x)))))
scaled_modified_bessel_k0 = _record("scaled_modified_bessel_k0", bessel.k0e,
                                    lambda g, out, x: mul(g, sub(out, scaled_modified_bessel_k1(x))))
scaled_modified_bessel_k1 = _record("scaled_modified_bessel_k1", bessel.k1e,
                                    lambda g, out, x: mul(g, sub(sub(out, scaled_modified_bessel_k0(x)), div(out, x))))


def _spherical_vjp(g, out, x):
    slope = div(sub(cos(x), out), where(eq(x, 0.0), 1.0, x))
    return mul(g, where(eq(x, 0.0), 0.0, slope))


spherical_bessel_j0 = _record("spherical_bessel_j0", bessel.spherical_j0, _spherical_vjp)
airy_ai = _record("airy_ai", bessel.airy_ai, NO_GRAD)
