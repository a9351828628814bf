"""NumPy's universal functions on tensors: `np.sin(x)` is `ingot.sin(x)`, with its gradient and in traces."""

import numpy as np

from ...ir import dtype as dt
from ..api.register.register import FUNCTIONS
from ..api.register.type_promotion import as_operand
from ..core.creation import as_array_tensor
from ..core.tensor import Tensor

_NAMES = {"power": "pow", "invert": "bitwise_not", "left_shift": "bitwise_left_shift", "right_shift": "bitwise_right_shift",
          "equal": "eq", "rint": "round", "fabs": "abs"}   # names that differ


def _plain(x):
    return x.numpy() if isinstance(x, Tensor) else x


def _wrapped(x):
    """Return NumPy's array as a tensor, if its dtype exists here."""
    return as_array_tensor(np.asarray(x)) if isinstance(x, (np.ndarray, np.generic)) and x.dtype in dt.BY_NP else x


def array_ufunc(self, ufunc, method, *inputs, out=None, **kwargs):
    """Run a NumPy universal function with a tensor among its arguments (`__array_ufunc__`)."""
    if method == "__call__" and out is None and not kwargs:
        fn = FUNCTIONS.get(_NAMES.get(ufunc.__name__, ufunc.__name__))
        if fn is not None:
            return fn(*[as_operand(x, ufunc.__name__) for x in inputs])
    if out is not None:
        kwargs["out"] = tuple(_plain(o) for o in out)
    made = getattr(ufunc, method)(*map(_plain, inputs), **kwargs)
    if out is not None:
        return out[0] if len(out) == 1 else out
    return tuple(map(_wrapped, made)) if isinstance(made, tuple) else _wrapped(made)


Tensor.__array_ufunc__ = array_ufunc
