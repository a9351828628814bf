"""Shape functions of sparse tensors: entries keep their values, their positions change."""

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, DimError, DTypeError, ShapeError
from ....ir.opdef.aval import canonical_dim
from ....ir.ops.core import elementwise as ew
from ....ir.ops.index import indexing as ix
from ...core.placement import on_device_of
from ...core.tensor import Tensor
from ..register.register import FUNCTIONS, api
from ..views.conversions import to
from ..views.join_split import cat, stack, total_of
from ..views.tensor_factories import counted, filled
from .compressed_rows import CompressedTensor, compressed
from .coo import CooTensor
from .handler_table import handles
from .index_checks import inside
from .sparse_elementwise import at_entries, compressed_as
from .sparse_tensor import SparseTensor, kind_text


@handles("transpose", "swapaxes", "swapdims")
def transpose(fn, input, dim0, dim1):
    """Swap two dims; compressed rows become compressed columns."""
    a, b = canonical_dim(dim0, input.ndim), canonical_dim(dim1, input.ndim)
    order = list(range(input.ndim))
    order[a], order[b] = b, a
    if isinstance(input, CompressedTensor) and {a, b} == {input.at, input.at + 1}:
        return input.transposed()
    return permute(fn, input, order)


@handles("t", "adjoint")
def transpose_matrix(fn, input):
    """Transpose a matrix."""
    if input.ndim > 2 and fn.__name__ == "t":
        raise ShapeError(f"t() takes a matrix, got shape {list(input.shape)}; see transpose()")
    found = transpose(fn, input, -2, -1) if input.ndim > 1 else input
    return found.conj() if fn.__name__ == "adjoint" else found


@handles("permute", "movedim", "moveaxis")
def permute(fn, input, *positional, dims=None, source=None, destination=None):
    """Reorder dims; sparse ones stay before dense ones."""
    dims = positional if dims is None and source is None else (source, destination) if dims is None else (dims,)
    if "move" in fn.__name__:
        order = FUNCTIONS["movedim"](FUNCTIONS["empty"](tuple(range(input.ndim)), device="meta"), *dims).shape
    else:
        order = dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims
    order = [canonical_dim(d, input.ndim) for d in order]
    if sorted(order) != list(range(input.ndim)):
        raise DimError(f"permute names each dim once, got {order}")
    if order == list(range(input.ndim)):
        return input
    if isinstance(input, CompressedTensor):
        at, swapped = input.at, list(range(input.ndim))
        swapped[at:at + 2] = at + 1, at
        return input.transposed() if order == swapped else compressed_as(permute(fn, input.coo(), order), input)
    n = input.sparse_dim()
    if sorted(order[:n]) != list(range(n)):
        raise DimError(f"{fn.__name__} of a sparse tensor keeps its {n} sparse dimensions before the dense ones, got {order}")
    rows, shape = input.rows(), [input.shape[d] for d in order]
    values = input._v.permute(0, *[d - n + 1 for d in order[n:]]) if order[n:] != list(range(n, input.ndim)) else input._v
    return CooTensor(stack([rows[d] for d in order[:n]]), values, shape, input._coalesced and order[:n] == list(range(n)))


@handles("unsqueeze")
def _unsqueeze(fn, input, dim):
    x = _coordinates(fn, input)
    dim, n = canonical_dim(dim, x.ndim + 1), x.sparse_dim()
    shape = (*x.shape[:dim], 1, *x.shape[dim:])
    if dim > n:
        return CooTensor(x._i, x._v.unsqueeze(dim - n + 1), shape, x._coalesced)
    rows = list(x.rows())
    rows.insert(dim, filled(x._i, (x._nnz(),), 0, dt.int64))
    return CooTensor(stack(rows), x._v, shape, x._coalesced)


