"""`ingot.array_api`: the Python array API standard, 2024.12, on ingot's tensors.

The functions are strict: they take what the standard says and combine dtypes as it says, where `ingot.*` is more generous.
"""

import math as _math

from ...ir.dtype import (
    bool_ as bool,
)
from ...ir.dtype import (
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from . import creation, dtypes, elementwise, inspection, linalg, manipulation, statistics
from .creation import *
from .dtypes import *
from .elementwise import *
from .inspection import *
from .linalg import matmul, matrix_transpose, tensordot, vecdot
from .manipulation import *
from .statistics import *

__array_api_version__ = "2024.12"
e, inf, nan, pi, newaxis = _math.e, _math.inf, _math.nan, _math.pi, None

__all__ = sorted({
    "__array_api_version__", "bool", "complex128", "complex64", "e", "float32", "float64", "inf", "int16", "int32", "int64",
    "int8", "linalg", "matmul", "matrix_transpose", "nan", "newaxis", "pi", "tensordot", "uint16", "uint32", "uint64", "uint8",
    "vecdot", *creation.__all__, *dtypes.__all__, *elementwise.__all__, *inspection.__all__, *manipulation.__all__,
    *statistics.__all__,
})
