"""`ingot.cpu.amp`: `ingot.amp` for the CPU."""

from ...ir import dtype as dt
from . import autocast_mode, grad_scaler

__all__ = ["GradScaler", "autocast"]


class autocast(autocast_mode.autocast):
    """Same as `ingot.amp.autocast("cpu", ...)`."""

    def __init__(self, enabled=True, dtype=dt.bfloat16, cache_enabled=True):
        super().__init__("cpu", dtype, enabled, cache_enabled)


class GradScaler(grad_scaler.GradScaler):
    """Same as `ingot.amp.GradScaler("cpu", ...)`."""

    def __init__(self, init_scale=2.0 ** 16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
