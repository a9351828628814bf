"""The incomplete gamma functions: the distribution function of gamma numbers, and what it leaves of 1."""

import numpy as np

from ...errors import DTypeError, ShapeError
from ...reference.scalar_functions import erfc, lgamma
from ..core import elementwise as ew
from ..core.elementwise_rules import elementwise
from .gamma import gamma_slope


def check_pair(name, x, y):
    """Raises unless two tensors have one floating point dtype and one shape."""
    if not x.dtype.is_floating_point or x.dtype is not y.dtype:
        raise DTypeError(f"{name} takes two tensors of one floating point dtype, got {x} and {y}; cast one with .to()")
    if x.shape != y.shape:
        raise ShapeError(f"{name} takes tensors of one shape, got {x} and {y}")


_TURNS = 10000
SMALL, SMALL_TERMS = 0.1, 22        # below which Q has a sum of its own, and how long that is
LARGE, NEAR = 1e6, 0.05             # above which there is an expansion; x further off, as a part of a, leaves nothing
# lgamma(1 + a) / a, by a: -Euler's constant, then (-1)^k zeta(k) / k.
LOG_GAMMA = (-0.5772156649015329, 0.8224670334241132, -0.40068563438653143, 0.27058080842778454, -0.20738555102867398,
             0.1695571769974082, -0.1440498967688461, 0.12550966952474304, -0.11133426586956469, 0.1000994575127818,
             -0.09095401714582904, 0.083353840546109, -0.0769325164113522, 0.07143294629536134, -0.06666870588242046,
             0.06250095514121304)
OFF_LOG = tuple([(-1) ** k / (k + 2) for k in range(14)])       # (off - log(1 + off)) / off^2
TEMME = (-1 / 3, 1 / 12, -2 / 135, 1 / 864, 1 / 2835, -139 / 777600, 1 / 25515)
_CHECKED = 4        # turns of a sum between two looks at what is left of it
_LEFT = {4: 2.0 ** -34, 8: 2.0 ** -56}      # of a sum, below which a turn is the last one, by bytes of the results
_PIECE = 1 << 15    # elements that are worked on at a time, so that they stay in a cache


def _series(a, x, left):
    """The sum of x^n / ((a+1) ... (a+n)), for x below a + 1."""
    term = np.ones_like(a)
    total, below = term.copy(), a + 1
    for n in range(1, _TURNS):
        term *= x
        term /= below
        total += term
        below += 1
        if n % _CHECKED == 0 and not (term * x > total * below * left).any():
            break
    return total


def _fraction(a, x, least):
    """a Gamma(a, x) / (x^a e^-x) for x of a + 1 and more, as a continued fraction (Steed). What is done is put aside."""
    scale = a
    out, left = np.empty(a.size), np.arange(a.size)
    b = x + 1 - a
    d = 1 / b
    change, total = d.copy(), d.copy()
    for n in range(1, _TURNS):
        b += 2
        d *= (a - n) * n
        d += b
        np.divide(1, d, d)
        change *= b * d - 1
        total += change
        if n % _CHECKED == 0:
            going = np.abs(change) > total * least
            count = np.count_nonzero(going)
            if 4 * count < 3 * going.size:
                out[left] = total
                if not count:
                    break
                a, b, d, change, total, left = (v[going] for v in (a, b, d, change, total, left))
    else:
        out[left] = total
    return out * scale


def _rest_of_small(a, x):
    """Q(a, x) for an a below `SMALL` and x below a + 1, where 1 - P would have no digits: -expm1 of log P."""
    power = a * np.log(x) - a * horner(LOG_GAMMA, a)
    term, total = np.ones_like(x), np.zeros_like(x)
    for n in range(1, SMALL_TERMS):
        term = term * -x / n
        total += term / (a + n)
    return -np.expm1(power) - np.exp(power) * a * total


def _of_large(a, x, upper):
    """P or Q for an a above `LARGE`, where sums would be too long: Temme's expansion around x = a."""
    off = np.clip((x - a) / a, -NEAR, NEAR)
    bend = off * off * horner(OFF_LOG, off)                # off - log(1 + off)
    eta = np.copysign(np.sqrt(2 * bend), off)
    side = np.exp(-a * bend) / np.sqrt(2 * np.pi * a) * (horner(TEMME, eta) - 1 / (540 * a))
    return 0.5 * erfc(eta * np.sqrt(a / 2)) + side if upper else 0.5 * erfc(-eta * np.sqrt(a / 2)) - side


def horner(coefficients, x):
    """A polynomial by its coefficients, that of 1 first."""
    total = coefficients[-1]
    for c in coefficients[-2::-1]:
        total = total * x + c
    return total


def _both_kinds(upper):
    """The meaning of one of the functions."""

    def ref(a, x):
        a, x = np.broadcast_arrays(a, x)
        kind, shape = a.dtype, a.shape
        a, x = (v.astype(np.float64).reshape(-1) for v in (a, x))
        out, left = np.empty(a.size), _LEFT.get(kind.itemsize, _LEFT[4])
        for start in range(0, a.size, _PIECE):
            part = slice(start, start + _PIECE)
            out[part] = _share(a[part], x[part], left, upper)
        return out.reshape(shape).astype(kind)

    return ref


def _share(a, x, left, upper):
    """P(a, x) or Q(a, x) of float64 numbers."""
    out = np.full(a.size, np.nan)
    valid = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    if not valid.all():
        out[(a > 0) & (x == 0)] = upper
        out[(a == 0) & (x > 0)] = not upper
        out[(a > 0) & np.isfinite(a) & np.isposinf(x)] = not upper
        out[np.isposinf(a) & (x > 0) & np.isfinite(x)] = upper
    large = valid & (a > LARGE)
    low = valid & ~large & (x < a + 1)
    for part, sums in ((low, _series), (valid & ~large & ~low, _fraction)):
        if part.any():
            a_, x_ = a[part], x[part]
            share = sums(a_, x_, left) * np.exp(a_ * np.log(x_) - x_ - lgamma(a_ + 1))
            out[part] = share if (sums is _fraction) is upper else 1 - share
    small = low & (a < SMALL)
    if upper and small.any():
        out[small] = _rest_of_small(a[small], x[small])
    if large.any():
        out[large] = _of_large(a[large], x[large], upper)
    return np.clip(out, 0, 1, out)


def _density(a, x):
    return ew.exp(ew.sub(ew.sub(ew.xlogy(ew.sub(a, 1.0), x), x), ew.lgamma(a)))


def _by_concentration(g, a, x):
    return ew.mul(g, ew.mul(_density(a, x), gamma_slope(a, x)))


gammainc = elementwise("gammainc", _both_kinds(False), (lambda g, out, a, x: ew.neg(_by_concentration(g, a, x)),
                                                        lambda g, out, a, x: ew.mul(g, _density(a, x))), takes="real_float",
                       doc="The regularised lower incomplete gamma function P(a, x); nan outside of a, x >= 0.")
gammaincc = elementwise("gammaincc", _both_kinds(True), (lambda g, out, a, x: _by_concentration(g, a, x),
                                                         lambda g, out, a, x: ew.neg(ew.mul(g, _density(a, x)))),
                        takes="real_float",
                        doc="The regularised upper incomplete gamma function Q(a, x) = 1 - P(a, x); nan outside of a, x >= 0.")
