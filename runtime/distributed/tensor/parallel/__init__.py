"""`ingot.distributed.tensor.parallel`: modules with parameters and activations sharded over a mesh."""

from .parallel_styles import *
from .parallelize_plan import input_reshard, parallelize_module
from .sharded_losses import loss_parallel

__all__ = ["ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput", "PrepareModuleOutput",
           "RowwiseParallel", "SequenceParallel", "input_reshard", "loss_parallel", "parallelize_module"]
