"""Further univariate families: ContinuousBernoulli, GeneralizedPareto, Kumaraswamy, and VonMises on the circle."""

# Made by `make stubs` from the live package; not edited by hand.

import typing as _t
from ingot.distributions import ContinuousBernoulli as ContinuousBernoulli
from ingot.distributions import GeneralizedPareto as GeneralizedPareto
from ingot.distributions import Kumaraswamy as Kumaraswamy
from ingot.distributions import VonMises as VonMises

def log_bessel(order: _t.Any, x: _t.Any) -> _t.Any:
    """Return the logarithm of the modified Bessel function of the first kind of order 0 or 1, for positive x."""
