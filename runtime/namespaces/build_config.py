"""`ingot.__config__`: the description of this machine and its libraries. Kernels are compiled for this machine, not in
advance."""

import platform

import numpy as np

from ...ir import target
from ...ir.version import VERSION
from ..api.register.process_settings import get_num_threads

__all__ = ["parallel_info", "show"]


def show() -> str:
    """Return the components of the runtime, one per line."""
    host = target.host()
    return "\n".join([f"ingot {VERSION} with:",
                      f"  - Python {platform.python_version()}",
                      f"  - numpy {np.__version__}",
                      f"  - CPU capability usage: {host.level} ({host.arch}, vectors of {host.vector_bytes * 8} bits)",
                      "  - Build settings: USE_CUDA=DRIVER, USE_MKL=OFF, USE_MKLDNN=OFF, USE_OPENMP=OFF", ""])


def parallel_info() -> str:
    """Return the number of threads that compute."""
    return f"threads of kernels: {get_num_threads()}\n"
