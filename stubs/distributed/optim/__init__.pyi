from ...runtime.distributed.training.sharded_optimizers import *
from . import post_localSGD_optimizer as post_localSGD_optimizer
from . import zero_redundancy_optimizer as zero_redundancy_optimizer
