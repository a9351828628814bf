"""Public functions: PyTorch's arguments, turned into calls of operator records.

Modules that nearly every program uses load with ingot. The others (`LATE`) load together (`load_rest`) when a missing name is
used, on the module or on a tensor, which has a `LateMethod` in its place. Functions that the top level shares with
`nn.functional` (`TWINS`) import the modules of networks, so they load last.
"""

import importlib
import sys

from ...ir.doors import give_doors, give_methods_doors
from ...ir.locks import new_rlock
from ..core import printing
from ..core.tensor import Tensor
from ..interop import numpy_ufuncs, tensor_protocols
from .math import clamp, elementwise, matrix_products, python_operators, reductions
from .register import modes_and_constants
from .register.lazy_method_names import NAMES
from .register.lazy_methods import LateMethod, stand_for
from .register.register import FUNCTIONS, give_named_doors
from .tensor_classes import absent_methods, subclasses
from .views import conversions, indexing, ranges, reshaping, tensor_factories

_RUNTIME = __name__.rpartition(".")[0]
LATE = ("amp.autocast_mode", "api.math.complex_numbers", "api.math.composite_elementwise",
        "func.control_flow", "api.nn.convolution", "api.views.view_copies", "api.nn.distances", "api.math.einsum",
        "api.random.inplace_random", "foreach.foreach_functions", "api.views.gather_scatter", "api.nn.pixel_shuffle",
        "namespaces.top_level_info", "api.views.join_split", "api.tensor_classes.legacy_types", "linalg.top_level_linalg",
        "api.nn.activations", "api.nn.normalization", "api.views.flip_roll", "api.nn.pooling",
        "api.nn.quantize_dequantize", "api.register.quantized_dtypes", "api.random.random_tensors",
        "api.views.storage_views", "api.math.numerical_gradient", "api.math.scaled_mm", "api.math.cumulative",
        "namespaces.legacy_functions", "api.math.segment_reduce", "multiprocessing.shared_tensors", "api.math.sort",
        "api.sparse", "signal.stft", "api.math.statistics", "api.tensor_classes.typed_storage",
        "api.math.symbolic_numbers", "signal.window_functions")

TWINS = f"{_RUNTIME}.nn.layers.top_level_functions"

__all__ = ["FUNCTIONS", "LATE", "TWINS", "LateMethod", "absent_methods",
           "clamp", "conversions", "elementwise", "indexing", "load_rest",
           "load_twins", "matrix_products", "modes_and_constants", "numpy_ufuncs", "printing", "python_operators", "ranges",
           "reductions", "reshaping", "subclasses", "tensor_factories", "tensor_protocols"]

_loaded = False
_loading = new_rlock()     # re-entrant: a late module may use a name of another one


def load_rest() -> bool:
    """Load the late modules; return True the first time."""
    global _loaded
    if _loaded:
        return False
    with _loading:
        missing = [n for n in LATE if f"{_RUNTIME}.{n}" not in sys.modules]
        for name in missing:
            importlib.import_module(f"{_RUNTIME}.{name}")
        give_named_doors(FUNCTIONS)
        give_doors(FUNCTIONS)
        _loaded = True
    return bool(missing)


def load_twins() -> None:
    """Load the functions that the top level shares with `nn.functional`."""
    if TWINS not in sys.modules:        # `hasattr` of a missing name asks each time
        importlib.import_module(TWINS)
        give_named_doors(FUNCTIONS)
        give_doors(FUNCTIONS)


for _name in NAMES:
    stand_for(_name, load_rest)
FUNCTIONS.late = (load_rest, load_twins)
give_named_doors(FUNCTIONS)
give_doors(FUNCTIONS)
give_methods_doors(Tensor)
