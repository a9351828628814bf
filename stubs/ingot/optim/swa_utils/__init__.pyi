"""Averages of model parameters: stochastic weight averaging and exponential moving averages."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot import Tensor as _Tensor
from ingot import device as _device
from ingot.nn import Module as _Module
from ingot.optim import Optimizer as _Optimizer
from ingot.optim.lr_scheduler import LRScheduler as _LRScheduler

class AveragedModel(_Module):
    """A copy of a model with averaged parameters; `update_parameters(model)` adds the current ones. The average is the
    mean, avg_fn(averaged, current, number), or multi_avg_fn on lists."""
    avg_fn: _t.Any
    module: _t.Any
    multi_avg_fn: _t.Any
    n_averaged: _Tensor
    use_buffers: _b.bool
    def __init__(self, model: _t.Any, device: _device | _b.str | _b.int | None = None, avg_fn: _t.Any = None,
                 multi_avg_fn: _t.Any = None, use_buffers: _b.bool = False) -> None: ...
    def forward(self, *args: _t.Any, **kwargs: _t.Any) -> _Tensor: ...
    def update_parameters(self, model: _t.Any) -> None:
        """Add the model's current parameters to the average."""

class SWALR(_LRScheduler):
    """A schedule from the current rates to `swa_lr` within anneal_epochs steps, on a cosine or a line."""
    anneal_epochs: _t.Any
    def __init__(self, optimizer: _Optimizer, swa_lr: _t.Any, anneal_epochs: _t.Any = 10,
                 anneal_strategy: _b.str = 'cos', last_epoch: _b.int = -1) -> None: ...
    def get_lr(self) -> _t.Any:
        """Return the current rates of all groups."""

def get_ema_avg_fn(decay: _b.float = 0.999) -> _t.Any:
    """Return an avg_fn for AveragedModel: an exponential moving average."""
def get_ema_multi_avg_fn(decay: _b.float = 0.999) -> _t.Any:
    """Return a multi_avg_fn for AveragedModel: an exponential moving average."""
def get_swa_avg_fn() -> _t.Any:
    """Return an avg_fn for AveragedModel: the mean."""
def get_swa_multi_avg_fn() -> _t.Any:
    """Return a multi_avg_fn for AveragedModel: the mean."""
def update_bn(loader: _t.Any, model: _t.Any, device: _device | _b.str | _b.int | None = None) -> None:
    """Recompute the running statistics of all batch norms from the inputs of `loader`."""
