from ..runtime.optim.optim_functional import *
