from ..runtime.optim.weight_averaging import *
