"""`ingot.amp`: mixed precision by autocast and gradient scaling."""

# Made by `make stubs` from the live package; not edited by hand.

import typing as _t
from ingot import GradScaler as GradScaler
from ingot import autocast as autocast
from ingot import is_autocast_available as is_autocast_available
from ingot.amp import autocast_mode as autocast_mode
from ingot.amp import grad_scaler as grad_scaler

def custom_bwd(bwd: _t.Any = None, *, device_type: _t.Any) -> _t.Any:
    """Decorate `backward` of a Function with custom_fwd: it runs under the autocast of forward."""
def custom_fwd(fwd: _t.Any = None, *, device_type: _t.Any, cast_inputs: _t.Any = None) -> _t.Any:
    """Decorate `forward` of a Function. With `cast_inputs`, under autocast its inputs are cast to that dtype and autocast
    is off inside."""
