from ....runtime.distributed.training.power_sgd import *
