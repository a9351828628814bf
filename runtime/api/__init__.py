"""What users call: arguments as PyTorch has them, turned into calls of operator records.

The modules that nearly every program uses load with ingot. The others (`LATE`) load together when a name is asked for that
is not there yet, on the module or on a tensor: see `load_rest`.
"""

import importlib
import sys
import threading

from .. import printing
from ..tensor import when_missing
from . import autograd, context, convert, creation, elementwise, exchange, indexing, linalg, operators, reduce, shape
from .register import FUNCTIONS

LATE = ("amp", "conv", "distance", "einsum", "gather", "image", "info", "join", "legacy", "matrix", "nn", "norm",
        "order", "pool", "random", "restride", "sampled", "scan", "sharing", "sort", "sparse", "statistics")

__all__ = ["FUNCTIONS", "LATE", "autograd", "context", "convert", "creation", "elementwise", "exchange", "indexing",
           "linalg", "load_rest", "operators", "printing", "reduce", "shape"]

_loaded = False
_loading = threading.RLock()     # re-entrant: a late module may ask for a name of another one


def load_rest() -> bool:
    """Loads the late modules; True the first time."""
    global _loaded
    if _loaded:
        return False
    with _loading:
        missing = [n for n in LATE if f"{__name__}.{n}" not in sys.modules]
        for name in missing:
            importlib.import_module(f"{__name__}.{name}")
        _loaded = True
    return bool(missing)


when_missing(load_rest)
FUNCTIONS.late = load_rest
