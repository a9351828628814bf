"""Families that are transforms of others: LogNormal, Gumbel, HalfNormal, Pareto, Weibull and others."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.distributions import Gumbel as Gumbel
from ingot.distributions import HalfCauchy as HalfCauchy
from ingot.distributions import HalfNormal as HalfNormal
from ingot.distributions import InverseGamma as InverseGamma
from ingot.distributions import LogNormal as LogNormal
from ingot.distributions import LogisticNormal as LogisticNormal
from ingot.distributions import Pareto as Pareto
from ingot.distributions import RelaxedBernoulli as RelaxedBernoulli
from ingot.distributions import RelaxedOneHotCategorical as RelaxedOneHotCategorical
from ingot.distributions import Weibull as Weibull
from ingot.distributions.gumbel import ExpRelaxedCategorical as ExpRelaxedCategorical
from ingot.distributions.gumbel import LogitRelaxedBernoulli as LogitRelaxedBernoulli
