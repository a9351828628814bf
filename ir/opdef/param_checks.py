"""Checks of parameters for shape rules: each raises an error that names the parameter, its value and what is allowed.

A graph may come from a file, so a shape rule trusts nothing: a parameter has the right type and lies in its range, or the rule
raises. Negative dims and indices are resolved by the functions of users; in graphs they count from the front. A symbolic
size is judged by its value now, without a condition, since a graph is inferred again when its sizes get numbers.
"""

from ..dtype import DType, int_range
from ..errors import ArgumentError, DimError, DTypeError, ShapeError
from ..suggestions import unknown_choice
from ..symbols.substitute import at_hint
from ..symbols.symbolic import SymFloat, SymInt, hint

MOST = (1 << 63) - 1     # of a size, an offset or a number of bytes


def check_int(value, what: str, least: int = 0, most: int = MOST) -> int:
    """Check one integer, which may be symbolic; return its value now."""
    if type(value) is not int:
        if type(value) is not SymInt:
            raise DTypeError(f"{what} must be an integer, got {value!r}")
        value = value.hint
    if not least <= value <= most:
        raise ArgumentError(f"{what} must be from {least} to {most}, got {value}" if most != MOST
                            else f"{what} must be an integer of 64 bits that is at least {least}, got {value}")
    return value


def check_ints(values, what: str, count: int | None = None, least: int = 0, most: int = MOST) -> tuple:
    """Check a tuple of integers, `count` of them if given; return their values now."""
    if not isinstance(values, tuple):
        raise DTypeError(f"{what} must be a tuple of integers, got {values!r}")
    if count is not None and len(values) != count:
        raise ArgumentError(f"{what} must have {count} number{'s' * (count != 1)}, got {values}")
    return tuple([check_int(v, what, least, most) for v in values])


def check_dim(dim, ndim: int, what: str = "dim") -> int:
    """Check one dim of a value, counted from the front."""
    if type(dim) is not int:
        raise DTypeError(f"{what} must be an integer, got {dim!r}")
    if not 0 <= dim < ndim:
        raise DimError(f"{what} {dim} is out of range for a value of {ndim} dimension{'s' * (ndim != 1)}")
    return dim


def check_dims(dims, ndim: int, what: str = "dim") -> tuple:
    """Check a tuple of different dims of a value, counted from the front."""
    if not isinstance(dims, tuple):
        raise DTypeError(f"{what} must be a tuple of integers, got {dims!r}")
    for d in dims:
        check_dim(d, ndim, what)
    if len(set(dims)) != len(dims):
        raise ShapeError(f"{what} {dims} names a dimension twice")
    return dims


def check_index(index, size, what: str = "index") -> int:
    """Check an index along a dim of `size` elements, counted from the front."""
    n = hint(size)
    if not 0 <= check_int(index, what, -MOST) < n:
        raise DimError(f"{what} {index} is out of range for a dimension of {n} elements")
    return hint(index)


def check_sizes(shape, what: str = "shape", itemsize: int = 16) -> tuple:
    """Check the sizes of a value whose bytes can be counted in 64 bits, however a kernel splits or orders its dims."""
    sizes = check_ints(shape, what)
    nbytes = itemsize
    for n in sizes:
        nbytes *= n or 1
    if nbytes > MOST:
        raise ShapeError(f"{what} {list(shape)} has more bytes than 64 bits can count")
    return sizes


def check_flag(value, what: str) -> bool:
    """Check a parameter that is True or False."""
    if type(value) is not bool:
        raise DTypeError(f"{what} must be True or False, got {value!r}")
    return value


def check_choice(value, choices, what: str):
    """Check a parameter that is one of few values, of their type as well."""
    if not any(type(value) is type(c) and value == c for c in choices):
        raise unknown_choice(what, value, choices)
    return value


def check_number(value, what: str, least: float | None = None, most: float | None = None):
    """Check a real number, which may be symbolic and, without bounds, infinite or nan."""
    if type(value) not in (int, float, SymInt, SymFloat):
        raise DTypeError(f"{what} must be a number, got {value!r}")
    now = hint(value)
    if (least is not None and not now >= least) or (most is not None and not now <= most):
        bounds = [f"at least {least}"] * (least is not None) + [f"at most {most}"] * (most is not None)
        raise ArgumentError(f"{what} must be {' and '.join(bounds)}, got {now}")
    return value


def check_element(value, dtype: DType, what: str = "value"):
    """Check a number that fills elements of a dtype: whole dtypes hold it, rounded towards 0, and real ones its only part."""
    kind, now = type(value), hint(value)
    if kind not in (bool, int, float, complex, SymInt, SymFloat) or (kind is complex and not dtype.is_complex):
        raise DTypeError(f"{what} must be a number that {dtype.name} can hold, got {value!r}")
    if dtype.is_integer:
        least, most = int_range(dtype)
        if not least - 1 < now < most + 1:          # nan compares to nothing
            raise ArgumentError(f"{what} must be a number that {dtype.name} can hold, got {now!r}")
    return value


def check_shape(shape, wanted, what: str):
    """Check that a shape is the one that follows from others."""
    now, then = at_hint(tuple(shape)), at_hint(tuple(wanted))
    if now != then:
        raise ShapeError(f"{what} must have the shape {list(then)}, got {list(now)}")


def check_operand(x, shape, dtype: DType, what: str):
    """Check an operand whose type follows from others, such as the gradient of a result."""
    if x.dtype is not dtype:
        raise DTypeError(f"{what} must be of {dtype.name}, got {x}")
    check_shape(x.shape, shape, what)


def check_dtype(value, what: str = "dtype") -> DType:
    """Check a dtype."""
    if type(value) is not DType:
        raise DTypeError(f"{what} must be a dtype, got {value!r}")
    return value
