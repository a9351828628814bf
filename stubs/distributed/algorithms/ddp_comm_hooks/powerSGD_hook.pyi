from ....runtime.distributed.power_sgd import *
