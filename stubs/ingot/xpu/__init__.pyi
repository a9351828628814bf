"""`ingot.xpu`, `ingot.mps` and `ingot.mtia`: accelerators that ingot does not use. Programs query their presence."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.mps import current_device as _current_device
from ingot.mps import current_device as current_device
from ingot.mps import device_count as device_count
from ingot.mps import empty_cache as empty_cache
from ingot.mps import is_available as _is_available
from ingot.mps import is_available as is_available
from ingot.mps import manual_seed as _manual_seed
from ingot.mps import manual_seed as manual_seed
from ingot.mps import seed as seed

is_initialized = _is_available
manual_seed_all = _manual_seed
set_device = _current_device
synchronize = _current_device
