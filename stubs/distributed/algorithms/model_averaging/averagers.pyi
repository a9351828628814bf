from ....runtime.distributed.training.local_sgd import *
