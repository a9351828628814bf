"""`ingot.utils.cpp_extension`: refusals, since ingot has no C++ to link extensions with. Programs with a fallback go on."""

from ...ir.errors import IngotError
from ..backends.unavailable_functions import refused

__all__ = ["CUDA_HOME", "BuildExtension", "CUDAExtension", "CppExtension", "include_paths", "load", "load_inline"]

CUDA_HOME = None


_INSTEAD = ("ingot has no C++ to build an extension with; write the operator in Python (library.custom_op registers it, with "
            "its gradient), under jit.trace where it has to be fast")


class ExtensionError(IngotError, RuntimeError):
    """A C++ extension was requested."""


def _refused(name: str):
    return refused(ExtensionError, f"utils.cpp_extension.{name}", _INSTEAD)


class BuildExtension:
    """A setuptools command; its constructor raises."""

    __init__ = _refused("BuildExtension")
    with_options = classmethod(_refused("BuildExtension"))


CUDAExtension, CppExtension, include_paths, load, load_inline = map(
    _refused, ("CUDAExtension", "CppExtension", "include_paths", "load", "load_inline"))
