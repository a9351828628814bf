"""Sparse tensors from their parts, from dense ones and from diagonals, with checks of the parts."""

from itertools import pairwise
from typing import Any

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, DTypeError, ShapeError
from ....ir.ops.core.shape import permute
from ....ir.suggestions import unknown_choice
from ...core.placement import move_to, on_device_of
from ...core.tensor import Tensor
from ...state.switches import Switch
from ..register.layouts import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from ..register.register import FUNCTIONS, api
from ..views.conversions import to
from ..views.join_split import cat, stack
from ..views.tensor_factories import counted, require_device, tensor
from .compressed_rows import FORMS, CompressedTensor, Form, in_layout
from .coo import CooTensor
from .handler_table import is_sparse, own_method
from .index_checks import compressed_indices, inside
from .sparse_tensor import SparseTensor

INDEX = (dt.int64, dt.int32)


def _values(values, dtype, device) -> Tensor:
    """Return values as a new tensor, with the history of the argument."""
    require_device(device)
    v = values if isinstance(values, Tensor) else tensor(values)
    if isinstance(v, SparseTensor):
        raise DTypeError("the values of a sparse tensor are a dense tensor; call values()")
    made = move_to(v if dtype is None else to(v, dtype), v.device if device is None else device)
    return permute(made, dims=tuple(range(made.ndim))) if made is v and v.requires_grad else made


def _indices(indices, values, kinds=INDEX) -> Tensor:
    i = indices if isinstance(indices, Tensor) else tensor(indices, dtype=dt.int64)
    if (i.dtype.is_inexact and i.numel()) or i.dtype is dt.bool_:
        raise DTypeError(f"indices of a sparse tensor are integers, got {i.dtype.name}")
    return on_device_of(i if i.dtype in kinds else to(i, dt.int64), values)


def _finished(tensor, requires_grad, pin_memory=False) -> Any:
    tensor = tensor.pin_memory() if pin_memory else tensor
    return tensor.like(tensor._v.detach()).requires_grad_() if requires_grad else tensor


@api(method=False)
def sparse_coo_tensor(indices=None, values=None, size=None, *, dtype=None, device=None, pin_memory=False, requires_grad=False,
                      check_invariants=None, is_coalesced=None) -> Tensor:
    """Return a sparse tensor of values at indices (one row for each sparse dimension); a size alone gives no entries."""
    if indices is None and size is None:
        raise DTypeError("sparse_coo_tensor takes indices and values, or a size")
    if values is None:
        indices, values, size = _none_of(indices if size is None else size, dtype)
    v = _values(values, dtype, device)
    i = _indices(indices, v, (dt.int64,))
    if i.ndim == 1 and not i.shape[0] and not v.shape[0]:
        i = i.reshape(0 if size is None else len(size) - v.ndim + 1, 0)
    v = v if v.ndim else v.reshape(1)
    if i.ndim != 2 or i.shape[1] != v.shape[0]:
        raise ShapeError(f"sparse_coo_tensor takes indices of shape [dims, entries] and one value for each entry, got "
                         f"{i.aval} and {v.aval}")
    if size is None:
        largest = i.amax(1).tolist() if i.numel() else [-1] * i.shape[0]
        size = (*[n + 1 for n in largest], *v.shape[1:])
    if len(size) != i.shape[0] + v.ndim - 1 or tuple(size[i.shape[0]:]) != tuple(v.shape[1:]):
        raise ShapeError(f"sparse_coo_tensor: size {list(size)} must have {i.shape[0]} sparse dimensions, then those of a "
                         f"value, {list(v.shape[1:])}")
    if not i.is_meta:
        i = inside("sparse_coo_tensor", i, size[:i.shape[0]])
    made = CooTensor(i, v, size, bool(v.shape[0] < 2 if is_coalesced is None else is_coalesced))
    if is_coalesced and is_checked(check_invariants):
        _require_coalesced(made)
    return _finished(made, requires_grad, pin_memory)


def _none_of(size, dtype):
    """Return indices and values of no entry, and the size."""
    sizes = tuple(size)
    return (FUNCTIONS["empty"]((len(sizes), 0), dtype=dt.int64), FUNCTIONS["empty"]((0,), dtype=dtype), sizes)


def _require_coalesced(x):
    at = x.linear().tolist() if x.sparse_dim() else [0] * x._nnz()
    if any(a >= b for a, b in pairwise(at)):
        raise ShapeError("sparse_coo_tensor: is_coalesced=True, but indices are not sorted, or one is repeated")


# Compressed.


@api(method=False)
def sparse_compressed_tensor(compressed_indices, plain_indices, values, size=None, *, dtype=None, layout=None, device=None,
                             pin_memory=False, requires_grad=False, check_invariants=None) -> Tensor:
    """Return a sparse matrix (or batch) from starts of rows or columns, the other indices, and values.

    `check_invariants` is ignored: indices are always checked, since reading beyond them is not safe.
    """
    if layout not in FORMS:
        raise unknown_choice("sparse_compressed_tensor: layout", layout, FORMS)
    return _compressed(f"{layout}_tensor", FORMS[layout], compressed_indices, plain_indices,
                       values, size, dtype, device, requires_grad, pin_memory)


