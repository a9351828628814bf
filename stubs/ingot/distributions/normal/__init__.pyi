"""Families of location and scale: Normal, Laplace, Cauchy, Uniform."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.distributions import Cauchy as Cauchy
from ingot.distributions import Laplace as Laplace
from ingot.distributions import Normal as Normal
from ingot.distributions import Uniform as Uniform
