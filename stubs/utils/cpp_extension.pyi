"""The names of `ingot.utils.cpp_extension`, and functions that factories build.

Made by `make stubs` from the live package; not edited by hand.
"""

from typing import Any

from ..runtime.toolbox.cpp_extension import BuildExtension as BuildExtension
from ..runtime.toolbox.cpp_extension import CUDA_HOME as CUDA_HOME

def CUDAExtension(*args, **kwargs) -> Any:
    """Refused, with what to use instead."""
def CppExtension(*args, **kwargs) -> Any:
    """Refused, with what to use instead."""
def include_paths(*args, **kwargs) -> Any:
    """Refused, with what to use instead."""
def load(*args, **kwargs) -> Any:
    """Refused, with what to use instead."""
def load_inline(*args, **kwargs) -> Any:
    """Refused, with what to use instead."""
