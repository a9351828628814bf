"""`ingot.distributed.optim`: optimizers for several ranks."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot.distributed.algorithms import JoinHook as _JoinHook
from ingot.distributed.algorithms import Joinable as _Joinable
from ingot.distributed.optim import post_localSGD_optimizer as post_localSGD_optimizer
from ingot.distributed.optim import zero_redundancy_optimizer as zero_redundancy_optimizer
from ingot.optim import Optimizer as _Optimizer

class PostLocalSGDOptimizer(_Optimizer):
    """Optimizer whose steps are followed by an averager's."""
    averager: _t.Any
    defaults: _t.Any
    optim: _t.Any
    param_groups: _t.Any
    state: _t.Any
    def __init__(self, optim: _t.Any, averager: _t.Any) -> None: ...
    def add_param_group(self, param_group: _t.Any) -> None:
        """Add parameters with options of their own."""
    def load_state_dict(self, state_dict: _t.Any) -> None:
        """Load a state of state_dict(); without "step" the averager starts anew."""
    def state_dict(self) -> _b.dict[_t.Any, _t.Any]:
        """Return the optimizer's state, with the averager's count of steps as "step"."""
    def step(self, closure: _t.Any = None) -> _t.Any:
        """Step the optimizer, and average parameters."""
    def zero_grad(self, set_to_none: _b.bool = True) -> None:
        """Drop the gradients."""

class ZeroRedundancyOptimizer(_Optimizer, _Joinable):
    """Optimizer of `optimizer_class` with its state sharded over ranks by parameters. The largest come first, each to the
    rank with the least."""
    optim: _t.Any
    process_group: _t.Any
    state: _t.Any
    def __init__(self, params: _t.Any, optimizer_class: _t.Any, process_group: _t.Any = None,
                 parameters_as_bucket_view: _b.bool = False, overlap_with_ddp: _b.bool = False, **defaults: _t.Any) -> None: ...
    def add_param_group(self, param_group: _t.Any) -> None:
        """Add parameters with options of their own, and shard them."""
    def consolidate_state_dict(self, to: _t.Any = 0) -> None:
        """Collect the state of all ranks on rank `to` of the group; every rank calls it before that one's state_dict()."""
    def join_hook(self, **kwargs: _t.Any) -> _EndedOptimizer:
        """Return the hook of this rank after its last batch. `kwargs` are ignored: they are for others that join."""
    def load_state_dict(self, state_dict: _t.Any) -> None:
        """Load this rank's part of a whole state."""
    def state_dict(self) -> _b.dict[_t.Any, _t.Any]:
        """Return the state of all ranks, like the optimizer's own state_dict() without sharding."""
    def step(self, closure: _t.Any = None, **options: _t.Any) -> _t.Any:
        """Update this rank's parameters, then send them to every rank."""

class _EndedOptimizer(_JoinHook):
    """Join hook: a rank without batches keeps updating its parameters."""
    zero: _t.Any
    def __init__(self, zero: _t.Any) -> None: ...
    def main_hook(self) -> None:
        """Take part in a step."""
