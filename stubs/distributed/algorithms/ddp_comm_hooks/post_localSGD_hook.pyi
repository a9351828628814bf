from ....runtime.distributed.local_sgd import *
