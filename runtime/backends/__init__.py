"""`ingot.backends`: what the libraries that users ask about are here, and the switches that scripts set."""

import sys

from ..core import float32_precision
from . import absent_libraries, cpu, cuda, cudnn, mha, mkldnn, mps, quantized
from .switch_board import Freezing, SwitchBoard, switched

# What PyTorch's builds may lack, by the names that programs ask for at the top level.
has_lapack = True           # linear algebra is ingot's own
has_mkl = has_mkldnn = has_openmp = False
mkl = openmp = opt_einsum = absent_libraries

fp32_precision: str

__all__ = ["cpu", "cuda", "cudnn", "disable_global_flags", "flags", "flags_frozen", "fp32_precision", "mha", "mkl", "mkldnn",
           "mps", "openmp", "opt_einsum", "quantized"]


class _Board(SwitchBoard):
    SWITCHES = ("fp32_precision",)
    fp32_precision = float32_precision.switch(*float32_precision.GENERIC)


sys.modules[__name__].__class__ = _Board


def disable_global_flags():
    """From now on switches of cudnn, mkldnn and all backends are set by `flags()` alone, which sets them back."""
    Freezing.is_on = True


def flags_frozen() -> bool:
    """Return whether disable_global_flags() was called."""
    return Freezing.is_on


def flags(fp32_precision="none"):
    """Set how float32 is multiplied where nothing more particular was said, inside."""
    return switched(sys.modules[__name__], {"fp32_precision": fp32_precision})
