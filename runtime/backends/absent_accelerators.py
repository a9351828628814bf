"""`ingot.xpu`, `ingot.mps` and `ingot.mtia`: accelerators that ingot does not use. Programs query their presence."""

from typing import Any

from ...ir.errors import DeviceError

__all__ = ["current_device", "device_count", "empty_cache", "is_available", "is_initialized", "manual_seed", "manual_seed_all",
           "seed", "set_device", "synchronize"]


def is_available() -> bool:
    """Return False."""
    return False


is_initialized = is_available


def device_count() -> int:
    """Return 0."""
    return 0


def empty_cache() -> None:
    """Do nothing: there is no cache."""


def manual_seed(seed: int) -> None:
    """Do nothing: these devices draw nothing. `ingot.manual_seed` seeds all devices."""


manual_seed_all = manual_seed


def seed() -> None:
    """Do nothing: these devices draw nothing."""


def current_device(*args: Any) -> int:
    """Raise: there is no such device."""
    raise DeviceError("ingot uses no accelerators but GPUs of NVIDIA's; tensors can be on the CPU and on 'cuda'")


set_device = synchronize = current_device
