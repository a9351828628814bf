"""What users call: arguments as PyTorch has them, turned into calls of operator records.

The modules that nearly every program uses load with ingot. The others (`LATE`) load together when a name is asked for that
is not there yet, on the module or on a tensor: see `load_rest`.
"""

import importlib

from .. import printing
from ..tensor import when_missing
from . import autograd, context, convert, creation, elementwise, exchange, indexing, linalg, operators, reduce, shape
from .register import FUNCTIONS

LATE = ("conv", "distance", "einsum", "gather", "image", "info", "join", "legacy", "matrix", "nn", "norm",
        "order", "pool", "random", "restride", "scan", "sort", "sparse", "statistics")

__all__ = ["FUNCTIONS", "LATE", "autograd", "context", "convert", "creation", "elementwise", "indexing",
           "linalg", "load_rest", "operators", "printing", "reduce", "shape"]

_loaded = False


def load_rest() -> bool:
    """Loads the late modules; True the first time."""
    global _loaded
    if _loaded:
        return False
    _loaded = True
    for name in LATE:
        importlib.import_module(f"{__name__}.{name}")
    return True


when_missing(load_rest)
FUNCTIONS.late = load_rest
