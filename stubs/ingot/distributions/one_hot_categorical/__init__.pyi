"""Families over categories: Categorical, OneHotCategorical, Multinomial."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.distributions import Categorical as Categorical
from ingot.distributions import Multinomial as Multinomial
from ingot.distributions import OneHotCategorical as OneHotCategorical
from ingot.distributions import OneHotCategoricalStraightThrough as OneHotCategoricalStraightThrough
