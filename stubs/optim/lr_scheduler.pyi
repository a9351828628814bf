from ..runtime.optim.lr_scheduler import *
