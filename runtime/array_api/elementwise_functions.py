"""Elementwise functions of the array API standard."""

import numpy as np

from ...ir import dtype as dt
from ...ir.errors import AutogradError
from ..api.register.register import FUNCTIONS
from ..api.views.tensor_factories import created
from ..core.tensor import Tensor, wrap
from .data_types import as_array, checked, named, operands, scalar_dtype

# Functions of one array and of two by the dtypes that they take, with the standard's names.
_UNARY = {
    "numeric": "abs isfinite isinf isnan negative round square", "real": "ceil floor trunc", "real floating": "signbit",
    "floating": "acos acosh asin asinh atan atanh cos cosh exp expm1 log log10 log1p log2 reciprocal sin sinh sqrt tan tanh",
    "integer or boolean": "bitwise_invert", "boolean": "logical_not",
}
_BINARY = {
    "all": "equal not_equal", "numeric": "add multiply pow subtract", "floating": "divide",
    "real": "floor_divide greater greater_equal less less_equal maximum minimum remainder",
    "real floating": "atan2 copysign hypot logaddexp nextafter", "integer": "bitwise_left_shift bitwise_right_shift",
    "integer or boolean": "bitwise_and bitwise_or bitwise_xor", "boolean": "logical_and logical_or logical_xor",
}
_INGOT_NAMES = {
    "bitwise_invert": "bitwise_not", "negative": "neg", "divide": "div", "equal": "eq", "not_equal": "ne", "greater": "gt",
    "greater_equal": "ge", "less": "lt", "less_equal": "le", "multiply": "mul", "subtract": "sub",
}


def _table(by_category: dict) -> dict:
    """Return {name: (name of ingot's function, dtypes)}."""
    return {name: (_INGOT_NAMES.get(name, name), kind) for kind, names in by_category.items() for name in names.split()}


UNARY, BINARY = _table(_UNARY), _table(_BINARY)
__all__ = sorted([*UNARY, *BINARY, "clip", "conj", "imag", "positive", "real", "sign"])


def _checking(name, behind, category, binary):
    """Return a function of the standard that checks dtypes and calls ingot's."""
    fn = FUNCTIONS[behind]

    def unary(x, /):
        return fn(checked(name, x, category))

    def pair(x1, x2, /):
        return fn(*operands(name, x1, x2, category))

    return named(pair if binary else unary, name, f"Elementwise {name.replace('_', ' ')} of arrays of {category} dtype.")


globals().update({name: _checking(name, behind, kind, name in BINARY) for name, (behind, kind) in (UNARY | BINARY).items()})


def positive(x, /):
    """Return a copy of the array."""
    return checked("positive", x, "numeric").clone()


def sign(x, /):
    """Return -1, 0 or 1 by the sign of each element (of a complex one its direction); nan stays nan."""
    result = FUNCTIONS["sgn"](checked("sign", x, "numeric"))
    return FUNCTIONS["where"](FUNCTIONS["isnan"](x), x, result) if x.dtype.is_inexact else result


def without_history(name, x):
    """Return the memory of an array whose gradient is not defined here."""
    if x.requires_grad:
        raise AutogradError(f"{name} has no gradient here; use .detach()")
    return x.numpy()


def real(x, /):
    """Return the real part."""
    return created(wrap(without_history("real", x).real.copy())) if checked("real", x, "numeric").dtype.is_complex else x


def imag(x, /):
    """Return the imaginary part."""
    return created(wrap(without_history("imag", checked("imag", x, "complex")).imag.copy()))


def conj(x, /):
    """Return the complex conjugate."""
    return created(wrap(np.conj(without_history("conj", x)))) if checked("conj", x, "numeric").dtype.is_complex else x


def _bound(x, limit):
    if isinstance(limit, Tensor):
        return checked("clip", limit, "real").to(x.dtype)
    return as_array(limit, scalar_dtype("clip", limit, x.dtype))


def clip(x, /, min=None, max=None):
    """Return elements limited to [min, max]; either may be left out."""
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
