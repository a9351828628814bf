"""Reshapes, permutations, expansions, diagonals and triangles."""

import math

import numpy as np

from ....ir import dtype as dt
from ....ir.errors import DimError, DTypeError, ShapeError, in_words_of
from ....ir.interrupts import raise_interrupt
from ....ir.opdef.aval import broadcast_shapes, canonical_dim, integers
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core import shape as sh
from ....ir.ops.linalg.triangle import triangle_part
from ....ir.symbols.substitute import as_int, at_hint
from ...core.device_array import address_of
from ...core.dispatch import look
from ...core.tensor import Size, Tensor, numel_of, shape_of
from ..register.register import api, deliver


def sizes_of(sizes) -> tuple:
    """Return sizes given one by one or as one sequence, as a tuple of ints."""
    for n in sizes:
        if n.__class__ is not int:
            break
    else:
        return sizes
    if len(sizes) == 1 and not isinstance(sizes[0], (int, np.integer)):
        one = sizes[0]
        if not (isinstance(one, Tensor) and one.ndim == 0):
            sizes = one
    try:
        return _whole_numbers(sizes)
    except (TypeError, AttributeError) as error:
        raise_interrupt(error, _whole_numbers, sizes)
        raise DTypeError(f"sizes must be integers, got {sizes!r}") from None


def _whole_numbers(sizes) -> tuple:
    return tuple([n if n.__class__ is int else n.__index__() for n in sizes])


def canonical_order(dims, ndim: int) -> tuple:
    """Return dims counted from the front, in the order given; raise if one occurs twice."""
    dims = integers(dims, "dims")
    out = tuple([canonical_dim(d, ndim) for d in dims])
    if len(set(out)) != len(out):
        raise ShapeError(f"dims {dims} name a dimension twice")
    return out


