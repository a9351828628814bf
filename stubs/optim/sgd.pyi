from ..runtime.optim.sgd import *
