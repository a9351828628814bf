"""Elementwise functions of sparse tensors.

Functions that are 0 at 0 apply to the values. Sums join entries. Products with dense tensors read these at the positions of
entries; products of two sparse tensors have entries where both do.
"""

import math
from typing import Any

from ....ir import dtype as dt
from ....ir.errors import DTypeError, ShapeError
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core import shape as sh
from ....ir.ops.index import indexing as ix
from ...core.tensor import Tensor
from ..register.register import FUNCTIONS
from ..register.type_promotion import result_type, to_dtype
from ..views.conversions import to
from ..views.join_split import cat
from .compressed_rows import CompressedTensor, compressed, in_layout
from .coo import CooTensor, GappedRows, are_rows, joined
from .handler_table import handles
from .sparse_tensor import SparseTensor, kind_text

# Of one tensor.


_ZERO_AT_ZERO = (
    "abs", "absolute", "__abs__", "angle", "arcsin", "arcsinh", "arctan", "arctanh", "asin", "asinh", "atan", "atanh", "ceil",
    "conj_physical", "deg2rad", "elu", "erf", "erfinv", "expm1", "fix", "floor", "frac", "gelu", "hardshrink", "isinf", "isnan",
    "isneginf", "isposinf", "leaky_relu", "log1p", "mish", "nan_to_num", "rad2deg", "relu", "relu6", "round", "selu", "sgn",
    "sign", "signbit", "silu", "sin", "sinh", "softshrink", "softsign", "sqrt", "square", "tan", "tanh", "tanhshrink", "trunc")


@handles(*_ZERO_AT_ZERO)
def _of_entries(fn, input, *args, **kwargs):
    """Apply a function that is 0 at 0."""
    if kwargs.pop("out", None) is not None:
        raise DTypeError(f"{fn.__name__} of a sparse tensor takes a sparse one as out")
    x = input.entries()
    return x.like(fn(x._v, *args, **kwargs))


@handles("neg", "negative", "__neg__", "positive", "__pos__", "conj", "resolve_conj", "resolve_neg", "imag", "real")
def _of_values(fn, input):
    """Apply a function that is additive over entries."""
    return input.like(fn(input._v))


@handles("float", "double", "half", "bfloat16", "int", "long", "short", "char", "byte", "bool", "cfloat", "cdouble", "chalf")
def _cast(fn, input, *args, **kwargs):
    return _in_dtype(input, fn(input._v, *args, **kwargs))


def _in_dtype(x, values):
    """Return a tensor with cast values. If casting is not additive, entries of equal positions are summed first."""
    if values is x._v:
        return x
    whole = values.dtype.is_inexact or (not x._v.dtype.is_inexact and values.dtype is not dt.bool_)
    return x.like(values) if whole else _added(x, values.dtype)


def _added(x, dtype):
    entries = x.entries()
    return entries.like(to(entries._v, dtype))


@handles("to", "type", "cpu", "cuda", "type_as", several=True)
def _to(fn, input, *args, **kwargs):
    """Move positions together with the values."""
    name = fn.__name__
    if not isinstance(input, SparseTensor):                      # x.to(sparse)
        return input.to(args[0].device, args[0].dtype) if name == "to" else input.to(args[0].dtype)
    if name == "type" and not args and not kwargs:
        path, _, kind = input._v.type().rpartition(".")
        return f"{path}.sparse.{kind}"
    given = [x._v if isinstance(x, SparseTensor) else x for x in args]
    if kwargs.get("memory_format") is not None:
        raise DTypeError("a sparse tensor has no memory format")
    values = fn(input._v, *given, **kwargs)
    here = input if values.device == input.device else input.on(values.device)
    if values.dtype is not input.dtype:
        found = _in_dtype(here, values)
    else:
        found = input if values is input._v else here.like(values)
    if found is not input and kwargs.get("copy"):
        parts, make = found.parts()
        return make(*[p.clone() for p in parts[:-1]], parts[-1])
    return found


@handles("clone")
def _clone(fn, input, *, memory_format=None):
    parts, make = input.parts()
    return make(*[fn(p) for p in parts])


@handles("contiguous", "pin_memory", "share_memory_")
def _as_it_is(fn, input, *args, **kwargs):
    if fn.__name__ == "contiguous":
        return input
    parts, make = input.parts()
    return make(*[fn(p, *args, **kwargs) for p in parts])


@handles("is_floating_point", "is_complex", "is_signed", "element_size", "get_device", "is_pinned", "is_shared", "is_inference",
         "is_conj", "is_neg", "register_hook", "register_post_accumulate_grad_hook")
