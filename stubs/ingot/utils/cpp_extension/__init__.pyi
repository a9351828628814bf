"""`ingot.utils.cpp_extension`: refusals, since ingot has no C++ to link extensions with. Programs with a fallback go on."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t

CUDA_HOME: _t.Any

class BuildExtension:
    """A setuptools command; its constructor raises."""
    def __init__(self, /, *args: _t.Any, **kwargs: _t.Any) -> None:
        """Refused, with what to use instead."""
    @_b.classmethod
    def with_options(cls, /, *args: _t.Any, **kwargs: _t.Any) -> _t.Any:
        """Refused, with what to use instead."""

def CUDAExtension(*args: _t.Any, **kwargs: _t.Any) -> _t.Any:
    """Refused, with what to use instead."""
def CppExtension(*args: _t.Any, **kwargs: _t.Any) -> _t.Any:
    """Refused, with what to use instead."""
def include_paths(*args: _t.Any, **kwargs: _t.Any) -> _t.Any:
    """Refused, with what to use instead."""
def load(*args: _t.Any, **kwargs: _t.Any) -> _t.Any:
    """Refused, with what to use instead."""
def load_inline(*args: _t.Any, **kwargs: _t.Any) -> _t.Any:
    """Refused, with what to use instead."""
