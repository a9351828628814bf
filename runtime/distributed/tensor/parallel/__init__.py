"""`ingot.distributed.tensor.parallel`: modules whose parameters and activations the processes of a mesh share out."""

from .losses import loss_parallel
from .plans import input_reshard, parallelize_module
from .styles import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleInput,
    PrepareModuleInputOutput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
)

__all__ = ["ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput", "PrepareModuleOutput",
           "RowwiseParallel", "SequenceParallel", "input_reshard", "loss_parallel", "parallelize_module"]
