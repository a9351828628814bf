"""`ingot.distributed.algorithms.model_averaging`: periodic averages of parameters instead of gradients at every step."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot import Future as _Future
from ingot.distributed.algorithms.model_averaging import averagers as averagers
from ingot.distributed.optim import PostLocalSGDOptimizer as PostLocalSGDOptimizer

class ModelAverager:
    """Base of averagers of parameters over processes."""
    process_group: _t.Any
    step: _b.int
    def __init__(self, process_group: _t.Any = None) -> None: ...
    def average_parameters(self, params: _t.Any) -> _t.Any:
        """Average parameters if this step is due; subclasses define it."""

class PeriodicModelAverager(ModelAverager):
    """Averager at every `period`-th step from step `warmup_steps` on."""
    period: _t.Any
    warmup_steps: _t.Any
    def __init__(self, period: _t.Any, warmup_steps: _t.Any = 0, process_group: _t.Any = None) -> None: ...
    def average_parameters(self, params: _t.Any) -> None:
        """Count a step, and average parameters (or those of an optimizer with gradients) if it is due."""

class PostLocalSGDState:
    """Gradient groups of local SGD: all processes before step `start_localSGD_iter`, the subgroup from then on."""
    iter: _b.int
    post_local_gradient_allreduce: _b.bool
    process_group: _t.Any
    start_localSGD_iter: _t.Any
    subgroup: _t.Any
    def __init__(self, process_group: _t.Any, subgroup: _t.Any, start_localSGD_iter: _t.Any,
                 post_local_gradient_allreduce: _b.bool = True) -> None: ...
    def maybe_increase_iter(self, bucket: _t.Any) -> None:
        """Count a step, at its last bucket."""

def post_localSGD_hook(state: _t.Any, bucket: _t.Any) -> _Future:
    """Return the average over the processes that share gradients in this step."""
