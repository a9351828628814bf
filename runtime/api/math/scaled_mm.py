"""Products of float8 matrices, as PyTorch spells them."""

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, DTypeError
from ....ir.ops.quantized import scaled_products
from ...core.tensor import Tensor, shape_of
from ..register.register import api, deliver
from ..register.type_promotion import to_dtype

_RESULTS = (*dt.FLOATS, *dt.FLOAT8)


def _side(name, t, count, shape):
    """A scale, as one number or as a column or row of numbers."""
    if not isinstance(t, Tensor) or t.dtype is not dt.float32:
        raise DTypeError(f"_scaled_mm: {name} must be a tensor of float32, got {getattr(t, 'dtype', type(t).__name__)}")
    if t.numel() != 1 and tuple(t.shape) != shape:
        raise ArgumentError(f"_scaled_mm: {name} must have one element, or one for each of {count} rows or columns, as shape "
                            f"{shape}; got shape {tuple(t.shape)}")
    return scaled_products.as_scale(t, shape)


@api(method=False)
def _scaled_mm(input, mat2, scale_a, scale_b, bias=None, scale_result=None, out_dtype=None, use_fast_accum=False, *, out=None):
    """input @ mat2 * scale_a * scale_b + bias of float8 matrices, in `out_dtype` (the input's unless said). Scales are float32
    tensors: of one element, or of one for each row of input (shape (M, 1)) and each column of mat2 (shape (1, N))."""
    kind = input.dtype if out_dtype is None else dt.as_dtype(out_dtype)
    if kind not in _RESULTS:
        raise DTypeError(f"_scaled_mm: out_dtype must be a floating point dtype, got {kind}")
    if input.ndim != 2 or mat2.ndim != 2:
        raise ArgumentError(f"_scaled_mm takes two matrices, got shapes {tuple(input.shape)} and {tuple(mat2.shape)}")
    m, n = shape_of(input)[0], shape_of(mat2)[1]
    scales = _side("scale_a", scale_a, m, (m, 1)), _side("scale_b", scale_b, n, (1, n))
    if bias is not None:
        bias = scaled_products.reshape(to_dtype(bias, dt.float32), shape=(1, n))
    if scale_result is not None:
        scale_result = scaled_products.as_scale(to_dtype(scale_result, dt.float32), (1, 1))
    made = scaled_products.scaled_mm(input, mat2, *scales, bias, scale_result, dtype=kind, fast=bool(use_fast_accum))
    return deliver(made, out, "_scaled_mm")
