"""`ingot.optim._functional`: optimizers as functions of lists."""

from .adam import adam, adamax, adamw, nadam, radam
from .adaptive import adadelta, adagrad, asgd, rmsprop, rprop
from .sgd import sgd

__all__ = ["adadelta", "adagrad", "adam", "adamax", "adamw", "asgd", "nadam", "radam", "rmsprop", "rprop", "sgd"]
