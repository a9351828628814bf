"""Distributions of matrices: LKJCholesky (correlations) and Wishart (covariances)."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.distributions import LKJCholesky as LKJCholesky
from ingot.distributions import Wishart as Wishart
