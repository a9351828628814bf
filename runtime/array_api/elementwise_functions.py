"""Elementwise functions of the array API standard."""

import numpy as np

from ...ir import dtype as dt
from ...ir.errors import AutogradError
from ..core.tensor import Tensor, wrap
from .data_types import as_array, checked, operands, scalar_dtype
from .ingot_functions import FUNCTIONS

# The functions of one array and of two: the standard's name, the function behind it, the dtypes it takes.
UNARY = {
    "abs": ("abs", "numeric"), "acos": ("acos", "floating"), "acosh": ("acosh", "floating"), "asin": ("asin", "floating"),
    "asinh": ("asinh", "floating"), "atan": ("atan", "floating"), "atanh": ("atanh", "floating"),
    "bitwise_invert": ("bitwise_not", "integer or boolean"), "ceil": ("ceil", "real"), "cos": ("cos", "floating"),
    "cosh": ("cosh", "floating"), "exp": ("exp", "floating"), "expm1": ("expm1", "floating"), "floor": ("floor", "real"),
    "isfinite": ("isfinite", "numeric"), "isinf": ("isinf", "numeric"), "isnan": ("isnan", "numeric"),
    "log": ("log", "floating"), "log10": ("log10", "floating"), "log1p": ("log1p", "floating"), "log2": ("log2", "floating"),
    "logical_not": ("logical_not", "boolean"), "negative": ("neg", "numeric"), "reciprocal": ("reciprocal", "floating"),
    "round": ("round", "numeric"), "signbit": ("signbit", "real floating"),
    "sin": ("sin", "floating"), "sinh": ("sinh", "floating"), "sqrt": ("sqrt", "floating"), "square": ("square", "numeric"),
    "tan": ("tan", "floating"), "tanh": ("tanh", "floating"), "trunc": ("trunc", "real"),
}
BINARY = {
    "add": ("add", "numeric"), "atan2": ("atan2", "real floating"), "bitwise_and": ("bitwise_and", "integer or boolean"),
    "bitwise_left_shift": ("bitwise_left_shift", "integer"), "bitwise_or": ("bitwise_or", "integer or boolean"),
    "bitwise_right_shift": ("bitwise_right_shift", "integer"), "bitwise_xor": ("bitwise_xor", "integer or boolean"),
    "copysign": ("copysign", "real floating"), "divide": ("div", "floating"), "equal": ("eq", "all"),
    "floor_divide": ("floor_divide", "real"), "greater": ("gt", "real"), "greater_equal": ("ge", "real"),
    "hypot": ("hypot", "real floating"), "less": ("lt", "real"), "less_equal": ("le", "real"),
    "logaddexp": ("logaddexp", "real floating"), "logical_and": ("logical_and", "boolean"),
    "logical_or": ("logical_or", "boolean"), "logical_xor": ("logical_xor", "boolean"), "maximum": ("maximum", "real"),
    "minimum": ("minimum", "real"), "multiply": ("mul", "numeric"), "nextafter": ("nextafter", "real floating"),
    "not_equal": ("ne", "all"), "pow": ("pow", "numeric"), "remainder": ("remainder", "real"), "subtract": ("sub", "numeric"),
}
__all__ = sorted([*UNARY, *BINARY, "clip", "conj", "imag", "positive", "real", "sign"])


def _unary(name, behind, category):
    fn = FUNCTIONS[behind]

    def function(x, /):
        return fn(checked(name, x, category))

    return function


def _binary(name, behind, category):
    fn = FUNCTIONS[behind]

    def function(x1, x2, /):
        return fn(*operands(name, x1, x2, category))

    return function


for _make, _table in ((_unary, UNARY), (_binary, BINARY)):
    for _name, (_behind, _category) in _table.items():
        _fn = _make(_name, _behind, _category)
        _fn.__name__ = _fn.__qualname__ = _name
        _fn.__doc__ = f"Elementwise {_name.replace('_', ' ')} of arrays of {_category} dtype."
        globals()[_name] = _fn


def positive(x, /):
    """A copy of the array."""
    return checked("positive", x, "numeric").clone()


def sign(x, /):
    """-1, 0 or 1 by the sign of each element (of a complex one its direction); nan stays nan."""
    result = FUNCTIONS["sgn"](checked("sign", x, "numeric"))
    return FUNCTIONS["where"](FUNCTIONS["isnan"](x), x, result) if x.dtype.is_inexact else result


def without_history(name, x):
    """The memory of an array whose gradient is not defined here."""
    if x.requires_grad:
        raise AutogradError(f"{name} has no gradient here; use .detach()")
    return x.numpy()


def real(x, /):
    """The real part."""
    return wrap(without_history("real", x).real.copy()) if checked("real", x, "numeric").dtype.is_complex else x


def imag(x, /):
    """The imaginary part."""
    return wrap(without_history("imag", checked("imag", x, "complex")).imag.copy())


def conj(x, /):
    """The complex conjugate."""
    return wrap(np.conj(without_history("conj", x))) if checked("conj", x, "numeric").dtype.is_complex else x


def _bound(x, limit):
    """A limit of clip as an array of x's dtype."""
    if isinstance(limit, Tensor):
        return checked("clip", limit, "real").to(x.dtype)
    return as_array(limit, scalar_dtype("clip", limit, x.dtype))


def clip(x, /, min=None, max=None):
    """Elements limited to [min, max]; either may be left out."""
    checked("clip", x, "real")
    result = x
    if min is not None:
        low = _bound(x, min)
        result = _limited(result, low, FUNCTIONS["lt"])
    if max is not None:
        high = _bound(x, max)
        result = _limited(result, high, FUNCTIONS["gt"])
    return result.clone() if result is x else result


def _limited(x, limit, beyond):
    wrong = beyond(x, limit)
    if x.dtype.kind >= dt.FLOAT:
        wrong = FUNCTIONS["logical_or"](wrong, FUNCTIONS["isnan"](limit))
    return FUNCTIONS["where"](wrong, limit, x)
