"""Operators on stored weights: rows of bytes in one of the formats of `ir/reference/weight_formats.py`."""

from math import prod

import numpy as np

from ... import dtype as dt
from ...errors import DTypeError, ShapeError
from ...opdef.aval import Aval, hinted
from ...opdef.op import NO_GRAD, Host, op
from ...opdef.param_checks import check_int
from ...process_state import ignore_float_errors
from ...reference.weight_formats import LARGEST_ROW, WeightFormat, format_named
from ..core import elementwise as ew
from ..core import reduce as rd
from ..core.shape import reshape
from ..linalg.products import as_rows, matmul


def check_rows(rows, format, numbers: int, title: str) -> WeightFormat:
    """Return the format with a name; raise unless `rows` are rows of so many numbers in it."""
    if not isinstance(format, str):
        raise DTypeError(f"{title}: the format of a stored weight must be a name, got {format!r}")
    check_int(numbers, f"{title}: numbers", most=LARGEST_ROW)
    known = format_named(format)
    if rows.dtype is not dt.uint8 or not rows.ndim or rows.shape[-1] != known.bytes_of_row(numbers):
        raise ShapeError(f"{title}: rows of {numbers} numbers in the format {format} are uint8[..., "
                         f"{known.bytes_of_row(numbers)}], got {rows}")
    return known


def _infer_unpack(rows, *, format, numbers):
    check_rows(rows, format, numbers, "unpack_weight")
    return Aval((*rows.shape[:-1], numbers), dt.float32)


def _unpack(rows, *, format, numbers):
    return format_named(format).unpack(rows, numbers)


def _batch_unpack(size, op, args, held, params):
    return op(*args, **params)


unpack_weight = op(
    "unpack_weight", infer=_infer_unpack, ref=_unpack, vjp=NO_GRAD, lower=Host(), batch=_batch_unpack,
    doc="The float32 numbers of stored rows: `numbers` of them in each.")


def _infer_linear(x, rows, bias, *, format, numbers):
    if x.dtype not in (dt.float32, dt.float64):
        raise DTypeError(f"linear_stored takes an input of float32 or float64, got {x}")
    if not x.ndim or rows.ndim != 2:
        raise ShapeError(f"linear_stored takes an input [*, in_features] and rows [out_features, bytes], got {x} and {rows}")
    check_rows(rows, format, numbers, "linear_stored")
    if x.shape[-1] != numbers:
        raise ShapeError(f"linear_stored of {x}: its last size is {hinted(x.shape[-1])}, but the weight takes {numbers}")
    if bias is not None and (bias.dtype is not x.dtype or tuple(bias.shape) != tuple(rows.shape[:1])):
        raise ShapeError(f"linear_stored with rows {rows} takes a bias of {x.dtype.name} with one number for each of them, got "
                         f"{bias}")
    return Aval((*x.shape[:-1], rows.shape[0]), x.dtype)


@ignore_float_errors
def _linear(x, rows, bias, *, format, numbers):
    weight = format_named(format).unpack(rows, numbers).astype(x.dtype, copy=False)
    out = np.matmul(x.reshape(prod(x.shape[:-1]), x.shape[-1]), weight.T)
    return (out if bias is None else out + bias).reshape(*x.shape[:-1], len(rows))


def _linear_x(g, out, x, rows, bias, *, format, numbers):
    back = matmul(as_rows(g), ew.cast(unpack_weight(rows, format=format, numbers=numbers), dtype=dt.of(g)))
    return reshape(back, shape=x.shape)


def _linear_bias(g, out, x, rows, bias, *, format, numbers):
    return rd.sum_(as_rows(g), dim=(0,), keepdim=False)


def _batch_linear(size, op, args, held, params):
    return NotImplemented if any(held[1:]) else op(*args, **params)


linear_stored = op(
    "linear_stored", infer=_infer_linear, ref=_linear, vjp=(_linear_x, None, _linear_bias), lower=Host(), batch=_batch_linear,
    flops=lambda args, outs, params: 2 * prod(outs[0].shape) * args[0].shape[-1],
    doc="x @ weight.T + bias for a stored weight; sums are those of the input's dtype. Kernels may round x to 16 bits, "
        "relative to the largest magnitude of each 32 numbers: then an infinity makes its row of results nan.")
