"""Orthogonal polynomials with tensor degrees, and the Hurwitz zeta function."""

import numpy as np

from ...opdef.batch_rules import LEADING
from ...opdef.op import NO_GRAD, Host, op
from ...opdef.param_checks import check_choice
from ...process_state import ignore_float_errors
from ...reference.scalar_functions import hurwitz_zeta
from ..core import elementwise as ew
from ..core.elementwise_rules import check_pair, elementwise

# name: (the polynomial of degree 1, that of degree k + 1 from those of degrees k and k - 1)
FAMILIES = {
    "chebyshev_polynomial_t": (lambda x: x, lambda x, q, p, k: 2 * x * q - p),
    "chebyshev_polynomial_u": (lambda x: 2 * x, lambda x, q, p, k: 2 * x * q - p),
    "chebyshev_polynomial_v": (lambda x: 2 * x - 1, lambda x, q, p, k: 2 * x * q - p),
    "chebyshev_polynomial_w": (lambda x: 2 * x + 1, lambda x, q, p, k: 2 * x * q - p),
    "hermite_polynomial_h": (lambda x: 2 * x, lambda x, q, p, k: 2 * (x * q - k * p)),
    "hermite_polynomial_he": (lambda x: x, lambda x, q, p, k: x * q - k * p),
    "laguerre_polynomial_l": (lambda x: 1 - x, lambda x, q, p, k: ((2 * k + 1 - x) * q - k * p) / (k + 1)),
    "legendre_polynomial_p": (lambda x: x, lambda x, q, p, k: ((2 * k + 1) * x * q - k * p) / (k + 1)),
}

MOST_DEGREE = 1 << 24       # one step per degree


def _infer_polynomial(x, n, *, family):
    check_pair("polynomial", x, n)
    check_choice(family, tuple(FAMILIES), "polynomial: family")
    return x


@ignore_float_errors
def _polynomial(x, n, *, family):
    first, step = FAMILIES[family]
    wide, degree = x.astype(np.float64), np.trunc(n.astype(np.float64))
    most = int(degree.max(initial=0, where=degree <= MOST_DEGREE))
    out = np.where(degree == 0, 1.0, np.where(degree < 0, 0.0, np.nan))
    before, now = np.ones_like(wide), first(wide)
    for k in range(1, most + 1):
        out = np.where(degree == k, now, out)
        if not (now == now).any():
            break                       # nan stays nan
        before, now = now, step(wide, now, before, k)
    return out.astype(x.dtype)


polynomial = op("polynomial", infer=_infer_polynomial, ref=_polynomial, vjp=NO_GRAD, lower=Host(), batch=LEADING,
                doc=f"The polynomial of degree n of an orthogonal family at x; 0 for degrees below 0, nan above {MOST_DEGREE}.")


@ignore_float_errors
def _zeta(x, q):
    x, q = np.broadcast_arrays(x, q)
    kind, x, q = x.dtype, x.astype(np.float64), q.astype(np.float64)
    pole = (x == 1) | ((q <= 0) & (q == np.floor(q)))
    unknown = (x < 1) | ((q <= 0) & (x != np.floor(x)) & (q != np.floor(q)))
    found = hurwitz_zeta(np.where(pole | unknown, 2, x), np.where(pole | unknown, 1, q))
    found = np.where(np.isposinf(x) & ~pole, np.where(q > 1, 0, np.where(q == 1, 1, np.nan)), found)
    return np.where(unknown & (x != 1), np.nan, np.where(pole, np.inf, found)).astype(kind)


zeta = elementwise("zeta", _zeta, (None, lambda g, out, x, q: ew.neg(ew.mul(g, ew.mul(x, zeta(ew.add(x, 1.0), q))))),
                   takes="real_float",
                   doc="Hurwitz's zeta function: the sum of (q + k)^-x over k from 0 on, for x above 1.")
