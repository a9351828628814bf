"""ingot: eager tensors with automatic differentiation and a tracing JIT compiler."""

import importlib as _importlib
import sys as _sys

from . import paths as _paths
from .ir.doors import door as _door
from .ir.dtype import ALL as _DTYPES
from .ir.error_texts import shown_errors as _shown_errors
from .ir.errors import IngotError as IngotError
from .ir.suggestions import unknown_name as _unknown_name
from .ir.version import VERSION as _VERSION
from .runtime import api as _api
from .runtime.api.register.register import FUNCTIONS as _FUNCTIONS
from .runtime.core.tensor import Size as Size
from .runtime.core.tensor import Tensor as Tensor
from .runtime.state.mode import COMPILERS as _COMPILERS

__version__ = _VERSION

_LATE = {"DeviceObjType": "types", "Event": "cuda", "Future": "futures", "GradScaler": "amp",
         "PyTorchFileReader": "serialization", "ScriptModule": "jit", "Stream": "cuda", "Tag": "library", "TensorType": "types",
         "compile": "jit.tracing.compiler"}
_BUILT_WITH = frozenset({"has_lapack", "has_mkl", "has_mkldnn", "has_openmp"})

# Names of NumPy that programs try here, and what does it.
_NUMPY_NAMES = {"array": "ingot.tensor()", "expand_dims": "unsqueeze()", "ndarray": "ingot.Tensor", "newaxis": "None",
                "power": "ingot.pow()"}

_paths.install()
_shown_errors.install()
globals().update({d.name: d for d in _DTYPES}, **_FUNCTIONS)


@_door
def __getattr__(name):
    """Load modules, and functions that few programs need (`runtime/api`), on first use."""
    if name in ("generation", "jit") or name in _paths.PUBLIC or name in _paths.PRIVATE:
        return _importlib.import_module(f"{__package__}.{name}")
    if name in _LATE:
        return getattr(_importlib.import_module(f"{__package__}.{_LATE[name]}"), name)
    if name in _BUILT_WITH:
        return getattr(_importlib.import_module(f"{__package__}.backends"), name)
    if name == "torch":                     # `from torch import torch`, where torch is ingot
        return _sys.modules[__package__]
    if name == "__all__":
        _api.load_rest()
        _api.load_twins()
        return sorted({"IngotError", "Size", "Tensor", "generation", "jit", *_LATE, *(d.name for d in _DTYPES), *_FUNCTIONS,
                       *(path for path in _paths.PUBLIC if "." not in path and path[0] != "_")})
    try:
        found = _FUNCTIONS[name]
    except KeyError:
        hint = f"; use {_NUMPY_NAMES[name]}" if name in _NUMPY_NAMES else ""
        raise _unknown_name(_sys.modules[__package__], name, __name__, hint) from None
    globals().update({other: fn for other, fn in _FUNCTIONS.items() if other not in globals()})     # set names stay
    return found


_COMPILERS.append(lambda *args, **kwargs: __getattr__("compile")(*args, **kwargs))


def __dir__():
    return __getattr__("__all__")
