"""Normal distributions of vectors: MultivariateNormal, LowRankMultivariateNormal."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.distributions import LowRankMultivariateNormal as LowRankMultivariateNormal
from ingot.distributions import MultivariateNormal as MultivariateNormal
