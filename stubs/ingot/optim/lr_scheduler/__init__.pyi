"""Learning rate schedules."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot.optim import Optimizer as _Optimizer

class ChainedScheduler(LRScheduler):
    """Several schedulers at once, each applied to the result of the one before."""
    optimizer: _Optimizer
    def __init__(self, schedulers: _t.Any, optimizer: _Optimizer | None = None) -> None: ...
    def load_state_dict(self, state_dict: _t.Any) -> None:
        """Load another scheduler's state."""
    def state_dict(self) -> _t.Any: ...
    def step(self) -> None: ...

class ConstantLR(LRScheduler):
    """The rate times a factor for the first epochs."""
    factor: _b.float
    total_iters: _t.Any
    def __init__(self, optimizer: _Optimizer, factor: _b.float = 0.3333333333333333, total_iters: _t.Any = 5,
                 last_epoch: _b.int = -1) -> None: ...
    def get_lr(self) -> _t.Any: ...

class CosineAnnealingLR(LRScheduler):
    """Half cosines of T_max epochs from the initial rate down to eta_min and back."""
    T_max: _b.int
    eta_min: _b.float
    def __init__(self, optimizer: _Optimizer, T_max: _b.int, eta_min: _b.float = 0.0, last_epoch: _b.int = -1) -> None: ...
    def get_lr(self) -> _t.Any: ...

class CosineAnnealingWarmRestarts(LRScheduler):
    """Half cosines of T_0 epochs, each T_mult times as long as the one before."""
    T_0: _t.Any
    T_cur: _t.Any
    T_i: _t.Any
    T_mult: _t.Any
    eta_min: _b.float
    last_epoch: _t.Any
    def __init__(self, optimizer: _Optimizer, T_0: _t.Any, T_mult: _t.Any = 1, eta_min: _b.float = 0.0,
                 last_epoch: _b.int = -1) -> None: ...
    def get_lr(self) -> _b.list[_t.Any]: ...
    def step(self, epoch: _t.Any = None) -> None:
        """Go to the next epoch, or to a given one, also fractional."""

class CyclicLR(LRScheduler):
    """Linear cycles between base_lr and max_lr, with optionally shrinking amplitude."""
    base_lrs: _t.Any
    base_momentums: _t.Any
    cycle_momentum: _b.bool
    gamma: _b.float
    max_lrs: _t.Any
    max_momentums: _t.Any
    mode: _b.str
    scale_fn: _t.Any
    scale_mode: _b.str
    step_ratio: _t.Any
    total_size: _t.Any
    def __init__(self, optimizer: _Optimizer, base_lr: _t.Any, max_lr: _t.Any, step_size_up: _t.Any = 2000,
                 step_size_down: _t.Any = None, mode: _b.str = 'triangular', gamma: _b.float = 1.0,
                 scale_fn: _t.Any = None, scale_mode: _b.str = 'cycle', cycle_momentum: _b.bool = True,
                 base_momentum: _b.float = 0.8, max_momentum: _b.float = 0.9, last_epoch: _b.int = -1) -> None: ...
    def get_lr(self) -> _b.list[_t.Any]: ...
    def state_dict(self) -> _b.dict[_t.Any, _t.Any]:
        """Return the state without a scale function."""

class ExponentialLR(LRScheduler):
    """The rate times gamma each epoch."""
    gamma: _t.Any
    def __init__(self, optimizer: _Optimizer, gamma: _t.Any, last_epoch: _b.int = -1) -> None: ...
    def get_lr(self) -> _t.Any: ...

class LRScheduler:
    """Base of schedules. Subclasses define get_lr(), the rates of all groups at `last_epoch`, and optionally
    `_get_closed_form_lr()`."""
    base_lrs: _b.list[_t.Any]
    last_epoch: _t.Any
    def __init__(self, optimizer: _Optimizer, last_epoch: _b.int = -1) -> None: ...
    def load_state_dict(self, state_dict: _t.Any) -> None:
        """Load another scheduler's state."""
    def get_last_lr(self) -> _b.list[_b.float]:
        """Return the rates that were set last; tensor rates are independent_rate."""
    def get_lr(self) -> _b.list[_b.float]:
        """Return the current rates of all groups; subclasses define it."""
    optimizer: _t.Any
    def state_dict(self) -> _b.dict[_b.str, _t.Any]:
        """Return everything but the optimizer."""
    def step(self, epoch: _b.int | None = None) -> None:
        """Go to the next (or the given) epoch and set the rates."""

