"""`ingot.nn.parallel`: training on several devices (DataParallel) or in several processes (DistributedDataParallel).

Way in: these two classes; `comm` moves tensors between devices, differentiably. `reducer` averages gradients during backward,
in the same order of buckets on every process.
"""

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
