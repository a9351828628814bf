from ..runtime.optim.adaptive import *