def _declared_for_values(fn, input, *args, **kwargs):
    if fn.__name__ == "register_hook":
        hook, = args
        return fn(input._v, lambda g: input.values_of(hook(input.like(g))))
    return fn(input._v, *args, **kwargs)


def _values_of(self, gradient):
    if gradient is None:
        return None
    if isinstance(gradient, SparseTensor) and gradient.has_positions_of(self):
        return gradient._v
    return at_entries(self, gradient.to_dense())


SparseTensor.values_of = _values_of


@handles("is_same_size", several=True)
def _is_same_size(fn, input, other):
    return tuple(input.shape) == tuple(other.shape)


@handles("result_type", "can_cast", "promote_types", several=True)
def _result_type(fn, *args):
    """Return the result type for dense tensors of the same dtypes and dims."""
    return fn(*[FUNCTIONS["empty"]((1,) * x.ndim, dtype=x.dtype) if isinstance(x, SparseTensor) else x for x in args])


@handles("detach_")
def _detach_in_place(fn, input):
    input._held = input._v.detach()
    return input


@handles("zeros_like", "empty_like")
def _nothing_like(fn, input, *, dtype=None, device=None, requires_grad=False, layout=None, memory_format=None):
    """Return a tensor of the same size without entries."""
    if layout not in (None, input.layout):
        return FUNCTIONS["zeros"](tuple(input.shape), dtype=dtype or input.dtype, device=device or input.device, layout=layout,
                                  requires_grad=requires_grad)
    made = without_entries(input)
    made = made.to(device=device, dtype=dtype)
    return made.requires_grad_() if requires_grad else made


def without_entries(x):
    """Return a tensor of the same size and layout without entries."""
    if isinstance(x, CompressedTensor):
        at = x.at
        values = x._v.detach()[(slice(None),) * at + (slice(0, 0),)]
        return CompressedTensor(FUNCTIONS["zeros_like"](x._starts), x._others[..., :0], values, x._size, x._form)
    return CooTensor(x._i[:, :0], x._v.detach()[:0], x._size, True)


