"""What users call: arguments as PyTorch has them, turned into calls of operator records.

The modules that nearly every program uses load with ingot. The others (`LATE`) load together when a name is asked for that
is not there yet, on the module or on a tensor (which has a `LateMethod` in its place): see `load_rest`. Functions that the top
level shares with `nn.functional` (`TWINS`) bring the modules of networks with them, so they load only when a name is not there
even then.
"""

import importlib
import sys
import threading

from .. import printing
from . import (
    autograd,
    context,
    convert,
    counting,
    creation,
    elementwise,
    exchange,
    indexing,
    limits,
    linalg,
    operators,
    reduce,
    shape,
    subclasses,
    ufuncs,
)
from .late import LateMethod, stand_for
from .late_methods import NAMES
from .register import FUNCTIONS

LATE = ("amp", "chain", "complexes", "composed", "control", "conv", "copies", "distance", "einsum", "fills", "foreach",
        "gather", "grouped", "image", "info", "join", "legacy", "matrix", "nn", "norm", "order", "pool", "quantize",
        "quantized_dtypes", "random", "restride", "sampled", "scaled", "scan", "scripts", "segments", "sharing", "sort",
        "sparse", "spectral", "statistics", "storages", "symbols", "window")

TWINS = __name__.replace("runtime.api", "runtime.nn.twins")

__all__ = ["FUNCTIONS", "LATE", "TWINS", "LateMethod", "autograd", "context", "convert", "counting", "creation", "elementwise",
           "exchange", "indexing", "limits", "linalg", "load_rest", "load_twins", "operators", "printing", "reduce", "shape",
           "subclasses", "ufuncs"]

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


def load_twins() -> None:
    """Loads the functions that the top level shares with `nn.functional`."""
    importlib.import_module(TWINS)


for _name in NAMES:
    stand_for(_name, load_rest)
FUNCTIONS.late = (load_rest, load_twins)
