"""Stochastic gradient descent."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.optim import SGD as SGD