@handles("new_zeros", "new_empty")
def _new_zeros(fn, input, *sizes, size=None, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """Return zeros of this tensor's dtype and layout."""
    return FUNCTIONS["zeros"](*sizes, size=size, dtype=dtype or input.dtype, device=device or input.device,
                              layout=layout or input.layout, requires_grad=requires_grad, pin_memory=pin_memory)


@handles("new")
def _new(fn, input, *data, size=None, device=None):
    """Return a COO tensor of the same dtype: of indices and values (and a size), of a size, or empty."""
    if len(data) > 1 and isinstance(data[0], Tensor):
        return FUNCTIONS["sparse_coo_tensor"](*data, dtype=input.dtype, device=device or input.device)
    data = (size,) if size is not None else data or (0,)
    if input.layout != "sparse_coo" or any(isinstance(x, (list, Tensor)) for x in data):
        raise DTypeError(f"new of a {input.layout} tensor takes indices and values, or a size, of sparse_coo alone")
    return _new_zeros(fn, input, *data, device=device)


# In place.


@handles("zero_")
def _zero(fn, input):
    """Remove COO entries; compressed entries stay, as zeros."""
    if isinstance(input, CompressedTensor):
        input._v.zero_()
        return input
    return input.become(without_entries(input))


@handles("copy_", several=True)
def _copy(fn, input, other, non_blocking=False):
    if isinstance(input, SparseTensor) != isinstance(other, SparseTensor) or input.layout != other.layout:
        raise DTypeError(f"copy_ does not go between layouts, got {input.layout} and {other.layout}; use to_dense() or "
                         f"to_sparse()")
    if tuple(input.shape) != tuple(other.shape):
        raise ShapeError(f"copy_ of a sparse tensor of shape {list(other.shape)} into one of {list(input.shape)}")
    if input.has_positions_of(other):
        input._v.copy_(other._v)
        return input
    return input.become(other.to(input.device, input.dtype).clone())


# Of two tensors.


def _require_same_shape(name, a, b):
    if tuple(a.shape) != tuple(b.shape):
        raise ShapeError(f"{name} of a sparse tensor takes tensors of one shape, got {list(a.shape)} and {list(b.shape)}")


def _is_number(x) -> bool:
    return not isinstance(x, Tensor) or (not isinstance(x, SparseTensor) and x.ndim == 0)


@handles("add", "__add__", "__radd__", "sub", "subtract", "__sub__", "__rsub__", "rsub", several=True)
def _sum(fn, input, other, *, alpha=1, out=None):
    """Return the entries of both tensors one after the other; with a dense tensor the sum is dense."""
    name = fn.__name__
    if _is_number(input) or _is_number(other) or out is not None:
        raise DTypeError(f"{name} of a sparse tensor and a number is not sparse; call to_dense()" if out is None else
                         f"{name} of a sparse tensor takes no out")
    if "rsub" in name:
        input, other = other, input
    _require_same_shape(name, input, other)
    if GappedRows in (type(input), type(other)) and "add" in name and alpha == 1 and are_rows(input, other):
        return joined(input, other)
    d = result_type(_sample(input), _sample(other))
    factor = -alpha if "sub" in name else alpha
    if not isinstance(factor, (int, float, complex)):
        raise DTypeError(f"{name} of a sparse tensor takes a Python number as alpha, got {alpha!r}")
    if not (isinstance(input, SparseTensor) and isinstance(other, SparseTensor)):
        if isinstance(other, SparseTensor):
            return _into_dense(to_dtype(input, d), _scaled(other.to(d), factor))
        return _into_dense(_scaled(to_dtype(other, d), factor), input.to(d))
    a: CooTensor = input.coo().to(d)        # type: ignore[assignment]
    b: CooTensor = _scaled(other.to(d), factor).coo()
    if a.sparse_dim() != b.sparse_dim():
        if a._nnz() and b._nnz():
            raise ShapeError(f"{name} takes sparse tensors with equally many sparse dimensions, got {a.sparse_dim()} and "
                             f"{b.sparse_dim()}")
        whole = a if a._nnz() else b
        return whole.like(ew.copy(whole._v))
    if input.layout == other.layout and isinstance(input, CompressedTensor):
        if input.has_distinct_positions_of(other):
            return input.like(ew.add(to_dtype(input._v, d), _scaled(to_dtype(other._v, d), factor)))
        return compressed_as(CooTensor(cat([a._i, b._i], 1), cat([a._v, b._v]), a.shape), input)
    return _joined_entries(a, b)


def _joined_entries(a, b) -> CooTensor:
    """Return the sum of two COO tensors, coalesced if they are or if there would be more entries than positions."""
    if a._coalesced and b._coalesced and a.has_positions_of(b):
        return a.like(ew.add(a._v, b._v))
    both = CooTensor(cat([a._i, b._i], 1), cat([a._v, b._v]), a.shape)
    positions = math.prod(a._size[:a.sparse_dim()])
    return both.coalesce() if (a._coalesced and b._coalesced) or both._nnz() > positions else both


def compressed_as(x, like):
    """Convert a COO tensor to the compressed layout of another one."""
    if like.batch:
        return in_layout(x.to_dense(), like.layout, like.blocksize if like._form.blocked else None, like.dense_dim())
    return compressed(x, like._form, like.blocksize if like._form.blocked else None)


def _sample(x) -> Tensor:
    """Return a dense stand-in of a tensor, from which dtypes are computed."""
    return x._v if isinstance(x, SparseTensor) else x


def _scaled(x, factor):
    if factor == 1:
        return x
    return x.like(_scaled(x._v, factor)) if isinstance(x, SparseTensor) else FUNCTIONS["mul"](x, factor)


def _into_dense(dense, entries):
    entries = entries.coo()
    if not dense.numel() or not entries.sparse_dim():
        return FUNCTIONS["add"](dense, entries.to_dense())
    return ix.index_put(dense, entries._v, *entries.rows(), accumulate=True)


def at_entries(x, dense) -> Tensor:
    """Return the values of a dense tensor at the entries of a sparse one."""
    if isinstance(x, CompressedTensor):
        entries = x.coo()
        found = ix.index(dense, *entries.rows())
        return found.reshape(x._v.shape)
    return ix.index(dense, *x.rows()) if x.sparse_dim() else dense.expand(x._v.shape)


@handles("mul", "multiply", "__mul__", "__rmul__", several=True)
def _product(fn, input, other, *, out=None):
    name = fn.__name__
    if out is not None:
        raise DTypeError(f"{name} of a sparse tensor takes no out")
    if not isinstance(input, SparseTensor):
        input, other = other, input
    if _is_number(other) or (isinstance(other, Tensor) and not isinstance(other, SparseTensor) and other.numel() == 1):
        return input.like(FUNCTIONS["mul"](input._v, other.reshape(()) if isinstance(other, Tensor) and other.ndim else other))
    if isinstance(other, SparseTensor):
        if input.ndim and other.ndim:
            return _entries_of_both(name, input, other)
        if not input.ndim and other.ndim:
            input, other = other, input
        return input.like(FUNCTIONS["mul"](input._v, other.to_dense()))
    if FUNCTIONS["broadcast_shapes"](tuple(input.shape), tuple(other.shape)) != tuple(input.shape):
        raise ShapeError(f"{name}: a dense tensor of shape {list(other.shape)} does not fit into the sparse one of "
                         f"{list(input.shape)}")
    return input.like(FUNCTIONS["mul"](input._v, at_entries(input, sh.expand(other, shape=tuple(input.shape)))))


def _entries_of_both(name, a, b) -> Any:
    """Return the product of entries at positions that both tensors have."""
    _require_same_shape(name, a, b)
    if a.has_distinct_positions_of(b):
        return a.entries().like(FUNCTIONS["mul"](a._v, b._v))
    if isinstance(a, CompressedTensor) and a.layout == b.layout:
        return compressed_as(_entries_of_both(name, a.coo(), b.coo()), a)
    a, b = a.coo().coalesce(), b.coo().coalesce()
    d = result_type(a._v, b._v)
    if not a._nnz() or not b._nnz():
        alike = a.sparse_dim() == b.sparse_dim()
        return CooTensor(a._i[:, :0], FUNCTIONS["mul"](a._v[:0], b._v[:0]) if alike else to_dtype(a._v[:0], d), a._size, True)
    if a.sparse_dim() != b.sparse_dim():
        raise ShapeError(f"{name} takes sparse tensors with equally many sparse dimensions, got {a.sparse_dim()} and "
                         f"{b.sparse_dim()}")
    if not a.sparse_dim():
        return a.like(FUNCTIONS["mul"](a._v, b._v))
    at = a.linear()
    place = FUNCTIONS["searchsorted"](b.linear(), at).clamp(max=b._nnz() - 1)
    hit, = FUNCTIONS["nonzero"](ew.eq(ix.index(b.linear(), place), at), as_tuple=True)
    values = ew.mul(to_dtype(ix.index(a._v, hit), d), to_dtype(ix.index(b._v, ix.index(place, hit)), d))
    return CooTensor(FUNCTIONS["index_select"](a._i, 1, hit), values, a.shape, True)


@handles("div", "divide", "true_divide", "__truediv__", "floor_divide", "__floordiv__")
def _quotient(fn, input, other, **kwargs):
    if not isinstance(input, SparseTensor) or not _is_number(other):
        raise DTypeError(f"{fn.__name__} of a sparse tensor takes a number as its divisor: elsewhere zeros are divided by "
                         f"zeros; got {kind_text(input)} and {kind_text(other)}. Call to_dense()")
    x = input if not kwargs.get("rounding_mode") and "floor" not in fn.__name__ else input.entries()
    return x.like(fn(x._v, other, **kwargs))


@handles("pow", "__pow__", "float_power")
def _power(fn, input, exponent):
    if not isinstance(exponent, (int, float)) or exponent <= 0:
        raise DTypeError(f"{fn.__name__} of a sparse tensor takes a Python number above 0 as exponent, got {exponent!r}; call "
                         f"to_dense()")
    x = input.entries()
    return x.like(fn(x._v, exponent))


# Comparisons.


@handles("equal", "allclose", "isclose", several=True)
def _compared(fn, input, other, *args, **kwargs):
    """Compare as dense tensors; if one answer is needed, only at positions with an entry."""
    a, b = input, other
    if fn.__name__ == "equal" and tuple(a.shape) != tuple(b.shape):
        return False
    if fn.__name__ == "isclose" or not (isinstance(a, SparseTensor) and isinstance(b, SparseTensor)):
        return fn(a.to_dense(), b.to_dense(), *args, **kwargs)
    _require_same_shape(fn.__name__, a, b)
    a, b = a.coo(), b.coo()
    if a.sparse_dim() != b.sparse_dim() or not a.sparse_dim():
        return fn(a.to_dense(), b.to_dense(), *args, **kwargs)
    none = [x.like(FUNCTIONS["zeros_like"](x._v)) for x in (a, b)]
    joined = [_sum(FUNCTIONS["add"], x, y).coalesce()._v for x, y in ((a, none[1].to(a.dtype)), (none[0].to(b.dtype), b))]
    return fn(*joined, *args, **kwargs)


@handles("dropout", "alpha_dropout")
def _dropout(fn, input, *args, **kwargs):
    if fn.__name__ != "dropout":
        raise DTypeError(f"{fn.__name__} of a sparse tensor is not sparse; call to_dense()")
    x = input.entries()
    return x.like(fn(x._v, *args, **kwargs))
