from ....runtime.distributed.tensor.parallel.sharded_losses import *
