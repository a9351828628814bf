"""Kullback-Leibler divergences: a registry by pairs of families, and closed forms."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.distributions import kl_divergence as kl_divergence
from ingot.distributions import register_kl as register_kl
