"""`ingot.distributed.tensor.parallel`: modules with parameters and activations sharded over a mesh."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot.distributed.tensor.parallel import loss as loss
from ingot.distributed.tensor.parallel import style as style

class ColwiseParallel(ParallelStyle):
    """Style in which each process computes some outputs of a linear layer, or columns of an embedding."""
    input_layouts: _b.tuple[_t.Any, ...]
    output_layouts: _b.tuple[_t.Any, ...]
    use_local_output: _b.bool
    def __init__(self, *, input_layouts: _t.Any = None, output_layouts: _t.Any = None,
                 use_local_output: _b.bool = True) -> None: ...

class ParallelStyle:
    """Style of sharding a module over a mesh."""
    src_data_rank: _b.int | None

class PrepareModuleInput(ParallelStyle):
    """Style that converts a module's inputs to the wanted layouts; None leaves an argument unchanged."""
    desired_input_kwarg_layouts: _t.Any
    desired_input_layouts: _t.Any
    input_kwarg_layouts: _t.Any
    input_layouts: _t.Any
    use_local_output: _b.bool
    def __init__(self, *, input_layouts: _t.Any = None, desired_input_layouts: _t.Any = None,
                 input_kwarg_layouts: _t.Any = None, desired_input_kwarg_layouts: _t.Any = None,
                 use_local_output: _b.bool = False) -> None: ...

class PrepareModuleInputOutput(ParallelStyle):
    """Style that converts a module's inputs and outputs."""
    prepare_module_input: PrepareModuleInput
    prepare_module_output: PrepareModuleOutput
    def __init__(self, *, input_layouts: _t.Any = None, desired_input_layouts: _t.Any = None,
                 input_kwarg_layouts: _t.Any = None, desired_input_kwarg_layouts: _t.Any = None,
                 use_local_input: _b.bool = False, output_layouts: _t.Any, desired_output_layouts: _t.Any,
                 use_local_output: _b.bool = True) -> None: ...

class PrepareModuleOutput(ParallelStyle):
    """Style that converts a module's outputs to the wanted layouts, or to local parts; None leaves a result unchanged."""
    desired_output_layouts: _t.Any
    output_layouts: _t.Any
    use_local_output: _b.bool
    def __init__(self, *, output_layouts: _t.Any, desired_output_layouts: _t.Any, use_local_output: _b.bool = True) -> None: ...

class RowwiseParallel(ParallelStyle):
    """Style in which each process takes some inputs of a linear layer, or rows of an embedding; results are summed."""
    input_layouts: _b.tuple[_t.Any, ...]
    output_layouts: _b.tuple[_t.Any, ...]
    use_local_output: _b.bool
    def __init__(self, *, input_layouts: _t.Any = None, output_layouts: _t.Any = None,
                 use_local_output: _b.bool = True) -> None: ...

class SequenceParallel(ParallelStyle):
    """Style in which each process has a part of the sequence, and parameters are whole. It is for norms, dropout, and other
    modules that treat positions independently."""
    sequence_sharding: _b.tuple[_t.Any, ...]
    use_local_output: _b.bool
    def __init__(self, *, sequence_dim: _t.Any = 1, use_local_output: _b.bool = False) -> None: ...

def input_reshard(module: _t.Any, tp_device_mesh: _t.Any, input_reshard_dim: _t.Any = None) -> _t.Any:
    """Save a module's activations in parts along a dim of the mesh, and gather them when needed. This applies to plain
    tensors that are equal in all processes."""
def loss_parallel() -> _t.Any:
    """Context manager for `cross_entropy` of logits (DTensors) with sharded classes, and its backward. It changes nothing:
    the loss always reduces row maxima, sums and target values over the processes, and sends no logits."""
def parallelize_module(module: _t.Any, device_mesh: _t.Any = None, parallelize_plan: _t.Any = None, *,
                       src_data_rank: _t.Any = 0) -> _t.Any:
    """Shard a module over a mesh of one dim: by one style, or by one for each name of a module inside (`*` for any
    name)."""
