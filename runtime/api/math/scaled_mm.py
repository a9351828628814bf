"""Products of float8 matrices with scales, and of groups of matrices, as layers of experts use them."""

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, DTypeError
from ....ir.ops.index import indexing as ix
from ....ir.ops.linalg import products
from ....ir.ops.quantized import scaled_products
from ...core.placement import on_device_of
from ...core.tensor import Tensor, shape_of
from ..register.register import api, deliver
from ..register.type_promotion import to_dtype
from ..views.conversions import to
from ..views.tensor_factories import counted
from .clamp import clamp
from .elementwise import add
from .matrix_products import matmul
from .sort import searchsorted

_RESULTS = (*dt.FLOATS, *dt.FLOAT8)


def _side(name, t, count, shape):
    """Return a scale, as one number or as a column or row of numbers."""
    if not isinstance(t, Tensor) or t.dtype is not dt.float32:
        raise DTypeError(f"_scaled_mm: {name} must be a tensor of float32, got {getattr(t, 'dtype', type(t).__name__)}")
    if t.numel() != 1 and tuple(t.shape) != shape:
        raise ArgumentError(f"_scaled_mm: {name} must have one element, or one for each of {count} rows or columns, as shape "
                            f"{list(shape)}; got shape {list(t.shape)}")
    return scaled_products.as_scale(t, shape)


@api(method=False)
def _scaled_mm(input, mat2, scale_a, scale_b, bias=None, scale_result=None, out_dtype=None, use_fast_accum=False, *, out=None):
    """Return input @ mat2 * scale_a * scale_b + bias of float8 matrices, in `out_dtype` (by default the input's). Scales are
    float32 tensors of one element, or of one for each row of input (shape (M, 1)) and each column of mat2 (shape (1, N))."""
    kind = input.dtype if out_dtype is None else dt.as_dtype(out_dtype)
    if kind not in _RESULTS:
        raise DTypeError(f"_scaled_mm: out_dtype must be a floating point dtype, got {kind}")
    if input.ndim != 2 or mat2.ndim != 2:
        raise ArgumentError(f"_scaled_mm takes two matrices, got shapes {list(input.shape)} and {list(mat2.shape)}")
    m, n = shape_of(input)[0], shape_of(mat2)[1]
    scales = _side("scale_a", scale_a, m, (m, 1)), _side("scale_b", scale_b, n, (1, n))
    if bias is not None:
        bias = scaled_products.reshape(to_dtype(bias, dt.float32), shape=(1, n))
    if scale_result is not None:
        scale_result = scaled_products.as_scale(to_dtype(scale_result, dt.float32), (1, 1))
    made = scaled_products.scaled_mm(input, mat2, *scales, bias, scale_result, dtype=kind, fast=bool(use_fast_accum))
    return deliver(made, out, "_scaled_mm")


@api(method=False, name="_grouped_mm")
def grouped_mm(mat_a, mat_b, offs=None, bias=None, out_dtype=None):
    """Return a product for each group; offs[g] is the end of group g.

    One operand is a matrix of grouped rows or columns and the other has a matrix for each group. Two matrices grouped along
    their common dimension give one matrix for each group. Elements behind the last group are zero. Without offs both operands
    have a matrix for each group.
    """
    kind = None if out_dtype is None else dt.as_dtype(out_dtype)
    if kind is not None and kind.itemsize > mat_a.dtype.itemsize:
        mat_a, mat_b = to_dtype(mat_a, kind), to_dtype(mat_b, kind)
    if mat_a.ndim == mat_b.ndim == 3:
        if offs is not None:
            raise ArgumentError("grouped_mm of two operands with a matrix for each group takes no offs")
        made = matmul(mat_a, mat_b)
    elif offs is None:
        raise ArgumentError("grouped_mm takes offs, which say where each group ends, unless both operands have a matrix for "
                            "each")
    else:
        made = products.grouped_matmul(mat_a, mat_b, offs)
    if bias is not None:
        made = add(made, _for_each_row(bias, mat_a, mat_b, offs))
    return made if kind is None else to(made, kind)


def _for_each_row(bias, mat_a, mat_b, offs):
    """Return a bias of shape (groups, columns) as rows of the result, each with the row of its group."""
    if not (mat_a.ndim == 2 and mat_b.ndim == 3 and bias.ndim == 2):
        raise ArgumentError("grouped_mm takes a bias of shape (groups, columns) beside a matrix and one for each group")
    group = searchsorted(offs, on_device_of(counted(mat_a.shape[0], offs.dtype), offs), right=True)
    return ix.index(bias, clamp(group, max=bias.shape[0] - 1))
