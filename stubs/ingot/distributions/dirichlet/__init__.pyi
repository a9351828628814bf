"""Families built from gamma numbers: Exponential, Gamma, Chi2, Beta, Dirichlet, StudentT, FisherSnedecor."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.distributions import Beta as Beta
from ingot.distributions import Chi2 as Chi2
from ingot.distributions import Dirichlet as Dirichlet
from ingot.distributions import Exponential as Exponential
from ingot.distributions import FisherSnedecor as FisherSnedecor
from ingot.distributions import Gamma as Gamma
from ingot.distributions import StudentT as StudentT
