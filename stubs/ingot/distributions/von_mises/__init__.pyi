"""Further univariate families: ContinuousBernoulli, GeneralizedPareto, Kumaraswamy, and VonMises on the circle."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.distributions import ContinuousBernoulli as ContinuousBernoulli
from ingot.distributions import GeneralizedPareto as GeneralizedPareto
from ingot.distributions import Kumaraswamy as Kumaraswamy
from ingot.distributions import VonMises as VonMises
from ingot.distributions.continuous_bernoulli import log_bessel as log_bessel
