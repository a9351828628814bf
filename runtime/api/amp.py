"""Autocast among the functions of `ingot.*`."""

from ..amp import autocast_mode as modes
from .register import FUNCTIONS

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


for _f in (is_autocast_cpu_enabled, get_autocast_cpu_dtype, get_autocast_gpu_dtype):
    FUNCTIONS[_f.__name__] = _f
