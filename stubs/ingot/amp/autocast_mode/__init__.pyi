"""autocast: products run in a low precision, operators that need range in float32, all others in their dtypes."""

# Made by `make stubs` from the live package; not edited by hand.

import typing as _t
from ingot import autocast as autocast
from ingot import is_autocast_available as is_autocast_available

def autocast_decorator(autocast_instance: _t.Any, func: _t.Any) -> _t.Any:
    """Return a function that runs inside an autocast."""
