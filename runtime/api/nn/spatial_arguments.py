"""Arguments of functions over spatial dims: one number for each dim, inputs with or without a batch."""

import operator

from ....ir.errors import ArgumentError, DTypeError, ShapeError, kind_of
from ....ir.interrupts import raise_interrupt
from ....ir.ops.core.shape import reshape
from ...core.tensor import Tensor, shape_of


def per_dim(value, rank: int, name: str, what: str) -> tuple:
    """Return `value` (a number or one for each dim) as a tuple of `rank` ints."""
    if value.__class__ is int:          # symbolic sizes have this class, too
        return (value,) * rank
    if isinstance(value, tuple) and len(value) == rank:
        for v in value:
            if v.__class__ is not int:
                break
        else:
            return tuple(value)
    try:
        given = _numbers_in(value)
    except TypeError as error:
        raise_interrupt(error, _numbers_in, value)
        several = f" or {rank} ints" * (rank > 1)
        raise DTypeError(f"{name}: {what} must be an int{several}, got {value!r}") from None
    if len(given) == 1:
        return given * rank
    if len(given) != rank:
        raise ArgumentError(f"{name}: {what} must be an int or {rank} ints, got {value!r}")
    return given


def _numbers_in(value) -> tuple:
    """Return an int, or a sequence of ints, as a tuple."""
    if not hasattr(value, "__len__") or isinstance(value, Tensor):
        return (operator.index(value),)
    return tuple([operator.index(v) for v in value])


def positive(values: tuple, name: str, what: str) -> tuple:
    """Return the numbers; raise unless all are at least 1."""
    if any(v < 1 for v in values):
        raise ArgumentError(f"{name}: {what} must be positive, got {values}")
    return values


def symmetric(padding: tuple) -> tuple:
    """Return the same padding on both sides of each dim."""
    return tuple([(p, p) for p in padding])


def as_batch(input, rank: int, name: str):
    """Return the input as (N, C, *spatial), and whether a batch dim was added."""
    if not isinstance(input, Tensor):
        raise DTypeError(f"{name} takes a tensor, got {kind_of(input)}")
    ndim = input._a.ndim
    if ndim == rank + 2:
        return input, False
    if ndim != rank + 1:
        layout = f"C, {', '.join('DHW'[3 - rank:])}"
        raise ShapeError(f"{name} takes an input [N, {layout}], or [{layout}] without a batch, got {input.aval}")
    return reshape(input, shape=(1, *shape_of(input))), True


def unbatch(x, added: bool):
    """Remove an added batch dim."""
    return reshape(x, shape=shape_of(x)[1:]) if added else x


def by_rank(name: str, build, ranks=(1, 2, 3)) -> list:
    """Return the function `build(rank)` for each number of spatial dims; the `{}` of `name` is the number."""
    functions = [build(rank) for rank in ranks]
    for rank, function in zip(ranks, functions):
        function.__name__ = function.__qualname__ = name.format(rank)
    return functions
