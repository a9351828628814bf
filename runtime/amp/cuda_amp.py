"""`ingot.cuda.amp`: `ingot.amp` for CUDA devices."""

import functools

from . import autocast_mode, custom_function, grad_scaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(autocast_mode.autocast):
    """Same as `ingot.amp.autocast("cuda", ...)`."""

    def __init__(self, enabled=True, dtype=None, cache_enabled=None):
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(grad_scaler.GradScaler):
    """Same as `ingot.amp.GradScaler("cuda", ...)`."""

    def __init__(self, init_scale=2.0 ** 16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


custom_fwd = functools.partial(custom_function.custom_fwd, device_type="cuda")
custom_bwd = functools.partial(custom_function.custom_bwd, device_type="cuda")
