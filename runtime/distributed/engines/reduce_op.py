"""Reductions of values over ranks."""

from enum import Enum

import numpy as np

from ....ir.errors import DTypeError

__all__ = ["ReduceOp"]


class ReduceOp(Enum):
    """Reductions SUM, AVG, PRODUCT, MIN, MAX, and BAND, BOR, BXOR of integers. Values are combined in the order of ranks, so
    every rank gets the same bits."""

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
_BITS = (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)


def check_op(op, dtype):
    """Raise for a reduction that a dtype does not have."""
    if not isinstance(op, ReduceOp):
        raise DTypeError(f"op must be a ReduceOp, got {op!r}")
    if op in _BITS and dtype.is_inexact:
        raise DTypeError(f"ReduceOp.{op.name} works on bits and takes integers or bool, got {dtype}")
    if op is ReduceOp.AVG and not dtype.is_inexact:
        raise DTypeError(f"ReduceOp.AVG takes floating point tensors, got {dtype}; use SUM and divide")


def combined(op, arrays) -> np.ndarray:
    """Return the combination of arrays, in their order."""
    result = np.array(arrays[0])
    with np.errstate(all="ignore"):
        for a in arrays[1:]:
            _COMBINE[op](result, a, out=result)
        if op is ReduceOp.AVG:
            result /= result.dtype.type(len(arrays))
    return result
