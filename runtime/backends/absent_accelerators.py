"""`ingot.xpu`, `ingot.mps` and `ingot.mtia`: accelerators that ingot does not use. Programs ask whether there is one."""

from typing import Any

from ...ir.errors import DeviceError

__all__ = ["current_device", "device_count", "empty_cache", "is_available", "is_initialized", "manual_seed", "manual_seed_all",
           "seed", "set_device", "synchronize"]


def is_available() -> bool:
    """False."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


def device_count() -> int:
    """None is used."""
    return 0


def _is_in_bad_fork() -> bool:
    """False."""
    return False


def empty_cache() -> None:
    """Does nothing: no memory is kept there."""


def manual_seed(seed: int) -> None:
    """Does nothing: nothing is drawn there. One seed is for all devices: see `ingot.manual_seed`."""


manual_seed_all = manual_seed


def seed() -> None:
    """Does nothing: nothing is drawn there."""


def current_device(*args: Any) -> int:
    """Refused: there is none."""
    raise DeviceError("ingot uses no accelerators but GPUs of NVIDIA's; tensors can be on the CPU and on 'cuda'")


set_device = synchronize = current_device
