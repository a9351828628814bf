"""L-BFGS: a quasi-Newton method with a history of steps."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.optim import LBFGS as LBFGS
