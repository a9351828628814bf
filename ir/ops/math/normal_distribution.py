"""The standard normal distribution function and its quantiles, by rational functions of Moshier's Cephes library.

Coefficients start with the constant one.
"""

import math

import numpy as np

from ...process_state import ignore_float_errors
from ...reference import scalar_functions
from ..core import elementwise as ew
from ..core.pointwise import pointwise

_MIDDLE = (-1.23916583867381258016e0, 1.39312609387279679503e1, -5.66762857469070293439e1, 9.80010754185999661536e1,
           -5.99633501014107895267e1)
_BY_MIDDLE = (-1.18331621121330003142e0, 1.59056225126211695515e1, -8.20372256168333339912e1, 2.00260212380060660359e2,
              -2.25462687854119370527e2, 8.63602421390890590575e1, 4.67627912898881538453e0, 1.95448858338141759834e0, 1.0)
_TAIL = (-8.57456785154685413611e-4, -3.50424626827848203418e-2, -1.40256079171354495875e-1, 2.18663306850790267539e0,
         1.46849561928858024014e1, 4.40805073893200834700e1, 5.71628192246421288162e1, 3.15251094599893866154e1,
         4.05544892305962419923e0)
_BY_TAIL = (-9.33259480895457427372e-4, -3.80806407691578277194e-2, -1.42182922854787788574e-1, 2.50464946208309415979e0,
            1.50425385692907503408e1, 4.13172038254672030440e1, 4.53907635128879210584e1, 1.57799883256466749731e1, 1.0)
_FAR = (6.23974539184983293730e-9, 2.65806974686737550832e-6, 3.01581553508235416007e-4, 1.23716634817820021358e-2,
        2.01485389549179081538e-1, 1.33303460815807542389e0, 3.93881025292474443415e0, 6.91522889068984211695e0,
        3.23774891776946035970e0)
_BY_FAR = (6.79019408009981274425e-9, 2.89247864745380683936e-6, 3.28014464682127739104e-4, 1.34204006088543189037e-2,
           2.16236993594496635890e-1, 1.37702099489081330271e0, 3.67983563856160859403e0, 6.02427039364742014255e0, 1.0)
_EDGE = math.exp(-2)        # of the middle
_FAR_FROM = 8.0             # sqrt(-2 log p) from which the last pair holds


def _ratio(x, above, below):
    return ew.div(_poly(x, above), _poly(x, below))


def _poly(x, coefficients):
    found = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        found = ew.add(ew.mul(x, found), c)
    return found


def _body(p):
    high = ew.gt(p, 1 - _EDGE)
    share = ew.where(high, ew.sub(1.0, p), p)
    in_middle = ew.gt(share, _EDGE)
    y = ew.sub(share, 0.5)
    square = ew.mul(y, y)
    middle = ew.mul(ew.add(y, ew.mul(y, ew.mul(square, _ratio(square, _MIDDLE, _BY_MIDDLE)))), math.sqrt(2 * math.pi))
    size = ew.sqrt(ew.mul(ew.log(ew.where(in_middle, _EDGE, share)), -2.0))
    inverse = ew.div(1.0, size)
    near = _ratio(inverse, _TAIL, _BY_TAIL)
    far = _ratio(inverse, _FAR, _BY_FAR)
    rest = ew.mul(inverse, ew.where(ew.lt(size, _FAR_FROM), near, far))
    tail = ew.sub(ew.sub(size, ew.mul(ew.log(size), inverse)), rest)
    tail = ew.where(ew.eq(share, 0.0), math.inf, tail)
    return ew.where(in_middle, middle, ew.where(high, tail, ew.neg(tail)))


def _slope(g, out, p):
    return ew.mul(g, ew.mul(ew.exp(ew.mul(ew.mul(out, out), 0.5)), math.sqrt(2 * math.pi)))


ndtri = pointwise("ndtri", _body, _body, (_slope,),
                  doc="The number below which a standard normal one is with this probability, accurate in both tails.")

# The distribution function, and its logarithm.

_HALF_ROOT = math.sqrt(0.5)


def _ndtr_body(x):
    return ew.mul(ew.erfc(ew.mul(x, -_HALF_ROOT)), 0.5)


def _density(g, out, x):
    return ew.mul(g, ew.mul(ew.exp(ew.mul(ew.mul(x, x), -0.5)), 1 / math.sqrt(2 * math.pi)))


ndtr = pointwise("ndtr", _ndtr_body, lambda x: 0.5 * scalar_functions.erfc(x * -_HALF_ROOT), (_density,),
                 doc="The probability that a standard normal number is at most this one.")


def _log_ndtr_body(x):
    z, low = ew.mul(x, -_HALF_ROOT), ew.lt(x, -1.0)
    left, right = ew.where(low, z, 1.0), ew.where(low, 0.0, z)
    tail = ew.sub(ew.log(ew.mul(ew.erfcx(left), 0.5)), ew.mul(left, left))
    return ew.where(low, tail, ew.log1p(ew.mul(ew.erfc(ew.neg(right)), -0.5)))


@ignore_float_errors
def _log_ndtr(x):
    z = x * -_HALF_ROOT
    left, right = np.where(x < -1, z, 1), np.where(x < -1, 0, z)
    tail = np.log(scalar_functions.erfcx(left) * 0.5) - left * left
    return np.where(x < -1, tail, np.log1p(scalar_functions.erfc(-right) * -0.5))


def _hazard(g, out, x):
    """Return density / distribution function; the branch not taken gets 0, so that this rule's own derivative is finite."""
    low = ew.lt(x, 0.0)
    left, right = ew.where(low, x, 0.0), ew.where(low, 0.0, x)
    scaled = ew.div(ew.mul(g, math.sqrt(2 / math.pi)), ew.erfcx(ew.mul(left, -_HALF_ROOT)))
    return ew.where(low, scaled, ew.div(_density(g, None, right), _ndtr_body(right)))


log_ndtr = pointwise("log_ndtr", _log_ndtr_body, _log_ndtr, (_hazard,),
                     doc="The logarithm of the standard normal distribution function, accurate in both tails.")
