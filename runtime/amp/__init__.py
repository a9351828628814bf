"""`ingot.amp`: mixed precision by autocast and gradient scaling.

Way in: `autocast`, `GradScaler`. Operators declare their precision by traits; this room names none.
"""

from . import autocast_mode, grad_scaler
from .autocast_mode import autocast, is_autocast_available
from .custom_function import custom_bwd, custom_fwd
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "autocast_mode", "custom_bwd", "custom_fwd", "grad_scaler", "is_autocast_available"]
