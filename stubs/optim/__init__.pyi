from ..runtime.optim import *
from . import adadelta as adadelta
from . import adagrad as adagrad
from . import adam as adam
from . import adamax as adamax
from . import adamw as adamw
from . import asgd as asgd
from . import lbfgs as lbfgs
from . import nadam as nadam
from . import optimizer as optimizer
from . import radam as radam
from . import rmsprop as rmsprop
from . import rprop as rprop
from . import sgd as sgd
from . import sparse_adam as sparse_adam
