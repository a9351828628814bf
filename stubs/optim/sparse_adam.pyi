from ..runtime.optim.sparse_adam import *
