"""`ingot.backends`, `ingot.accelerator`, `ingot.cpu`, `ingot.xpu`: queries about devices and libraries, and switches that
programs set."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot.backends import cpu as cpu
from ingot.backends import cuda as cuda
from ingot.backends import cudnn as cudnn
from ingot.backends import mha as mha
from ingot.backends import mkl as mkl
from ingot.backends import mkldnn as mkldnn
from ingot.backends import mps as mps
from ingot.backends import openmp as openmp
from ingot.backends import opt_einsum as opt_einsum
from ingot.backends import quantized as quantized

fp32_precision: _b.str
def disable_global_flags() -> None:
    """Allow changes of the switches of cudnn, mkldnn and all backends by `flags()` alone from now on."""
def flags(fp32_precision: _b.str = 'none') -> _t.Any:
    """Set the default precision of float32 products inside."""
def flags_frozen() -> _b.bool:
    """Return whether disable_global_flags() was called."""
