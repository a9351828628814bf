from ..runtime.optim.lbfgs import *
