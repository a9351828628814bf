from ...runtime.distributed.training.sharded_optimizers import *
