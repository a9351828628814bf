"""`ingot.xpu`, `ingot.mps` and `ingot.mtia`: accelerators that ingot does not use. Programs query their presence."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t

def current_device(*args: _t.Any) -> _b.int:
    """Raise: there is no such device."""
def device_count() -> _b.int:
    """Return 0."""
def empty_cache() -> None:
    """Do nothing: there is no cache."""
def is_available() -> _b.bool:
    """Return False."""
def manual_seed(seed: _b.int) -> None:
    """Do nothing: these devices draw nothing. `ingot.manual_seed` seeds all devices."""
def seed() -> None:
    """Do nothing: these devices draw nothing."""

is_initialized = is_available
manual_seed_all = manual_seed
set_device = current_device
synchronize = current_device
