from ..runtime.optim.adam import *
