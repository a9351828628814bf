"""Base of distributions: shapes, validation, and helpers of all families."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.distributions import Distribution as Distribution
from ingot.distributions import ExponentialFamily as ExponentialFamily
