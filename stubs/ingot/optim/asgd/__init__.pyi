"""Optimizers with a step size per element from past gradients: Adadelta, Adagrad, RMSprop, Rprop; averaged SGD."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.optim import ASGD as ASGD
from ingot.optim import Adadelta as Adadelta
from ingot.optim import Adagrad as Adagrad
from ingot.optim import RMSprop as RMSprop
from ingot.optim import Rprop as Rprop
