"""ingot: eager tensors with automatic differentiation and a tracing JIT compiler."""

import importlib as _importlib

from . import paths as _paths
from .ir.dtype import ALL as _DTYPES
from .ir.errors import IngotError
from .runtime import api as _api
from .runtime.api.register import FUNCTIONS as _FUNCTIONS
from .runtime.tensor import Size, Tensor

__version__ = "0.1.0"

_paths.install()
globals().update({d.name: d for d in _DTYPES}, **_FUNCTIONS)

__all__ = sorted({"IngotError", "Size", "Tensor", *(d.name for d in _DTYPES), *_FUNCTIONS,
                  *(p for p in _paths.PUBLIC if "." not in p)})


def __getattr__(name):
    if name in _paths.PUBLIC or name == "jit":
        return _importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return __all__
