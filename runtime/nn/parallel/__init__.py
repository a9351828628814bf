"""Training on several devices or in several processes."""

from . import distributed
from .data_parallel import DataParallel, data_parallel, gather, parallel_apply, replicate, scatter
from .distributed import DistributedDataParallel

DistributedDataParallelCPU = DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel", "DistributedDataParallelCPU", "data_parallel", "distributed", "gather",
           "parallel_apply", "replicate", "scatter"]
