"""`ingot.nn.parallel`: training on several devices or in several processes."""

from . import comm
from . import distributed_data_parallel as distributed
from .data_parallel import DataParallel, data_parallel
from .distributed_data_parallel import DistributedDataParallel
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter

DistributedDataParallelCPU = DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel", "DistributedDataParallelCPU", "comm", "data_parallel", "distributed",
           "gather", "parallel_apply", "replicate", "scatter"]