class LambdaLR(LRScheduler):
    """The initial rate times a function of the epoch."""
    lr_lambdas: _t.Any
    def __init__(self, optimizer: _Optimizer, lr_lambda: _t.Any, last_epoch: _b.int = -1) -> None: ...
    def get_lr(self) -> _b.list[_t.Any]: ...
    def load_state_dict(self, state_dict: _t.Any) -> None:
        """Load another scheduler's state; functions stay."""
    def state_dict(self) -> _t.Any:
        """Return the state without functions; callable objects keep their state."""

class LinearLR(LRScheduler):
    """The rate times a factor that changes linearly from start_factor to end_factor."""
    end_factor: _b.float
    start_factor: _b.float
    total_iters: _t.Any
    def __init__(self, optimizer: _Optimizer, start_factor: _b.float = 0.3333333333333333, end_factor: _b.float = 1.0,
                 total_iters: _t.Any = 5, last_epoch: _b.int = -1) -> None: ...
    def get_lr(self) -> _t.Any: ...

class MultiStepLR(LRScheduler):
    """The rate times gamma at each milestone."""
    gamma: _b.float
    milestones: _t.Any
    def __init__(self, optimizer: _Optimizer, milestones: _t.Any, gamma: _b.float = 0.1, last_epoch: _b.int = -1) -> None: ...
    def get_lr(self) -> _t.Any: ...

class MultiplicativeLR(LambdaLR):
    """The rate times a function of the epoch, every epoch."""
    def get_lr(self) -> _t.Any: ...

class OneCycleLR(LRScheduler):
    """One cycle over all steps: up to max_lr, then far below the initial rate."""
    cycle_momentum: _b.bool
    total_steps: _t.Any
    def __init__(self, optimizer: _Optimizer, max_lr: _t.Any, total_steps: _t.Any = None, epochs: _t.Any = None,
                 steps_per_epoch: _t.Any = None, pct_start: _b.float = 0.3, anneal_strategy: _b.str = 'cos',
                 cycle_momentum: _b.bool = True, base_momentum: _b.float = 0.85, max_momentum: _b.float = 0.95,
                 div_factor: _b.float = 25.0, final_div_factor: _b.float = 10000.0, three_phase: _b.bool = False,
                 last_epoch: _b.int = -1) -> None: ...
    def get_lr(self) -> _b.list[_t.Any]: ...

class PolynomialLR(LRScheduler):
    """The rate times (1 - epoch / total_iters) ** power."""
    power: _b.float
    total_iters: _t.Any
    def __init__(self, optimizer: _Optimizer, total_iters: _t.Any = 5, power: _b.float = 1.0, last_epoch: _b.int = -1) -> None: ...
    def get_lr(self) -> _t.Any: ...

class ReduceLROnPlateau(LRScheduler):
    """A lower rate after a metric has not improved for some epochs."""
    best: _t.Any
    cooldown: _t.Any
    cooldown_counter: _t.Any
    eps: _b.float
    factor: _b.float
    last_epoch: _t.Any
    min_lrs: _t.Any
    mode: _b.str
    num_bad_epochs: _b.int
    optimizer: _Optimizer
    patience: _t.Any
    threshold: _b.float
    threshold_mode: _b.str
    def __init__(self, optimizer: _Optimizer, mode: _b.str = 'min', factor: _b.float = 0.1, patience: _t.Any = 10,
                 threshold: _b.float = 0.0001, threshold_mode: _b.str = 'rel', cooldown: _t.Any = 0,
                 min_lr: _t.Any = 0, eps: _b.float = 1e-08) -> None: ...
    @_b.property
    def in_cooldown(self) -> _t.Any:
        """Return whether the rate was lowered less than `cooldown` epochs ago."""
    def is_better(self, a: _t.Any, best: _t.Any) -> _t.Any:
        """Return whether a metric is an improvement."""
    def step(self, metrics: _t.Any, epoch: _t.Any = None) -> None: ...

class SequentialLR(LRScheduler):
    """Several schedulers in sequence, from milestone to milestone."""
    last_epoch: _t.Any
    optimizer: _Optimizer
    def __init__(self, optimizer: _Optimizer, schedulers: _t.Any, milestones: _t.Any, last_epoch: _b.int = -1) -> None: ...
    def load_state_dict(self, state_dict: _t.Any) -> None:
        """Load another scheduler's state."""
    def state_dict(self) -> _t.Any: ...
    def step(self) -> None:
        """Step the active scheduler."""

class StepLR(LRScheduler):
    """The rate times gamma every step_size epochs."""
    gamma: _b.float
    step_size: _b.int
    def __init__(self, optimizer: _Optimizer, step_size: _b.int, gamma: _b.float = 0.1, last_epoch: _b.int = -1) -> None: ...
    def get_lr(self) -> _t.Any: ...
