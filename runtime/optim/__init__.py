"""`ingot.optim`: optimizers and learning rate schedules.

Way in: `optimizer.Optimizer`. An elementwise optimizer states its rule once (`update_rules.Elementwise`); it runs fused,
operator by operator, or recorded in a trace, with the same bits. The class gets its step hooks when it is made. The room knows
modules only for averages of weights.
"""

from ..api.register.register import name_constructors as _name_constructors
from . import lr_scheduler
from . import weight_averaging as swa_utils
from .adafactor_muon import Adafactor, Muon
from .adam import Adam, Adamax, AdamW, NAdam, RAdam
from .adaptive import ASGD, Adadelta, Adagrad, RMSprop, Rprop
from .lbfgs import LBFGS
from .optimizer import Optimizer
from .sgd import SGD
from .sparse_adam import SparseAdam

__all__ = ["ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon", "NAdam", "Optimizer",
           "RAdam", "RMSprop", "Rprop", "SparseAdam", "lr_scheduler", "swa_utils"]

_name_constructors(globals(), vars(lr_scheduler), vars(swa_utils))
