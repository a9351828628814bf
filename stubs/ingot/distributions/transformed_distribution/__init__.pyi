"""Distributions made of others: Independent, TransformedDistribution, MixtureSameFamily."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.distributions import Independent as Independent
from ingot.distributions import MixtureSameFamily as MixtureSameFamily
from ingot.distributions import TransformedDistribution as TransformedDistribution