def fill_in(shape: tuple, size: int, name: str) -> tuple:
    """Return `shape` with -1 replaced so that it has `size` elements."""
    for n in shape:
        if n < 0:
            break
    else:
        return shape
    if len(shape) == 1 and n == -1:
        return (size,)
    known = 1
    for n in shape:
        if n < -1:
            raise ShapeError(f"{name}: a size must be -1 or not negative, got {list(shape)}")
        known *= 1 if n == -1 else n
    if shape.count(-1) != 1:
        raise ShapeError(f"{name}: only one size can be inferred, got {list(shape)}")
    if known == 0:
        raise ShapeError(f"{name}: the size -1 in {list(shape)} is ambiguous, because the other sizes multiply to 0")
    if size % known:
        raise ShapeError(f"{name}: shape {list(shape)} does not divide {size} elements evenly")
    return tuple([size // known if n == -1 else n for n in shape])


# Reshapes.


@api(sees=sh.reshape)
def reshape(input, *sizes, shape=None):
    """Return the elements in another shape: a view where strides allow, else a copy."""
    shape = sizes_of(sizes if shape is None else (shape,))
    return look(sh.reshape, input, {"shape": fill_in(shape, numel_of(input), "reshape")})


Tensor.reshape_as = lambda self, other: reshape(self, other.shape)


@api(function=False, sees=sh.reshape)
def view(self, *shape, dtype=None, size=None):
    """Return a view in another shape, or, given a dtype, with the memory read as that dtype. Raise where the strides do not
    fit."""
    if dtype is not None or (len(shape) == 1 and isinstance(shape[0], dt.DType)):
        return _view_as_dtype(self, dtype or shape[0])
    a = self._a
    shape = fill_in(sizes_of(shape if size is None else (size,)), numel_of(self), "view")
    if not a.flags.c_contiguous:
        require_view(a, shape)
    try:
        return look(sh.reshape, self, {"shape": shape})
    except ShapeError as error:
        raise in_words_of("view", error, "reshape") from None


def require_view(a, shape):
    """Raise if an array has no view of a shape."""
    shape = at_hint(shape)
    if any(n < 0 for n in shape) or int(np.prod(shape)) != a.size:
        return
    try:
        np.reshape(a, shape, copy=False)
    except ValueError as error:
        raise_interrupt(error, np.reshape, a, shape, copy=False)
        raise ShapeError(f"view of shape {list(shape)} does not fit the strides of this tensor of shape {list(a.shape)} (a "
                         "dimension would span memory that is not adjacent); use reshape(), which copies where "
                         "needed") from None


def _view_as_dtype(x, dtype):
    d = dt.as_dtype(dtype)
    if d.itemsize != x.dtype.itemsize:
        if not sh.has_whole_elements(x._a, d):
            raise ShapeError(f"a view of {x.aval} as {d.name} changes the element size: it needs a contiguous last dimension, "
                             f"and rows that begin at whole elements of {d.itemsize} bytes; the strides are {x.stride()}")
        if address_of(x._a) % d.itemsize:
            raise ShapeError(f"a view of {x.aval} as {d.name}: it does not begin at a whole element of {d.itemsize} bytes")
    return sh.bitcast(x, dtype=d)


Tensor.view_as = lambda self, other: view(self, *other.shape) if other.ndim else view(self, ())


@api(sees=sh.reshape)
def flatten(input, start_dim=0, end_dim=-1):
    """Merge dims start_dim to end_dim into one."""
    n = input.ndim
    first, last = canonical_dim(start_dim, n, what="start_dim"), canonical_dim(end_dim, n, what="end_dim")
    if first > last:
        raise ShapeError(f"flatten: start_dim {start_dim} comes after end_dim {end_dim}")
    if n == 0:
        return look(sh.reshape, input, {"shape": (1,)})
    if first == last:
        return input
    shape = shape_of(input)
    merged = math.prod(shape[first:last + 1])
    return look(sh.reshape, input, {"shape": shape[:first] + (merged,) + shape[last + 1:]})


@api(sees=sh.reshape)
def unflatten(input, dim, sizes):
    """Split one dimension into several."""
    if not input.ndim:
        raise ShapeError("unflatten needs a dimension to split, the tensor has none")
    d = canonical_dim(dim, input.ndim)
    shape = shape_of(input)
    sizes = integers(sizes, "sizes")
    if not sizes:
        raise ShapeError("unflatten: sizes must not be empty")
    parts = fill_in(sizes, shape[d], "unflatten")
    if math.prod(parts) != shape[d]:
        raise ShapeError(f"unflatten: sizes {parts} do not multiply to size {shape[d]} of dim {dim}")
    return look(sh.reshape, input, {"shape": shape[:d] + parts + shape[d + 1:]})


@api(checked=True)
def ravel(input):
    """Return all elements in row-major order as a vector; a view where possible."""
    if input.ndim == 1 and input._a.flags.c_contiguous:
        return input
    return look(sh.reshape, input.contiguous(), {"shape": (numel_of(input),)})


@api(sees=sh.reshape)
def squeeze(input, dim=None, *more):
    """Remove dimensions of size 1 (all, or those named)."""
    shape, dim = shape_of(input), (dim, *more) if more else dim
    if dim is None:
        left = tuple([n for n in shape if n != 1])
    elif dim.__class__ is int:
        d = canonical_dim(dim, len(shape))
        left = shape[:d] + shape[d + 1:] if shape and shape[d] == 1 else shape
    else:
        gone = canonical_order(dim, len(shape))
        left = tuple([n for i, n in enumerate(shape) if n != 1 or i not in gone])
    return look(sh.reshape, input, {"shape": left})


@api(sees=sh.reshape)
def unsqueeze(input, dim):
    """Insert a dimension of size 1 at `dim`."""
    shape = shape_of(input)
    d = canonical_dim(dim, len(shape) + 1)
    return look(sh.reshape, input, {"shape": shape[:d] + (1,) + shape[d:]})


# Permutations.


@api(sees=sh.permute)
def permute(input, *order, dims=None):
    """Reorder the dimensions."""
    order = canonical_order(sizes_of(order if dims is None else (dims,)), input.ndim)
    return look(sh.permute, input, {"dims": order})


@api(names=("swapaxes", "swapdims"), sees=sh.permute)
def transpose(input, dim0, dim1=None):
    """Swap two dimensions, or reorder all by one tuple, as in NumPy."""
    n = input._a.ndim
    if dim1 is None:
        return _in_order(input, dim0)
    i, j = canonical_dim(dim0, n), canonical_dim(dim1, n)
    if n == 2 and i != j:
        return look(sh.permute, input, {"dims": (1, 0)})
    order = list(range(n))
    if n:
        order[i], order[j] = j, i
    return look(sh.permute, input, {"dims": tuple(order)})


def _in_order(input, order):
    """Reorder the dimensions by one tuple (`transpose(x, (2, 0, 1))`, which opt_einsum calls)."""
    if not isinstance(order, (tuple, list)):
        raise DTypeError(f"transpose() takes two dimensions, or the order of all of them as one tuple, got {order!r} alone")
    return permute(input, *order)


@api(sees=sh.permute)
def t(input):
    """Transpose a matrix; tensors with fewer dimensions stay as they are."""
    n = input._a.ndim
    if n > 2:
        raise ShapeError(f"t() takes at most 2 dimensions, got {n}; use transpose(dim0, dim1) or mT")
    return look(sh.permute, input, {"dims": (1, 0) if n == 2 else tuple(range(n))})


@api(names=("moveaxis",), sees=sh.permute)
def movedim(input, source, destination):
    """Move dimensions to other positions; the rest keeps its order."""
    n = input.ndim
    src, dst = canonical_order(source, n), canonical_order(destination, n)
    if len(src) != len(dst):
        raise ShapeError(f"movedim: source {source} and destination {destination} must name equally many dimensions")
    rest = iter([d for d in range(n) if d not in src])
    at = dict(zip(dst, src))
    return look(sh.permute, input, {"dims": tuple([at[i] if i in at else next(rest) for i in range(n)])})


def _matrix_transpose(x, what):
    """Swap the last two dims; a tensor without dims stays as it is."""
    if not x.ndim:
        return look(sh.permute, x, {"dims": ()})
    if x.ndim < 2:
        raise ShapeError(f"{what} takes at least 2 dimensions, got shape {list(x.shape)}")
    return transpose(x, -2, -1)


@api(checked=True)
def adjoint(input):
    """Swap the last two dimensions, and conjugate complex elements."""
    x = _matrix_transpose(input, "adjoint")
    return x.conj() if x.dtype.is_complex else x


def _all_reversed(self) -> Tensor:
    """Tensor with all dimensions reversed."""
    n = self._a.ndim
    return look(sh.permute, self, {"dims": (1, 0) if n == 2 else tuple(range(n))[::-1]})


def _last_two_swapped(self) -> Tensor:
    """Tensor with the last two dimensions swapped."""
    return _matrix_transpose(self, "mT")


def _conjugated(self) -> Tensor:
    """Matrix, transposed and conjugated."""
    return adjoint(self) if self.ndim else self


def _last_two_conjugated(self) -> Tensor:
    """Tensor with the last two dimensions swapped, conjugated."""
    return adjoint(self)


for _name, _transposed in (("T", _all_reversed), ("mT", _last_two_swapped), ("H", _conjugated), ("mH", _last_two_conjugated)):
    setattr(Tensor, _name, property(_transposed, doc=_transposed.__doc__))

# Expansions.


@api(function=False, sees=sh.expand)
def expand(self, *sizes, size=None, implicit=False):
    """Repeat dimensions of size 1 without copying; -1 keeps a size. `implicit` is ignored: it only marks broadcasts for
    PyTorch's own transforms."""
    shape, sizes = shape_of(self), sizes_of(sizes if size is None else (size,))
    lead = len(sizes) - len(shape)
    if lead < 0:
        raise ShapeError(f"expand: {len(sizes)} sizes are fewer than the {len(shape)} dimensions of shape {list(shape)}")
    if -1 in sizes[:lead]:
        raise ShapeError(f"expand: -1 is not allowed for a new leading dimension, got {sizes}")
    if -1 not in sizes:
        return look(sh.expand, self, {"shape": sizes})
    return look(sh.expand, self, {"shape": sizes[:lead] + tuple([n if m == -1 else m for n, m in zip(shape, sizes[lead:])])})


@api(function=False)
def sum_to_size(self, *size):
    """Sum over the dimensions that broadcasting from `size` to this shape would repeat."""
    shape = sizes_of(size)
    if len(shape) > self.ndim or any(n not in (1, m) for n, m in zip(shape[::-1], shape_of(self)[::-1])):
        raise ShapeError(f"sum_to_size: {list(shape)} does not broadcast to shape {list(self.shape)}")
    counted = not self.dtype.is_inexact and (shape != tuple(self.shape) or not shape)
    return sh.sum_to(ew.cast(self, dtype=dt.int64) if counted else self, shape=shape)


Tensor.expand_as = lambda self, other: expand(self, other.shape)


@api(memoised=True)
def broadcast_to(input, *sizes, size=None):
    """Expand a tensor to a shape."""
    return expand(input, *sizes, size=size)


@api(method=False, memoised=True)
def broadcast_tensors(*tensors) -> tuple[Tensor, ...]:
    """Expand all tensors to their common shape."""
    tensors = tensors[0] if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else tensors
    shape = broadcast_shapes(*(x.shape for x in tensors))
    return tuple([sh.expand(x, shape=shape) for x in tensors])


@api(method=False, name="broadcast_shapes")
def common_shape(*shapes) -> Size:
    """Return the shape to which all shapes broadcast."""
    given = [integers(s, "a shape") for s in shapes]
    if any(n < 0 for s in given for n in s):
        raise ShapeError(f"broadcast_shapes: sizes are not negative, got {', '.join(map(str, given))}")
    return Size(broadcast_shapes(*given))


# Windows and diagonals.


@api(sees=sh.slice_)
def narrow(input, dim, start, length):
    """Return a view of `length` indices from `start` along a dimension."""
    if not input.ndim:
        raise DimError("narrow cannot be applied to a 0-d tensor")
    d = canonical_dim(dim, input.ndim)
    n, start = shape_of(input)[d], as_int(start)
    begin = start + n if start < 0 else start
    if not (0 <= begin <= n) or length < 0 or begin + length > n:
        raise DimError(f"narrow: start {start} and length {length} leave dim {dim} of size {n}")
    return sh.slice_(input, dim=d, start=begin, step=1, stop=begin + length)


@api(sees=sh.select)
def select(input, dim, index):
    """Return a view of one index along a dimension, which disappears."""
    if not input.ndim:
        raise DimError("select cannot be applied to a 0-d tensor")
    d = canonical_dim(dim, input.ndim)
    n, index = shape_of(input)[d], as_int(index)
    if not -n <= index < n:
        raise DimError(f"select: index {index} is out of range for dim {dim} of size {n}")
    return sh.select(input, dim=d, index=index + n if index < 0 else index)


@api(function=False, sees=sh.unfold)
def unfold(self, dimension, size, step):
    """Return windows of `size` every `step` along a dimension, as a new last dimension."""
    d = canonical_dim(dimension, self.ndim)
    if not self.ndim:
        if size > 1:
            raise ShapeError(f"unfold: size {size} is larger than the one element of a 0-d tensor")
        return sh.slice_(look(sh.reshape, self, {"shape": (1,)}), dim=0, start=0, step=1, stop=size)
    return sh.unfold(self, dim=d, size=size, step=step)


@api(sees=sh.diagonal)
def diagonal(input, offset=0, dim1=0, dim2=1):
    """Return the diagonal of two dimensions, as a new last dimension (a view)."""
    d1, d2 = canonical_dim(dim1, input.ndim), canonical_dim(dim2, input.ndim)
    if d1 == d2:
        raise ShapeError(f"diagonal: dim1 {dim1} and dim2 {dim2} are the same dimension")
    return sh.diagonal(input, offset=offset, dim1=d1, dim2=d2)


@api(memoised=True)
def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    """Return zeros with the last dimension on the diagonal of two new ones."""
    n = input.ndim + 1
    d1, d2 = canonical_dim(dim1, n), canonical_dim(dim2, n)
    if d1 == d2:
        raise ShapeError(f"diag_embed: dim1 {dim1} and dim2 {dim2} are the same dimension")
    side = shape_of(input)[-1] + abs(offset)
    rest = iter(shape_of(input)[:-1])
    shape = tuple([side if i in (d1, d2) else next(rest) for i in range(n)])
    return sh.diagonal_scatter(input, shape=shape, offset=offset, dim1=d1, dim2=d2)


@api(memoised=True)
def diag(input, diagonal=0, *, out=None):
    """Return a vector as a diagonal matrix, or a copy of a matrix's diagonal."""
    if input.ndim == 1:
        return deliver(diag_embed(input, diagonal), out, "diag")
    if input.ndim != 2:
        raise ShapeError(f"diag takes a vector or a matrix, got shape {list(input.shape)}")
    return deliver(ew.copy(sh.diagonal(input, offset=diagonal, dim1=0, dim2=1)), out, "diag")


@api(memoised=True)
def diagflat(input, offset=0):
    """Return a diagonal matrix of all elements."""
    return diag_embed(ravel(input), offset)


@api(inplace=True, memoised=True)
def tril(input, diagonal=0, *, out=None):
    """Return a copy with zeros above a diagonal."""
    return deliver(triangle_part(input, offset=as_int(diagonal), lower=True), out, "tril")


@api(inplace=True, memoised=True)
def triu(input, diagonal=0, *, out=None):
    """Return a copy with zeros below a diagonal."""
    return deliver(triangle_part(input, offset=as_int(diagonal) - 1, lower=False), out, "triu")
