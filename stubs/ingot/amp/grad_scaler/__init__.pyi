"""GradScaler: scales losses so that float16 gradients do not vanish, and gradients back before the step."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot import GradScaler as GradScaler
import enum as _enum

class OptState(_enum.Enum):
    """Stage of an optimizer's gradients since the last update()."""
    READY = 0
    UNSCALED = 1
    STEPPED = 2
