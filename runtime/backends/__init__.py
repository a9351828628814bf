"""`ingot.backends`, `ingot.accelerator`, `ingot.cpu`, `ingot.xpu`: queries about devices and libraries, and switches that
programs set.

Way in: each module by itself. A switch either sets `state/float32_precision` (TF32 in products and convolutions) or changes
nothing, as its docstring says. `disable_global_flags` freezes the switches.
"""

import sys

from ..state import float32_precision
from . import absent_libraries, cpu, cuda, cudnn, mha, mkldnn, mps, quantized
from .switch_board import SwitchBoard, frozen, switched

# Optional parts of PyTorch's builds, under their top-level names.
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
    """Allow changes of the switches of cudnn, mkldnn and all backends by `flags()` alone from now on."""
    frozen.set(True)


def flags_frozen() -> bool:
    """Return whether disable_global_flags() was called."""
    return frozen.get()


def flags(fp32_precision="none"):
    """Set the default precision of float32 products inside."""
    return switched(sys.modules[__name__], {"fp32_precision": fp32_precision})
