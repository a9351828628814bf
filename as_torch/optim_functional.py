"""`ingot.optim._functional`: optimizers as functions of lists."""

from ..runtime.optim.adam import adam, adamax, adamw, nadam, radam
from ..runtime.optim.adaptive import adadelta, adagrad, asgd, rmsprop, rprop
from ..runtime.optim.sgd import sgd

__all__ = ["adadelta", "adagrad", "adam", "adamax", "adamw", "asgd", "nadam", "radam", "rmsprop", "rprop", "sgd"]
