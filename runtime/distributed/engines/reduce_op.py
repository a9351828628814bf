"""Reductions of values over ranks."""

import contextvars
import threading
from enum import Enum

import numpy as np

from ....ir.errors import DTypeError
from ....ir.reference.scalar_functions import as_kind

__all__ = ["ReduceOp"]


class ReduceOp(Enum):
    """Reductions SUM, AVG, PRODUCT, MIN, MAX, and BAND, BOR, BXOR of integers. Every rank gets the same bits. Floats of 16 bits
    and fewer are combined in float32 and rounded once."""

    SUM = "sum"
    AVG = "avg"
    PRODUCT = "product"
    MIN = "min"
    MAX = "max"
    BAND = "band"
    BOR = "bor"
    BXOR = "bxor"


ReduceOp.RedOpType = ReduceOp        # type: ignore[attr-defined]  # name in annotations of libraries

_COMBINE = {ReduceOp.SUM: np.add, ReduceOp.AVG: np.add, ReduceOp.PRODUCT: np.multiply, ReduceOp.MIN: np.minimum,
            ReduceOp.MAX: np.maximum, ReduceOp.BAND: np.bitwise_and, ReduceOp.BOR: np.bitwise_or,
            ReduceOp.BXOR: np.bitwise_xor}
_CHUNK = 1 << 15        # elements that are combined at once, in caches
_SINGLE = np.dtype(np.float32)
_BITS = (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)


def check_op(op, dtype):
    """Raise for a reduction that a dtype does not have."""
    if not isinstance(op, ReduceOp):
        raise DTypeError(f"op must be a ReduceOp, got {op!r}")
    if op in _BITS and dtype.is_inexact:
        raise DTypeError(f"ReduceOp.{op.name} works on bits and takes integers or bool, got {dtype.name}")
    if op is ReduceOp.AVG and not dtype.is_inexact:
        raise DTypeError(f"ReduceOp.AVG takes floating point tensors, got {dtype.name}; use SUM and divide")


def combined(op, arrays) -> np.ndarray:
    """Return the combination of arrays, in their order."""
    out = np.empty(arrays[0].shape, arrays[0].dtype)
    combine(op, arrays, out)
    return out


def combine(op, arrays, *outs: np.ndarray):
    """Write the combination of arrays, in their order, into contiguous memory, which may be that of one of them."""
    _quiet.run(_combine_pair if len(arrays) == 2 and len(outs) == 1 else _combine, op, arrays, outs)


def combine_two(op, first: np.ndarray, second: np.ndarray, out: np.ndarray):
    """Write the combination of two arrays, for AVG their sum. All have one shape and one dtype, which is not narrow."""
    _quiet.run(_COMBINE[op], first, second, out=out)


class _Quiet(threading.local):
    """Context of a thread in which numpy gives no warnings on floating point numbers."""

    def __init__(self):
        context = contextvars.Context()
        context.run(np.seterr, all="ignore")
        self.run = context.run


_quiet = _Quiet()


def _combine_pair(op, arrays, outs):
    (first, second), (out,) = arrays, outs
    if not first.dtype is second.dtype is out.dtype or is_narrow(out.dtype):
        _combine(op, arrays, outs)
        return
    flat = out.reshape(-1)
    _COMBINE[op](first.reshape(-1), second.reshape(-1), out=flat)
    if op is ReduceOp.AVG:
        np.divide(flat, flat.dtype.type(2), out=flat)


def _combine(op, arrays, outs):
    parts, targets, out = [np.ascontiguousarray(a).reshape(-1) for a in arrays], [out.reshape(-1) for out in outs], outs[0]
    kind = _SINGLE if is_narrow(out.dtype) else out.dtype
    for begin in range(0, out.size, _CHUNK):
        here = slice(begin, begin + _CHUNK)
        total = _chunk(op, [p[here] if p.dtype == kind else as_kind(p[here], kind) for p in parts])
        total = total if kind == out.dtype else as_kind(total, out.dtype)
        for target in targets:
            target[here] = total


def is_narrow(dtype: np.dtype) -> bool:
    """Return whether elements are floats of 16 bits or fewer, of NumPy or of ml_dtypes."""
    return dtype.kind in "fV" and dtype.itemsize < 4


def _chunk(op, parts) -> np.ndarray:
    total = _COMBINE[op](parts[0], parts[1]) if len(parts) > 1 else np.array(parts[0])
    for p in parts[2:]:
        _COMBINE[op](total, p, out=total)
    if op is ReduceOp.AVG:
        total /= total.dtype.type(len(parts))
    return total
