"""Families of counts and coin tosses: Bernoulli, Binomial, Geometric, NegativeBinomial, Poisson."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.distributions import Bernoulli as Bernoulli
from ingot.distributions import Binomial as Binomial
from ingot.distributions import Geometric as Geometric
from ingot.distributions import NegativeBinomial as NegativeBinomial
from ingot.distributions import Poisson as Poisson
