"""`ingot.cuda.amp`: `ingot.amp` for CUDA devices."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
import numpy as _np
from ingot import GradScaler as _GradScaler
from ingot import autocast as _autocast
from ingot import dtype as _dtype

_Decorated = _t.TypeVar("_Decorated", bound=_c.Callable[..., _t.Any])

def custom_bwd(bwd: _t.Any = None, *, device_type: _b.str = 'cuda') -> _t.Any:
    """partial(func, *args, **keywords) - new function with partial application of the given arguments and keywords."""
def custom_fwd(fwd: _t.Any = None, *, device_type: _b.str = 'cuda', cast_inputs: _t.Any = None) -> _t.Any:
    """partial(func, *args, **keywords) - new function with partial application of the given arguments and keywords."""

class GradScaler(_GradScaler):
    """Same as `ingot.amp.GradScaler("cuda", ...)`."""
    def __init__(self, init_scale: _b.float = 65536.0, growth_factor: _b.float = 2.0, backoff_factor: _b.float = 0.5,
                 growth_interval: _t.Any = 2000, enabled: _b.bool = True) -> None: ...

class autocast(_autocast):
    """Same as `ingot.amp.autocast("cuda", ...)`."""
    def __init__(self, enabled: _b.bool = True,
                 dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
                 cache_enabled: _t.Any = None) -> None: ...
    def __call__(self, fn: _Decorated) -> _Decorated: ...
    def __enter__(self) -> _t.Any: ...
    def __exit__(self, *error: _t.Any) -> None: ...
