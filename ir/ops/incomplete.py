"""The incomplete gamma function: the distribution function of gamma numbers."""

import numpy as np

from ..batch import LEADING
from ..errors import DTypeError, ShapeError
from ..numeric import lgamma
from ..op import Host, op
from . import elementwise as ew
from .gamma import gamma_slope

_TURNS = 10000


def check_pair(name, x, y):
    """Raises unless two tensors have one floating point dtype and one shape."""
    if not x.dtype.is_floating_point or x.dtype is not y.dtype:
        raise DTypeError(f"{name} takes two tensors of one floating point dtype, got {x} and {y}; cast one with .to()")
    if x.shape != y.shape:
        raise ShapeError(f"{name} takes tensors of one shape, got {x} and {y}")


def _infer_gammainc(a, x):
    check_pair("gammainc", a, x)
    return a


def _by_series(a, x):
    """P(a, x) for x below a + 1: x^a e^-x sum of x^n / (a (a+1) ... (a+n))."""
    term = 1 / a
    total = term.copy()
    for n in range(1, _TURNS):
        term = term * x / (a + n)
        total += term
        if not (np.abs(term) > np.abs(total) * 1e-17).any():
            break
    return total * np.exp(a * np.log(x) - x - lgamma(a))


def _by_fraction(a, x):
    """Q(a, x) for x of a + 1 and more, by its continued fraction (Lentz)."""
    b = x + 1 - a
    c, d = np.full_like(x, 1e300), 1 / b
    h = d.copy()
    for n in range(1, _TURNS):
        top = -n * (n - a)
        b = b + 2
        d = 1 / _off_zero(top * d + b)
        c = _off_zero(b + top / c)
        h = h * c * d
        if not (np.abs(c * d - 1) > 1e-15).any():
            break
    return h * np.exp(a * np.log(x) - x - lgamma(a))


def _off_zero(v):
    return np.where(np.abs(v) < 1e-300, 1e-300, v)


def _gammainc(a, x):
    kind = a.dtype
    shape, a, x = a.shape, a.astype(np.float64).reshape(-1), x.astype(np.float64).reshape(-1)
    out = np.full(a.size, np.nan)
    valid = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    low, high = valid & (x < a + 1), valid & (x >= a + 1)
    out[low] = _by_series(a[low], x[low])
    out[high] = 1 - _by_fraction(a[high], x[high])
    out[(a > 0) & (x == 0)] = 0
    out[(a == 0) & (x > 0)] = 1
    out[(a > 0) & np.isfinite(a) & np.isposinf(x)] = 1
    return np.clip(out, 0, 1).reshape(shape).astype(kind)


def _density(a, x):
    return ew.exp(ew.sub(ew.sub(ew.xlogy(ew.sub(a, 1.0), x), x), ew.lgamma(a)))


gammainc = op("gammainc", infer=_infer_gammainc, ref=_gammainc,
              vjp=(lambda g, out, a, x: ew.neg(ew.mul(g, ew.mul(_density(a, x), gamma_slope(a, x)))),
                   lambda g, out, a, x: ew.mul(g, _density(a, x))),
              lower=Host(),
              batch=LEADING, doc="The regularised lower incomplete gamma function P(a, x); nan outside of a, x >= 0.")
