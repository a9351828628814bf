from ....runtime.distributed.tensor.parallel.losses import *
