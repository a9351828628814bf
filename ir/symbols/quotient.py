"""Floats that are quotients of integers: what `symbolic.SymFloat` knows of how it came from sizes."""

import math
import operator
from functools import lru_cache
from typing import NamedTuple

from . import polynomial as poly

_LARGEST = 1000     # the largest denominator that a plain float is taken to have
_SMALL = 1 << 10    # coefficients up to which sizes times a coefficient have less than 53 bits


class Quotient(NamedTuple):
    """Polynomials whose quotient a float is, up to rounding. It is certain if the float is the quotient, rounded once: what
    `floor` makes of the float is what it makes of the quotient then, as the integers have less than 53 bits."""

    p: tuple
    q: tuple
    is_certain: bool

    @property
    def is_exact(self) -> bool:
        """Whether the float is the quotient, without rounding."""
        by = poly.constant_of(self.q)
        return self.is_certain and by is not None and by & (by - 1) == 0


@lru_cache(256)
def of_number(x):
    """The quotient that a plain number is, such as 3/10 for 0.3; None if no small one is nearest to it."""
    if not math.isfinite(x) or abs(x) > _LARGEST ** 3:
        return None
    from fractions import Fraction  # here, since few numbers are multiplied with sizes

    numerator, denominator = Fraction(x).limit_denominator(_LARGEST).as_integer_ratio()
    return Quotient(poly.constant(numerator), poly.constant(denominator), True) if numerator / denominator == x else None


def combined(plain, x: Quotient, y: Quotient) -> Quotient | None:
    """What an operation makes of two quotients, if it is one of arithmetic's four."""
    if plain is operator.mul:
        p, q = poly.times(x.p, y.p), poly.times(x.q, y.q)
    elif plain is operator.truediv:
        p, q = poly.times(x.p, y.q), poly.times(x.q, y.p)
    elif plain in (operator.add, operator.sub):
        join = poly.plus if plain is operator.add else poly.minus
        p, q = join(poly.times(x.p, y.q), poly.times(y.p, x.q)), poly.times(x.q, y.q)
    else:
        return None
    p, q = poly.lowest_terms(p, q)
    is_small = max([abs(c) for _, c in (*p, *q)], default=0) <= _SMALL
    return Quotient(p, q, x.is_exact and y.is_exact and is_small)
