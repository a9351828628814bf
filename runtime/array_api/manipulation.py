"""Functions of the array API standard that move, join and select elements."""

from ...ir import dtype as dt
from ...ir.errors import ArgumentError, DimError, DTypeError, ShapeError
from ...ir.opdef.aval import broadcast_shapes, canonical_dim
from ...ir.suggestions import unknown_choice
from ..api.register.register import FUNCTIONS
from ..core.tensor import Tensor
from .data_types import as_array, checked, promoted, result_type, scalar_dtype

__all__ = ["broadcast_arrays", "broadcast_to", "concat", "count_nonzero", "expand_dims", "flip", "moveaxis", "nonzero",
           "permute_dims", "repeat", "reshape", "roll", "searchsorted", "squeeze", "stack", "take", "take_along_axis", "tile",
           "unstack", "where"]


def broadcast_to(x, /, shape):
    """Repeat the array to a shape, without a copy."""
    return FUNCTIONS["broadcast_to"](x, tuple(shape))


def broadcast_arrays(*arrays) -> list[Tensor]:
    """Repeat the arrays to their common shape."""
    shape = broadcast_shapes(*(tuple(a.shape) for a in arrays))
    return [broadcast_to(a, shape) for a in arrays]


def _alike(arrays):
    d = result_type(*arrays)
    return [a.to(d) for a in arrays]


def concat(arrays, /, *, axis=0):
    """Join arrays along an axis; None flattens them first."""
    arrays = _alike(arrays)
    if axis is None:
        arrays, axis = [a.reshape(-1) for a in arrays], 0
    return FUNCTIONS["cat"](arrays, axis)


def stack(arrays, /, *, axis=0):
    """Join arrays along a new axis."""
    return FUNCTIONS["stack"](_alike(arrays), axis)


def unstack(x, /, *, axis=0) -> tuple[Tensor, ...]:
    """Return the parts of an array along an axis, which disappears."""
    return tuple(FUNCTIONS["unbind"](x, axis))


def expand_dims(x, /, axis=0):
    """Insert a new axis of size 1."""
    if not -x.ndim - 1 <= axis <= x.ndim:
        raise DimError(f"expand_dims: axis {axis} is out of range for an array of {x.ndim} dimensions")
    return FUNCTIONS["unsqueeze"](x, axis)


def squeeze(x, /, axis):
    """Remove axes of size 1."""
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    for a in axes:
        if x.shape[canonical_dim(a, x.ndim, what="axis")] != 1:
            raise ShapeError(f"squeeze: axis {a} of shape {list(x.shape)} is not of size 1")
    return FUNCTIONS["squeeze"](x, axes)


def flip(x, /, *, axis=None):
    """Reverse elements along axes."""
    axes = tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    return FUNCTIONS["flip"](x, axes)


def moveaxis(x, source, destination, /):
    """Move axes to other places."""
    return FUNCTIONS["movedim"](x, source, destination)


def permute_dims(x, /, axes):
    """Reorder the axes."""
    return FUNCTIONS["permute"](x, tuple(axes))


def repeat(x, repeats, /, *, axis=None):
    """Repeat each element a number of times."""
    if isinstance(repeats, Tensor) and repeats.ndim == 1 and repeats.shape[0] == 1:
        repeats = int(repeats[0])
    return FUNCTIONS["repeat_interleave"](x, repeats, axis)


def reshape(x, /, shape, *, copy=None):
    """Return the elements in row-major order in another shape; `copy=False` raises if that needs a copy."""
    if copy is False:
        try:
            return x.view(*shape) if len(shape) else x.view(())
        except RuntimeError as e:
            raise ArgumentError(f"reshape: {e}") from None
    y = FUNCTIONS["reshape"](x, tuple(shape))
    return y.clone() if copy else y


def roll(x, /, shift, *, axis=None):
    """Shift elements along axes, those at the end to the start."""
    return FUNCTIONS["roll"](x, shift, axis)


def tile(x, repetitions, /):
    """Repeat the array along each axis."""
    return FUNCTIONS["tile"](x, tuple(repetitions))


# Picking and searching.


def take(x, indices, /, *, axis=None):
    """Select elements along an axis by a one-dimensional array of indices."""
    if axis is None:
        if x.ndim != 1:
            raise ArgumentError(f"take: axis is needed for an array of {x.ndim} dimensions")
        axis = 0
    return FUNCTIONS["index_select"](x, axis, _counted_from_front(checked("take", indices, "integer"), x.shape[axis]))


def _counted_from_front(indices, n):
    indices = indices.to(dt.int64)
    return FUNCTIONS["where"](FUNCTIONS["lt"](indices, 0), FUNCTIONS["add"](indices, n), indices)


def take_along_axis(x, indices, /, *, axis=-1):
    """Select elements along an axis by indices of the same rank; other axes broadcast."""
    if indices.ndim != x.ndim:
        raise ShapeError(f"take_along_axis: x has {x.ndim} dimensions, indices {indices.ndim}")
    axis = canonical_dim(axis, x.ndim, what="axis")
    n = x.shape[axis]
    other = broadcast_shapes(*[tuple(1 if i == axis else s for i, s in enumerate(a.shape)) for a in (x, indices)])
    x = broadcast_to(x, other[:axis] + (n,) + other[axis + 1:])
    indices = broadcast_to(indices, other[:axis] + (indices.shape[axis],) + other[axis + 1:])
    return FUNCTIONS["gather"](x, axis, _counted_from_front(indices, n))


def nonzero(x, /) -> tuple[Tensor, ...]:
    """Return the indices of nonzero elements, an array for each axis."""
    if not x.ndim:
        raise ShapeError("nonzero takes arrays of at least one dimension")
    return tuple(FUNCTIONS["nonzero"](x, as_tuple=True))


def count_nonzero(x, /, *, axis=None, keepdims=False):
    """Return the number of nonzero elements."""
    hits = FUNCTIONS["ne"](x, 0) if x.dtype is not dt.bool_ else x
    return FUNCTIONS["sum"](hits, axis, keepdims, dtype=dt.int64)


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    """Return the insertion points of the elements of x2 in the sorted x1."""
    if side not in ("left", "right"):
        raise unknown_choice("searchsorted: side", side, ("left", "right"))
    d = promoted(checked("searchsorted", x1, "real").dtype, checked("searchsorted", x2, "real").dtype)
    if sorter is not None:
        x1 = take(x1, sorter, axis=0)
    return FUNCTIONS["searchsorted"](x1.to(d), x2.to(d), right=side == "right")


def where(condition, x1, x2, /):
    """Return x1 where the condition holds, x2 elsewhere."""
    if condition.dtype is not dt.bool_:
        raise DTypeError(f"where takes a condition of bool, got {condition.dtype.name}")
    if not isinstance(x1, Tensor) and not isinstance(x2, Tensor):
        raise DTypeError("where takes at least one array to choose from")
    if not isinstance(x1, Tensor):
        x1 = as_array(x1, scalar_dtype("where", x1, x2.dtype))
    if not isinstance(x2, Tensor):
        x2 = as_array(x2, scalar_dtype("where", x2, x1.dtype))
    d = promoted(checked("where", x1, "all").dtype, checked("where", x2, "all").dtype)
    return FUNCTIONS["where"](condition, x1.to(d), x2.to(d))
