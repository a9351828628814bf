"""`ingot.array_api`: the Python array API standard, 2024.12, on ingot's tensors.

The functions are strict: they accept only the standard's arguments and promotions, where `ingot.*` is more generous.
"""

import math as _math

from . import creation as _creation
from . import data_types as _dtypes
from . import elementwise_functions as _elementwise
from . import fft, linalg
from . import inspection as _inspection
from . import manipulation as _manipulation
from . import statistics as _statistics

_PARTS = (_creation, _dtypes, _elementwise, _inspection, _manipulation, _statistics)
_EXTENSIONS = {"fft": fft, "linalg": linalg}
_SHARED_WITH_LINALG = ("matmul", "matrix_transpose", "tensordot", "vecdot")

__array_api_version__ = "2024.12"
e, inf, nan, pi, newaxis = _math.e, _math.inf, _math.nan, _math.pi, None

globals().update({name: getattr(part, name) for part in _PARTS for name in part.__all__})
globals().update({name: getattr(linalg, name) for name in _SHARED_WITH_LINALG})
globals().update({d.name: d for d in _dtypes.CATEGORIES["all"]})

__all__ = sorted({
    "__array_api_version__", "e", "inf", "nan", "newaxis", "pi", *_EXTENSIONS, *_SHARED_WITH_LINALG,
    *(d.name for d in _dtypes.CATEGORIES["all"]), *(name for part in _PARTS for name in part.__all__),
})
