"""Products of 8-bit floats with a scale for each operand."""

from math import prod

import numpy as np

from ... import dtype as dt
from ...errors import ArgumentError, DTypeError, ShapeError
from ...opdef.aval import Aval
from ...opdef.op import NO_GRAD, Composite, op
from ...opdef.param_checks import check_dtype, check_flag
from ..core import elementwise as ew
from ..core.shape import expand, reshape
from ..linalg.products import matmul


def _infer_matmul8(x, y, *, fast):
    if x.dtype not in dt.FLOAT8 or y.dtype not in dt.FLOAT8:
        raise DTypeError(f"a product of float8 takes float8_e4m3fn and float8_e5m2, got {x} and {y}; cast with .to()")
    if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[0]:
        raise ShapeError(f"a product of float8 takes two matrices that fit together, got {x} and {y}")
    check_flag(fast, "matmul8: fast")
    return Aval((x.shape[0], y.shape[1]), dt.float32)


def _matmul8(x, y, *, fast):
    return matmul(ew.cast(x, dtype=dt.float32), ew.cast(y, dtype=dt.float32))


def _in_single(x, y, *, fast):
    return np.matmul(x.astype(np.float32), y.astype(np.float32))


matmul8 = op("matmul8", infer=_infer_matmul8, ref=_in_single, vjp=NO_GRAD, lower=Composite(_matmul8), traits=("float8",),
             flops=lambda args, outs, params: 2 * prod(outs[0].shape) * args[0].shape[-1],
             doc="The product of two matrices of float8 in float32. Sums are those of float32; with `fast`, those of fewer "
                 "bits that a chip has in registers.")


def _infer_scaled(x, y, scale_x, scale_y, bias, scale_out, *, dtype, fast):
    out = _infer_matmul8(x, y, fast=fast)
    m, n = out.shape
    each = (("scale_a", scale_x, ((1, 1), (m, 1))), ("scale_b", scale_y, ((1, 1), (1, n))), ("bias", bias, ((1, n),)),
            ("scale_result", scale_out, ((1, 1),)))
    if not check_dtype(dtype, "_scaled_mm: dtype").is_floating_point:
        raise DTypeError(f"_scaled_mm gives floating point numbers, not {dtype.name}")
    if scale_x is None or scale_y is None:
        raise ArgumentError(f"_scaled_mm of {x} and {y} needs scale_a and scale_b")
    for name, scale, shapes in each:
        if scale is not None and tuple(scale.shape) not in shapes:
            raise ShapeError(f"_scaled_mm of {x} and {y} takes a {name} of shape {' or '.join(map(str, shapes))}, got {scale}")
        if scale is not None and scale.dtype is not dt.float32:
            raise DTypeError(f"_scaled_mm takes a {name} of float32, got {scale}; cast it with .to()")
    return out.with_dtype(dtype)


def _scaled(x, y, scale_x, scale_y, bias, scale_out, *, dtype, fast):
    out = matmul8(x, y, fast=fast)
    shape = out.shape
    for scale in (scale_x, scale_y):
        out = ew.mul(out, expand(scale, shape=shape))
    if bias is not None:
        out = ew.add(out, expand(bias, shape=shape))
    if scale_out is not None:
        out = ew.mul(out, expand(scale_out, shape=shape))
    return out if dtype is dt.float32 else ew.cast(out, dtype=dtype)


scaled_mm = op("scaled_mm", infer=_infer_scaled, ref=_scaled, vjp=NO_GRAD, lower=Composite(_scaled), traits=("float8",),
               flops=lambda args, outs, params: 2 * prod(outs[0].shape) * args[0].shape[-1],
               doc="(x @ y * scale_x * scale_y + bias) * scale_out, computed in float32 and rounded once. A scale is one "
                   "number, or one for each row of x and each column of y.")


def as_scale(t, shape):
    """Return a scale of one element, or of one for each row or column, with two dims."""
    return reshape(t, shape=(1, 1) if prod(t.shape) == 1 else shape)
