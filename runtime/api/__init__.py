"""Public functions: arguments as PyTorch has them, turned into calls of operator records.

The modules that nearly every program uses load with ingot. The others (`LATE`) load together when a name is asked for that
is not there yet, on the module or on a tensor (which has a `LateMethod` in its place): see `load_rest`. Functions that the top
level shares with `nn.functional` (`TWINS`) bring the modules of networks with them, so they load only when a name is not there
even then.
"""

import importlib
import sys
import threading

from ..core import printing
from ..interop import device_functions as exchange
from ..interop import numpy_ufuncs as ufuncs
from .math import clamp as limits
from .math import elementwise
from .math import matrix_products as linalg
from .math import python_operators as operators
from .math import reductions as reduce
from .register import gradient_methods as autograd
from .register import modes_and_constants as context
from .register.lazy_method_names import NAMES
from .register.lazy_methods import LateMethod, stand_for
from .register.register import FUNCTIONS
from .tensor_classes import subclasses
from .views import conversions as convert
from .views import indexing
from .views import ranges as counting
from .views import reshaping as shape
from .views import tensor_factories as creation

_RUNTIME = __name__.rpartition(".")[0]
LATE = ("amp.autocast_functions", "api.math.multi_dot", "api.math.complex_numbers", "api.math.composite_elementwise",
        "func.control_flow", "api.nn.convolution", "api.views.view_copies", "api.nn.distances", "api.math.einsum",
        "api.random.inplace_random", "foreach.foreach_functions", "api.views.gather_scatter", "api.math.grouped_mm",
        "api.nn.pixel_shuffle", "namespaces.top_level_info", "api.views.join_split", "api.tensor_classes.legacy_types",
        "linalg.top_level_linalg", "api.nn.activations", "api.nn.normalization", "api.views.flip_roll", "api.nn.pooling",
        "api.nn.quantize_dequantize", "api.register.quantized_dtypes", "api.random.random_tensors",
        "api.views.storage_views", "api.math.gradient_and_histogram", "api.math.scaled_mm", "api.math.cumulative",
        "namespaces.legacy_functions", "api.math.segment_reduce", "multiprocessing.sharing_methods", "api.math.sort",
        "api.sparse", "signal.stft", "api.math.statistics", "api.tensor_classes.typed_storage", "api.math.symbolic_numbers",
        "signal.window_functions")

TWINS = f"{_RUNTIME}.nn.layers.top_level_functional"

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
        missing = [n for n in LATE if f"{_RUNTIME}.{n}" not in sys.modules]
        for name in missing:
            importlib.import_module(f"{_RUNTIME}.{name}")
        _loaded = True
    return bool(missing)


def load_twins() -> None:
    """Loads the functions that the top level shares with `nn.functional`."""
    importlib.import_module(TWINS)


for _name in NAMES:
    stand_for(_name, load_rest)
FUNCTIONS.late = (load_rest, load_twins)
