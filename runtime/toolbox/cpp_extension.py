"""`ingot.utils.cpp_extension`: operators in C++ are not there, as there is no C++ to link with. Programs that try to
build one, and do without where that fails, go on."""

from ...ir.errors import IngotError

__all__ = ["CUDA_HOME", "BuildExtension", "CUDAExtension", "CppExtension", "include_paths", "load", "load_inline"]

CUDA_HOME = None


def _refused(name: str):
    def call(*args, **kwargs):
        raise ExtensionError(f"utils.cpp_extension.{name}: ingot has no C++ to build an extension with; write the operator in "
                             "Python (ingot.library registers it, with its gradient), under jit.trace where it has to be fast")

    call.__name__ = call.__qualname__ = name
    call.__doc__ = "Refused, with what to use instead."
    return call


class ExtensionError(IngotError, RuntimeError):
    """An extension in C++ was asked for."""


class BuildExtension:
    """A command of setuptools. Refused, with what to use instead."""

    __init__ = _refused("BuildExtension")
    with_options = classmethod(_refused("BuildExtension"))


CUDAExtension, CppExtension, include_paths, load, load_inline = map(
    _refused, ("CUDAExtension", "CppExtension", "include_paths", "load", "load_inline"))
