from ..runtime.optim.optimizer import *
