"""Parallel styles: sharding of a module's parameters, inputs and outputs."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.distributed.tensor.parallel import ColwiseParallel as ColwiseParallel
from ingot.distributed.tensor.parallel import ParallelStyle as ParallelStyle
from ingot.distributed.tensor.parallel import PrepareModuleInput as PrepareModuleInput
from ingot.distributed.tensor.parallel import PrepareModuleInputOutput as PrepareModuleInputOutput
from ingot.distributed.tensor.parallel import PrepareModuleOutput as PrepareModuleOutput
from ingot.distributed.tensor.parallel import RowwiseParallel as RowwiseParallel
from ingot.distributed.tensor.parallel import SequenceParallel as SequenceParallel
