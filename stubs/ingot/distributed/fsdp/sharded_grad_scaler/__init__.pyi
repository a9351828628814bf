"""Gradient scaling with sharded gradients: all ranks skip a step if any has gradients that are not finite."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot import GradScaler as _GradScaler
from ingot import device as _device

class ShardedGradScaler(_GradScaler):
    """GradScaler for FullyShardedDataParallel; every rank calls it."""
    process_group: _t.Any
    def __init__(self, device: _device | _b.str | _b.int = 'cuda', init_scale: _b.float = 65536.0,
                 backoff_factor: _b.float = 0.5, growth_factor: _b.float = 2.0, growth_interval: _t.Any = 2000,
                 enabled: _b.bool = True, process_group: _t.Any = None) -> None: ...
    def scale(self, outputs: _t.Any) -> _t.Any:
        """Multiply a loss, or losses in lists and tuples, by the scale, keeping the dtype."""
