"""Dtypes of the array API standard, their promotion, and the checks of its functions' arguments."""

from ...ir import dtype as dt
from ...ir.errors import ArgumentError, DTypeError
from ..api.register import dtype_info
from ..api.register.register import FUNCTIONS
from ..core.device import require
from ..core.tensor import Tensor
from ..state.mode import Defaults

__all__ = ["astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]

SIGNED = (dt.int8, dt.int16, dt.int32, dt.int64)
UNSIGNED = (dt.uint8, dt.uint16, dt.uint32, dt.uint64)
REAL = (dt.float32, dt.float64)
COMPLEX = (dt.complex64, dt.complex128)
KINDS = {"bool": (dt.bool_,), "signed integer": SIGNED, "unsigned integer": UNSIGNED, "integral": SIGNED + UNSIGNED,
         "real floating": REAL, "complex floating": COMPLEX, "numeric": SIGNED + UNSIGNED + REAL + COMPLEX}
CATEGORIES = {
    "all": KINDS["bool"] + KINDS["numeric"], "numeric": KINDS["numeric"], "real": SIGNED + UNSIGNED + REAL,
    "real floating": REAL, "floating": REAL + COMPLEX, "complex": COMPLEX, "boolean": KINDS["bool"],
    "integer or boolean": SIGNED + UNSIGNED + KINDS["bool"], "integer": SIGNED + UNSIGNED,
}
_RANK = {dt.BOOL: 0, dt.UNSIGNED: 1, dt.SIGNED: 1, dt.FLOAT: 2, dt.COMPLEX: 3}


def checked(name: str, x, category: str) -> Tensor:
    """Return an array argument whose dtype the function takes, else raise."""
    if not isinstance(x, Tensor):
        raise DTypeError(f"{name} takes arrays, got {type(x).__name__}")
    if x.dtype not in CATEGORIES[category]:
        raise DTypeError(f"{name} takes arrays of {category} dtype, got {x.dtype.name}")
    return x


def promoted(a: dt.DType, b: dt.DType) -> dt.DType:
    """Return the promoted dtype of two arrays: only within bool, integers, or floating point numbers."""
    ranks = sorted((_RANK[a.kind], _RANK[b.kind]))
    if ranks[0] != ranks[1] and ranks[0] < 2:
        raise DTypeError(f"{a} and {b} do not combine; convert one with astype()")
    return dt.promote_types(a, b)


def scalar_dtype(name: str, value, other: dt.DType) -> dt.DType:
    """Return the dtype that a Python number takes beside an array of dtype `other`."""
    kind = other.kind
    fits = ((isinstance(value, bool) and kind == dt.BOOL) or (type(value) is int and kind != dt.BOOL)
            or (type(value) is float and kind >= dt.FLOAT) or (type(value) is complex and kind >= dt.FLOAT))
    if not fits:
        raise DTypeError(f"{name}: the Python number {value!r} does not combine with an array of {other}")
    if type(value) is complex and kind == dt.FLOAT:
        return dt.complex64 if other is dt.float32 else dt.complex128
    return other


def as_array(value, dtype: dt.DType) -> Tensor:
    """Return an array from a Python value."""
    return FUNCTIONS["tensor"](value, dtype=dtype)


def operands(name: str, x1, x2, category: str):
    """Return two operands, at least one of them an array, as arrays of their common dtype."""
    if not isinstance(x1, Tensor) and not isinstance(x2, Tensor):
        raise DTypeError(f"{name} takes at least one array, got {type(x1).__name__} and {type(x2).__name__}")
    if not isinstance(x1, Tensor):
        checked(name, x2, category)
        x1 = as_array(x1, scalar_dtype(name, x1, x2.dtype))
    elif not isinstance(x2, Tensor):
        checked(name, x1, category)
        x2 = as_array(x2, scalar_dtype(name, x2, x1.dtype))
    d = promoted(checked(name, x1, category).dtype, checked(name, x2, category).dtype)
    return x1.to(d), x2.to(d)


def named(fn, name: str, doc: str):
    """Return a generated function under a name of the standard."""
    fn.__name__ = fn.__qualname__ = name
    fn.__doc__ = doc
    return fn


def take_dtype(dtype, default=None):
    """Return a dtype argument of the standard, else raise."""
    if dtype is None:
        return default
    if type(dtype) is not dt.DType or dtype not in CATEGORIES["all"]:
        raise DTypeError(f"{dtype!r} is not a dtype of the array API standard")
    return dtype


def default_complex() -> dt.DType:
    """Return the complex dtype that goes with the default floating point one."""
    return dt.complex128 if Defaults.dtype is dt.float64 else dt.complex64


# Functions of the standard.


def astype(x, dtype, /, *, copy=True, device=None):
    """Return `x` in another dtype; the same array if it has it and no copy is asked for."""
    if device is not None:
        require(device)
    if x.dtype.is_complex and not dtype.is_complex:
        raise DTypeError(f"astype does not convert {x.dtype.name} to {dtype.name}; take real() first")
    return x.to(take_dtype(dtype), copy=copy)


def can_cast(from_, to, /) -> bool:
    """Return whether values of one dtype convert to another without changing kind or losing range."""
    a, b = from_.dtype if isinstance(from_, Tensor) else from_, take_dtype(to)
    try:
        return promoted(a, b) is b
    except DTypeError:
        return False


def finfo(type, /):
    """Return the limits of a floating point dtype."""
    return _Info(dtype_info.finfo(type.dtype if isinstance(type, Tensor) else type),
                 ("bits", "eps", "max", "min", "smallest_normal"))


def iinfo(type, /):
    """Return the limits of an integer dtype."""
    return _Info(dtype_info.iinfo(type.dtype if isinstance(type, Tensor) else type), ("bits", "max", "min"))


class _Info:
    """Limits with the dtype as an object."""

    def __init__(self, about, names):
        for name in names:
            setattr(self, name, getattr(about, name))
        self.dtype = dt.by_name(about.dtype)


def isdtype(dtype, kind) -> bool:
    """Return whether a dtype is, or is of the kind of, `kind`: a dtype, a name of a kind, or a tuple of these."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ArgumentError(f"unknown kind of dtype {kind!r}: it is one of {', '.join(KINDS)}")
        return dtype in KINDS[kind]
    return dtype is kind


def result_type(*arrays_and_dtypes):
    """Return the promoted dtype of arrays, dtypes and Python numbers."""
    found, scalars = None, []
    for x in arrays_and_dtypes:
        if isinstance(x, (bool, int, float, complex)):
            scalars.append(x)
            continue
        d = x.dtype if isinstance(x, Tensor) else take_dtype(x)
        found = d if found is None else promoted(found, d)
    if found is None:
        raise DTypeError("result_type takes at least one array or dtype")
    for value in scalars:
        found = promoted(found, scalar_dtype("result_type", value, found))
    return found
