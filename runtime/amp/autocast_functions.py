"""Autocast among the functions of `ingot.*`."""

from ..api.register.register import FUNCTIONS
from . import autocast_mode as modes

for _f in (modes.autocast, modes.clear_autocast_cache, modes.get_autocast_dtype, modes.is_autocast_available,
           modes.is_autocast_cache_enabled, modes.is_autocast_enabled, modes.set_autocast_cache_enabled,
           modes.set_autocast_dtype, modes.set_autocast_enabled):
    FUNCTIONS[_f.__name__] = _f


def is_autocast_cpu_enabled() -> bool:
    """Whether autocast is on for the CPU."""
    return modes.is_autocast_enabled("cpu")


def get_autocast_cpu_dtype():
    """The low dtype that autocast uses on the CPU."""
    return modes.get_autocast_dtype("cpu")


def get_autocast_gpu_dtype():
    """The low dtype that autocast uses on CUDA devices."""
    return modes.get_autocast_dtype("cuda")


def set_autocast_cpu_enabled(enabled: bool):
    """Switches autocast for the CPU on or off."""
    modes.set_autocast_enabled("cpu", enabled)


def set_autocast_cpu_dtype(dtype):
    """Sets the low dtype that autocast uses on the CPU."""
    modes.set_autocast_dtype("cpu", dtype)


def set_autocast_gpu_dtype(dtype):
    """Sets the low dtype that autocast uses on CUDA devices."""
    modes.set_autocast_dtype("cuda", dtype)


for _f in (is_autocast_cpu_enabled, get_autocast_cpu_dtype, get_autocast_gpu_dtype, set_autocast_cpu_enabled,
           set_autocast_cpu_dtype, set_autocast_gpu_dtype):
    FUNCTIONS[_f.__name__] = _f