def _compressed(name, form: Form, starts, others, values, size, dtype, device, requires_grad, pin_memory):
    v = _values(values, dtype, device)
    starts, others = _indices(starts, v), _indices(others, v)
    if starts.dtype is not others.dtype:
        starts, others = to(starts, dt.int64), to(others, dt.int64)
    n, depth = starts.ndim, starts.ndim + 2 * form.blocked
    fits = n and others.ndim == n and v.ndim >= depth and starts.shape[:-1] == others.shape[:-1] == v.shape[:n - 1]
    if not fits or not starts.shape[-1] or others.shape[-1] != v.shape[n - 1]:
        each = "a block" if form.blocked else "a number"
        raise ShapeError(f"{name} takes {form.names[0]}, {form.names[1]} and one value ({each}, maybe of dense dims) for each "
                         f"of the latter, got {starts.aval}, {others.aval} and {v.aval}")
    block = tuple(v.shape[n:n + 2]) if form.blocked else (1, 1)
    count = (starts.shape[-1] - 1) * block[form.dim]
    if size is None:
        other = (int(others.max()) + 1 if others.numel() else 0) * block[1 - form.dim]
        size = (*starts.shape[:-1], *((count, other) if form.dim == 0 else (other, count)), *v.shape[depth:])
    matrix = tuple(size[n - 1:n + 1])
    want = (*starts.shape[:-1], *matrix, *v.shape[depth:])
    if tuple(size) != want or len(matrix) != 2 or matrix[form.dim] != count or any(m % b for m, b in zip(matrix, block)):
        raise ShapeError(f"{name}: size {list(size)} does not fit {form.names[0]} {starts.aval} and values {v.aval}")
    made = CompressedTensor(starts, others, v, size, form)
    if not starts.is_meta:
        starts, others = compressed_indices(name, made, matrix[1 - form.dim] // block[1 - form.dim])
        made = CompressedTensor(starts, others, v, size, form)
    return _finished(made, requires_grad, pin_memory)


def _publish_compressed(form, doc):
    """Publish the factory of a compressed layout, whose arguments are called after the indices of rows and columns."""
    name = f"{form}_tensor"

    def require_own_layout(layout):
        if layout not in (None, form):
            raise ArgumentError(f"{name} makes tensors of the layout {form}, got layout={layout}; sparse_compressed_tensor "
                                "makes the others")

    def of_rows(crow_indices, col_indices, values, size=None, *, dtype=None, layout=None, device=None, pin_memory=False,
                requires_grad=False, check_invariants=None) -> Tensor:
        """`check_invariants` is ignored: indices are always checked, since reading beyond them is not safe."""
        require_own_layout(layout)
        return _compressed(name, FORMS[form], crow_indices, col_indices, values, size, dtype, device, requires_grad, pin_memory)

    def of_columns(ccol_indices, row_indices, values, size=None, *, dtype=None, layout=None, device=None, pin_memory=False,
                   requires_grad=False, check_invariants=None) -> Tensor:
        """`check_invariants` is ignored: indices are always checked, since reading beyond them is not safe."""
        require_own_layout(layout)
        return _compressed(name, FORMS[form], ccol_indices, row_indices, values, size, dtype, device, requires_grad, pin_memory)

    fn = of_rows if FORMS[form].dim == 0 else of_columns
    fn.__doc__ = f"{doc} {fn.__doc__}"
    api(method=False, name=name)(fn)


_publish_compressed(sparse_csr, "Return a sparse matrix from row starts (one more than rows), columns and values.")
_publish_compressed(sparse_csc, "Return a sparse matrix from column starts (one more than columns), rows and values.")
_publish_compressed(sparse_bsr, "Return a sparse matrix of blocks from starts of block rows, block columns and blocks.")
_publish_compressed(sparse_bsc, "Return a sparse matrix of blocks from starts of block columns, block rows and blocks.")


# In files.


def described(x) -> tuple:
    """Return (layout, size, is coalesced, parts...) of a sparse tensor, for files and pickles."""
    return x.layout[:], tuple(x.shape), isinstance(x, CooTensor) and x.is_coalesced(), *x.parts()[0]


def rebuilt(layout, size, is_coalesced, *parts) -> Any:
    """Return the checked sparse tensor of a description by `described`."""
    *indices, values = parts
    if layout == sparse_coo:
        made = sparse_coo_tensor(*indices, values.detach(), size, is_coalesced=is_coalesced)
    else:
        made = sparse_compressed_tensor(*indices, values.detach(), size, layout=layout)
    return made.like(values)


def _reduce(self, protocol):
    """Pickle a sparse tensor by its parts."""
    return rebuilt, described(self)


SparseTensor.__reduce_ex__ = _reduce        # type: ignore[assignment,method-assign]


# Whether claims are checked.


# Of COO tensors that they are coalesced; indices that memory safety depends on always are.
checks_claims = Switch("whether the invariants of sparse tensors are checked", False)


def is_checked(check_invariants) -> bool:
    """Return whether claims are checked, by an argument or the global setting."""
    return checks_claims.get() if check_invariants is None else bool(check_invariants)


# From dense tensors.


@api(function=False, names=("to_sparse_coo",))
def to_sparse(self, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None) -> Tensor:
    """Return the nonzero entries as a sparse tensor of a layout."""
    if sparse_dim is not None:
        if layout is not None or blocksize is not None or dense_dim is not None:
            raise ArgumentError("to_sparse takes either sparse_dim, or layout, blocksize and dense_dim")
        dense_dim = self.ndim - sparse_dim
    return in_layout(self, sparse_coo if layout is None else layout, blocksize, dense_dim)


def _publish_conversion(form, doc):
    def of_blocks(self, blocksize, dense_dim=None) -> Tensor:
        return in_layout(self, form, blocksize, dense_dim)

    def of_numbers(self, dense_dim=None) -> Tensor:
        return in_layout(self, form, None, dense_dim)

    fn = of_blocks if FORMS[form].blocked else of_numbers
    fn.__doc__ = doc
    api(function=False, name=f"to_{form}")(fn)


_publish_conversion(sparse_csr, "Return the nonzero entries of matrices in compressed rows.")
_publish_conversion(sparse_csc, "Return the nonzero entries of matrices in compressed columns.")
_publish_conversion(sparse_bsr, "Return the nonzero blocks of matrices in compressed rows.")
_publish_conversion(sparse_bsc, "Return the nonzero blocks of matrices in compressed columns.")


@api(function=False)
def to_dense(self, dtype=None, *, masked_grad=None) -> Tensor:
    """Return this dense tensor, in a dtype if given. `masked_grad` is ignored: a dense tensor has no mask."""
    return self if dtype is None else to(self, dtype)


def spdiags(diagonals, offsets, shape, layout=None) -> Any:
    """Return a sparse matrix with rows as its diagonals: element j of each is in column j, at the diagonal's offset."""
    rows = diagonals.reshape(1, -1) if diagonals.ndim < 2 else diagonals
    offsets = offsets.reshape(-1)
    if layout not in (None, sparse_coo, sparse_csr, sparse_csc):
        raise ArgumentError(f"spdiags: layout must be sparse_coo, sparse_csr or sparse_csc, got {layout}")
    if rows.ndim != 2 or offsets.shape[0] != rows.shape[0] or len(shape) != 2:
        raise ShapeError(f"spdiags takes diagonals (count, length), as many offsets and the shape of a matrix, got "
                         f"{rows.aval}, {offsets.aval} and {list(shape)}")
    shifts = offsets.tolist()
    if len(set(shifts)) != len(shifts):
        raise ArgumentError(f"spdiags: each diagonal is given once, got offsets {shifts}")
    columns, parts, values = on_device_of(counted(rows.shape[1]), rows), [], []
    for row, shift in zip(rows.unbind(0), shifts):
        first, last = max(shift, 0), min(shape[1], shape[0] + shift, rows.shape[1])
        inside = columns[first:max(first, last)]
        parts.append(stack([inside - shift, inside]))
        values.append(row[first:max(first, last)])
    if not parts:
        return FUNCTIONS["zeros"](shape, dtype=rows.dtype, device=rows.device, layout=layout or sparse_coo)
    made = CooTensor(cat(parts, 1), cat(values), shape).coalesce()
    return made if layout in (None, sparse_coo) else in_layout(made, layout)


# Methods of dense tensors.


@api(function=False)
def sparse_dim(self) -> int:
    """Return how many dimensions are sparse: none of a dense tensor."""
    return own_method(self, "sparse_dim")(self) if is_sparse(self) else 0


@api(function=False)
def dense_dim(self) -> int:
    """Return how many dimensions are dense: all of a dense tensor."""
    return own_method(self, "dense_dim")(self) if is_sparse(self) else self.ndim


def _of_sparse_ones(name):

    def method(self, *args) -> Tensor:
        own = own_method(self, name) if is_sparse(self) else None
        if own is not None:
            return own(self, *args)
        raise DTypeError(f"{name}() is a method of sparse tensors, and this one is dense; see to_sparse() and to_sparse_csr()")

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"{name}() of sparse tensors, which have a method of their own; an error for dense ones."
    api(function=False)(method)


for _name in ("indices", "values", "coalesce", "is_coalesced", "crow_indices", "col_indices", "ccol_indices", "row_indices",
              "sparse_resize_", "sparse_resize_and_clear_"):
    _of_sparse_ones(_name)
