"""`powerSGD_hook`: gradients of matrices are sent as two narrow factors (Vogels et al., 2019)."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot import Future as _Future

class PowerSGDState:
    """State of the hook between steps: the rest of each bucket, and the factors that start the next step."""
    error_dict: _b.dict[_t.Any, _t.Any]
    generator: _t.Any
    iter: _b.int
    matrix_approximation_rank: _t.Any
    min_compression_rate: _t.Any
    orthogonalization_epsilon: _t.Any
    process_group: _t.Any
    q_memory_dict: _b.dict[_t.Any, _t.Any]
    start_powerSGD_iter: _t.Any
    use_error_feedback: _b.bool
    warm_start: _b.bool
    def __init__(self, process_group: _t.Any = None, matrix_approximation_rank: _t.Any = 1,
                 start_powerSGD_iter: _t.Any = 1000, min_compression_rate: _t.Any = 2,
                 use_error_feedback: _b.bool = True, warm_start: _b.bool = True,
                 orthogonalization_epsilon: _t.Any = 0, random_seed: _t.Any = 0,
                 compression_stats_logging_frequency: _t.Any = 10000, batch_tensors_with_same_shape: _b.bool = False) -> None: ...
    def compresses(self, rows: _b.int, columns: _b.int) -> _b.bool:
        """Return whether the factors of a matrix are small enough to send instead of it."""
    def maybe_increase_iter(self, bucket: _t.Any) -> None:
        """Count a step, at its last bucket."""

def batched_powerSGD_hook(state: _t.Any, bucket: _t.Any) -> _Future:
    """Apply powerSGD_hook to a bucket's gradients as one square matrix: faster and less exact."""
def powerSGD_hook(state: _t.Any, bucket: _t.Any) -> _Future:
    """Return the average over ranks, of matrices by factors. Steps before `start_powerSGD_iter` send all values."""
