"""Functions that reorder elements: flip, shift, rotate."""

from ....ir import dtype as dt
from ....ir.errors import DTypeError, ShapeError
from ....ir.opdef.aval import canonical_dim, integers
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core import shape as sh
from ...core.tensor import Tensor, shape_of
from ..register.register import api
from ..register.type_promotion import to_dtype
from .reshaping import canonical_order, ravel, sizes_of


@api(memoised=True)
def flip(input, *which, dims=None):
    """Reverse the order of elements along dims."""
    if not which and dims is None:
        raise TypeError("flip() takes dims, got none; say () to flip along none")
    which = sizes_of(which if dims is None else (dims,))
    return sh.flip(input, dims=canonical_order(which, input.ndim) if input.ndim else ())


@api(memoised=True)
def fliplr(input):
    """Reverse the second dimension."""
    if input.ndim < 2:
        raise ShapeError(f"fliplr takes at least 2 dimensions, got shape {list(input.shape)}")
    return sh.flip(input, dims=(1,))


@api(memoised=True)
def flipud(input):
    """Reverse the first dimension."""
    if input.ndim < 1:
        raise ShapeError("flipud takes at least 1 dimension, got a 0-d tensor")
    return sh.flip(input, dims=(0,))


@api(memoised=True)
def roll(input, shifts, dims=None):
    """Shift elements along dims, cyclically."""
    shifts = integers(shifts, "shifts")
    dims = () if dims is None else integers(dims, "dims")
    if not dims:
        if len(shifts) != 1:
            raise ShapeError(f"roll: {len(shifts)} shifts without dims; give one shift, or as many dims")
        return sh.reshape(sh.roll(ravel(input), shifts=shifts, dims=(0,)), shape=shape_of(input))
    if len(shifts) != len(dims):
        raise ShapeError(f"roll: shifts {shifts} and dims {dims} must be equally many")
    dims = tuple([canonical_dim(d, input.ndim) for d in dims])
    return sh.roll(input, shifts=shifts, dims=dims) if input.ndim else ew.copy(input)


@api(memoised=True)
def rot90(input, k=1, dims=(0, 1)):
    """Rotate by 90 degrees k times in the plane of two dims."""
    if input.ndim < 2:
        raise ShapeError(f"rot90 takes at least 2 dimensions, got shape {list(input.shape)}")
    dims = integers(dims, "dims")
    if len(dims) != 2:
        raise ShapeError(f"rot90 takes the two dims of a plane, got {dims}")
    first, second = canonical_order(dims, input.ndim)
    swapped = list(range(input.ndim))
    swapped[first], swapped[second] = second, first
    if k % 4 == 0:
        return ew.copy(input)
    if k % 4 == 2:
        return sh.flip(input, dims=(first, second))
    if k % 4 == 1:
        return sh.permute(sh.flip(input, dims=(second,)), dims=tuple(swapped))
    return sh.flip(sh.permute(input, dims=tuple(swapped)), dims=(second,))


@api(method=False)
def unravel_index(indices, shape) -> tuple[Tensor, ...]:
    """Return the coordinates of flat indices into a tensor of `shape`, one tensor for each dimension."""
    sizes = integers(shape, "shape")
    if not indices.dtype.is_integer:
        raise DTypeError(f"unravel_index takes integer indices, got {indices.aval}")
    indices = to_dtype(indices, dt.int64)
    found = []
    for n in reversed(sizes):
        found.append(indices % n)
        indices = indices // n
    return tuple(reversed(found))
