from ...runtime.distributed.sharded_optimizers import *