@handles("squeeze")
def _squeeze(fn, input, dim=None, *more):
    x, dim = _coordinates(fn, input), (dim, *more) if more else dim
    dims = range(x.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    gone = {d for d in (canonical_dim(d, x.ndim) for d in dims) if x.shape[d] == 1}
    n, rows = x.sparse_dim(), x.rows()
    left = [d for d in range(n) if d not in gone]
    if not left and n:
        left, gone = [n - 1], gone - {n - 1}            # one sparse dim stays
    inner = tuple([d - n + 1 for d in sorted(gone) if d >= n])
    values = x._v.squeeze(inner) if inner else x._v
    return CooTensor(stack([rows[d] for d in left]), values, [s for d, s in enumerate(x.shape) if d not in gone], x._coalesced)


def _coordinates(fn, x):
    if not isinstance(x, CooTensor):
        raise DTypeError(f"{fn.__name__} takes a sparse_coo tensor, got {kind_text(x)}; call to_sparse_coo() or to_dense()")
    return x


# Parts.


def _hits(x, keep, rows, dim, size=None):
    """Return the entries where a mask is true, with new indices along a dim (None: without that dim)."""
    hit, = FUNCTIONS["nonzero"](keep, as_tuple=True)
    rows = [r if rows is None or d != dim else rows for d, r in enumerate(x.rows()) if rows is not None or d != dim]
    shape = [s if size is None or d != dim else size for d, s in enumerate(x.shape) if size is not None or d != dim]
    values = ix.index(x._v, hit)
    if not rows:
        total = FUNCTIONS["sum"](values, 0, dtype=x.dtype)
        return total
    return CooTensor(ix.index(stack(rows).t(), hit).t(), values, shape, x._coalesced)


@handles("select")
def select(fn, input, dim, index):
    """Return one index of a dim: sparse while sparse dims are left."""
    x, dim = input.coo(), canonical_dim(dim, input.ndim)
    index = index.item() if isinstance(index, Tensor) else index
    size, n = x.shape[dim], x.sparse_dim()
    if not -size <= index < size:
        raise DimError(f"index {index} is out of range for dimension {dim} with size {size}")
    index += size * (index < 0)
    if dim >= n:
        return CooTensor(x._i, x._v.select(dim - n + 1, index), [s for d, s in enumerate(x.shape) if d != dim], x._coalesced)
    return _hits(x, ew.eq(x.rows()[dim], index), None, dim)


@handles("narrow", "narrow_copy")
def narrow(fn, input, dim, start, length):
    """Return consecutive indices of a dim."""
    x, dim = input.coo(), canonical_dim(dim, input.ndim)
    start = start.item() if isinstance(start, Tensor) else start
    start += x.shape[dim] * (start < 0)
    if not (0 <= start <= start + length <= x.shape[dim]):
        raise ShapeError(f"narrow: {length} from {start} on leave dim {dim} of size {x.shape[dim]}")
    n = x.sparse_dim()
    if dim >= n:
        shape = [length if d == dim else s for d, s in enumerate(x.shape)]
        found = CooTensor(x._i, x._v.narrow(dim - n + 1, start, length), shape, x._coalesced)
    else:
        at = x.rows()[dim]
        found = _hits(x, ew.ge(at, start) & ew.lt(at, start + length), ew.sub(at, start), dim, length)
    return compressed_as(found, input) if isinstance(input, CompressedTensor) and not input._form.blocked else found


@handles("__getitem__", "getitem")
def _getitem(fn, input, key):
    """Index by numbers, slices without steps, None and vectors of numbers, dim by dim."""
    if not isinstance(input, SparseTensor):
        raise DTypeError("a sparse tensor is no index; call to_dense()")
    keys = list(key) if isinstance(key, tuple) else [key]
    if any(k is Ellipsis for k in keys):
        at = next(i for i, k in enumerate(keys) if k is Ellipsis)
        named = sum(k is not None for k in keys) - 1
        keys[at:at + 1] = [slice(None)] * (input.ndim - named)
    found, dim, listed = input, 0, 0
    for k in keys:
        if not isinstance(found, SparseTensor):
            return found[tuple(keys[keys.index(k):])] if dim == 0 else found
        if k is None:
            found, dim = _unsqueeze(FUNCTIONS["unsqueeze"], found, dim), dim + 1
        elif isinstance(k, slice):
            start, stop, step = k.indices(found.shape[dim])
            if step != 1:
                raise ArgumentError("a sparse tensor is sliced in steps of 1; see index_select()")
            whole = (start, stop) == (0, found.shape[dim])
            found = found if whole else narrow(FUNCTIONS["narrow"], found, dim, start, max(0, stop - start))
            dim += 1
        elif isinstance(k, Tensor) and k.ndim == 1 and k.dtype is not dt.bool_ and not listed:
            found, dim, listed = index_select(FUNCTIONS["index_select"], found, dim, k), dim + 1, 1
        elif (isinstance(k, int) and type(k) is not bool) or (isinstance(k, Tensor) and not k.ndim and k.dtype is not dt.bool_):
            found = select(FUNCTIONS["select"], found, dim, k)
        else:
            raise DTypeError(f"a sparse tensor is indexed by numbers, slices, None and one vector of numbers, not by "
                             f"{kind_text(k)}; call to_dense()")
    return found


@handles("index_select")
def index_select(fn, input, dim, index):
    """Return the indices of a dim in the order of `index`, repeated as there."""
    if isinstance(index, SparseTensor):
        raise DTypeError("a sparse tensor is no index; call to_dense()")
    x, dim = input.coo(), canonical_dim(dim, input.ndim)
    n, size, count = x.sparse_dim(), x.shape[dim], index.shape[0] if index.ndim else 1
    shape = [count if d == dim else s for d, s in enumerate(x.shape)]
    wanted = on_device_of(to(index.reshape(-1), dt.int64), x._i)
    if not wanted.is_meta:
        wanted = inside("index_select", wanted.reshape(1, -1), (size,), dim).reshape(-1)
    if dim >= n:
        return CooTensor(x._i, FUNCTIONS["index_select"](x._v, dim - n + 1, wanted), shape, x._coalesced)
    # Entries sorted by their index along dim; each wanted index takes its segment.
    order = FUNCTIONS["argsort"](x.rows()[dim], stable=True)
    at = ix.index(x.rows()[dim], order)
    first = FUNCTIONS["searchsorted"](at, wanted)
    counts = ew.sub(FUNCTIONS["searchsorted"](at, wanted, right=True), first)
    number = ix.repeat_index(counts, total=total_of(counts))
    before = ew.sub(FUNCTIONS["cumsum"](counts, 0), counts)
    step = ew.sub(on_device_of(counted(number.shape[0]), number), ix.index(before, number))
    entry = ix.index(order, ew.add(ix.index(first, number), step))
    rows = [number if d == dim else ix.index(r, entry) for d, r in enumerate(x.rows())]
    found = CooTensor(stack(rows), ix.index(x._v, entry), shape, x._coalesced and dim == 0)
    return compressed(found, input._form) if isinstance(input, CompressedTensor) and not (input._form.blocked or input.batch) \
        else found


@handles("unbind")
def _unbind(fn, input, dim=0):
    return tuple([select(fn, input, dim, i) for i in range(input.shape[canonical_dim(dim, input.ndim)])])


@handles("split", "chunk")
def _split(fn, input, size, dim=0):
    total = input.shape[canonical_dim(dim, input.ndim)]
    sizes = [p.shape[0] for p in fn(FUNCTIONS["empty"]((total,), device="meta"), size)]
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    return tuple([narrow(FUNCTIONS["narrow"], input, dim, a, n) for a, n in zip(starts, sizes)])


# Several tensors.


def _all_sparse(fn, tensors):
    for t in tensors:
        if not isinstance(t, SparseTensor) or t.sparse_dim() != tensors[0].sparse_dim():
            raise DTypeError(f"{fn.__name__} takes sparse tensors with equally many sparse dimensions, and no dense ones; got "
                             f"{', '.join(kind_text(x) for x in tensors)}")


@handles("cat", "concat", "concatenate", several=True)
def concatenate(fn, tensors, dim=0, *, axis=None, out=None):
    """Join tensors along a dim."""
    tensors = list(tensors)
    _all_sparse(fn, tensors)
    first, dim = tensors[0], canonical_dim(dim if axis is None else axis, tensors[0].ndim)
    rest = [tuple(s for d, s in enumerate(t.shape) if d != dim) for t in tensors]
    if len(set(rest)) != 1 or len({t.ndim for t in tensors}) != 1:
        raise ShapeError(f"{fn.__name__}: sizes differ along dim {dim} alone, got {[tuple(t.shape) for t in tensors]}")
    parts, n = [t.coo() for t in tensors], first.coo().sparse_dim()
    indices, before = [], 0
    for p in parts:
        rows, shift = list(p.rows()), before
        if dim < n:
            rows[dim] = ew.add(rows[dim], shift)
        indices.append(stack(rows) if dim < n else p._i)
        before += p.shape[dim]
    shape = [before if d == dim else s for d, s in enumerate(first.shape)]
    sorted_so_far = dim == 0 and all(p._coalesced for p in parts)
    values = cat([p._v for p in parts]) if dim < n else cat(_widened([p._v for p in parts], dim - n + 1))
    found = CooTensor(cat(indices, 1), values, shape, sorted_so_far)
    same = all(t.layout == first.layout for t in tensors)
    return compressed_as(found, first) if same and isinstance(first, CompressedTensor) else found


def _widened(values, dim):
    """Pad values to the full size of a dense dim, each at its own offset."""
    sizes = [v.shape[dim] for v in values]
    made = []
    for i, v in enumerate(values):
        around = [v.new_zeros([n if d == dim else s for d, s in enumerate(v.shape)])
                  for n in (sum(sizes[:i]), sum(sizes[i + 1:]))]
        made.append(cat([around[0], v, around[1]], dim))
    return made


@handles("stack", several=True)
def _stack(fn, tensors, dim=0, *, out=None):
    tensors = [t.coo() if isinstance(t, SparseTensor) else t for t in tensors]
    _all_sparse(fn, tensors)
    unsqueezed = FUNCTIONS["unsqueeze"]
    return concatenate(fn, [_unsqueeze(unsqueezed, t, dim) for t in tensors], canonical_dim(dim, tensors[0].ndim + 1))


# Entries of another tensor, and sizes in place.


@api(function=False)
def sparse_mask(self, mask) -> Tensor:
    """Return the values of a tensor at the positions of a sparse one."""
    return _sparse_mask(sparse_mask, self, mask)


@api(function=False)
def resize_as_sparse_(self, the_template) -> Tensor:
    """Take over the size of a sparse tensor; raise for dense ones."""
    return _resize_as_sparse(resize_as_sparse_, self, the_template)


@handles("sparse_mask", several=True)
def _sparse_mask(fn, input, mask):
    if not isinstance(mask, SparseTensor) or tuple(mask.shape) != tuple(input.shape):
        raise ShapeError(f"sparse_mask takes a sparse tensor of shape {list(input.shape)} as its mask, got {kind_text(mask)}")
    mask = mask.entries()
    if not isinstance(input, SparseTensor):
        return mask.like(at_entries(mask, input))
    entries, wanted = input.coo().coalesce(), mask.coo()
    if entries.sparse_dim() != wanted.sparse_dim() or not entries.sparse_dim():
        return mask.like(at_entries(mask, input.to_dense()))
    if not entries._nnz():
        nothing = FUNCTIONS["zeros_like"](mask._v, dtype=input.dtype)
        return mask.like(FUNCTIONS["add"](nothing, entries._v.sum()) if entries._v.requires_grad else nothing)
    at, numbers = entries.linear(), wanted.linear()
    place = FUNCTIONS["searchsorted"](at, numbers).clamp(max=entries._nnz() - 1)
    values = ix.index(entries._v, place)
    there = ew.eq(ix.index(at, place), numbers).reshape(-1, *[1] * (values.ndim - 1))
    return mask.like(FUNCTIONS["where"](there, values, FUNCTIONS["zeros_like"](values)).reshape(mask._v.shape))


@handles("sparse_resize_", "sparse_resize_and_clear_")
def _sparse_resize(fn, input, size, sparse_dim, dense_dim):
    """Change the size in place; entries stay (sizes only grow then) or go."""
    x, clear, size = _coordinates(fn, input), "clear" in fn.__name__, tuple(size)
    if len(size) != sparse_dim + dense_dim:
        raise ShapeError(f"{fn.__name__}: size {size} has {sparse_dim} sparse and {dense_dim} dense dimensions")
    if clear or not x._nnz():
        return x.become(CooTensor(filled(x._i, (sparse_dim, 0), 0, dt.int64), filled(x._v, (0, *size[sparse_dim:]), 0, x.dtype),
                                  size, True))
    if (sparse_dim, dense_dim) != (x.sparse_dim(), x.dense_dim()) or size[sparse_dim:] != tuple(x.shape[sparse_dim:]) or any(
            new < old for new, old in zip(size, x.shape)):
        raise ShapeError(f"{fn.__name__} of a tensor with entries lets sparse sizes grow, got {size} for {list(x.shape)}; see "
                         f"sparse_resize_and_clear_()")
    return x.become(CooTensor(x._i, x._v, size, x._coalesced))


@handles("resize_as_sparse_", several=True)
def _resize_as_sparse(fn, input, other):
    other = _coordinates(fn, other)
    return _sparse_resize(fn, input, other.shape, other.sparse_dim(), other.dense_dim())


@handles("resize_as_", "resize_as_sparse_", several=True)
def _resize_as(fn, input, other, *, memory_format=None):
    """Take over the size of another sparse tensor, in place."""
    if not (isinstance(input, SparseTensor) and isinstance(other, SparseTensor)):
        raise DTypeError(f"{fn.__name__} takes two sparse tensors, got {kind_text(input)} and {kind_text(other)}")
    if tuple(input.shape) == tuple(other.shape):
        return input
    return input.sparse_resize_(tuple(other.shape), other.sparse_dim(), other.dense_dim())
