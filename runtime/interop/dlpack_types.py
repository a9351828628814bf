"""DLPack's type codes of element types that NumPy lacks."""

import numpy as np

from ...ir import dtype as dt
from ...ir.errors import DTypeError

CODES = {dt.bfloat16.np: 4, dt.float8_e4m3fn.np: 10, dt.float8_e5m2.np: 12}
INTEGER = 0             # signed integers
SAME_SIZE = {d: np.dtype(f"i{d.itemsize}") for d in CODES}


def dtype_of_code(code: int, bits: int) -> np.dtype | None:
    """Return the dtype of a type code, or None if NumPy has such types itself."""
    if code not in CODES.values() and code < min(CODES.values()) + 3:
        return None
    for d, number in CODES.items():
        if number == code and 8 * d.itemsize == bits:
            return d
    raise DTypeError(f"from_dlpack: type code {code} of {bits} bits has no ingot dtype")
