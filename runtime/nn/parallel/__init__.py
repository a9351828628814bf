"""Training on several devices or in several processes."""

from . import comm, distributed
from .data_parallel import DataParallel, data_parallel
from .distributed import DistributedDataParallel
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter

DistributedDataParallelCPU = DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel", "DistributedDataParallelCPU", "comm", "data_parallel", "distributed",
           "gather", "parallel_apply", "replicate", "scatter"]
