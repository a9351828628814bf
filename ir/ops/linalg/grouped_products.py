"""Products of groups: one matrix for each stretch of rows, as experts take the tokens that were sent to them."""

from math import prod

import numpy as np

from ... import dtype as dt
from ...errors import DTypeError, ShapeError
from ...opdef.aval import Aval
from ...opdef.op import Host, op
from .products import transpose_last


def _infer(x, y, ends):
    if x.dtype is not y.dtype or not x.dtype.is_inexact:
        raise DTypeError(f"grouped_mm takes two floating point tensors of one dtype, got {x} and {y}; cast one with .to()")
    if ends.dtype is not dt.int32 and ends.dtype is not dt.int64:
        raise DTypeError(f"grouped_mm takes offs of int32, got {ends}")
    if (x.ndim, y.ndim) not in ((2, 3), (3, 2), (2, 2)) or ends.ndim != 1:
        raise ShapeError(f"grouped_mm takes offs for two matrices, or a matrix and one for each group, got {x}, {y} and {ends}")
    if x.shape[-1] != y.shape[-2]:
        raise ShapeError(f"grouped_mm of {x} and {y}: the first has {x.shape[-1]} columns, the second {y.shape[-2]} rows")
    groups = x.shape[0] if x.ndim == 3 else y.shape[0] if y.ndim == 3 else ends.shape[0]
    if ends.shape[0] != groups:
        raise ShapeError(f"grouped_mm of {x} and {y} takes one offset for each of {groups} groups, got {ends}")
    both = x.ndim == y.ndim == 2
    return Aval((*((groups,) if both else ()), x.shape[-2], y.shape[-1]), x.dtype)


def products(multiply, x, y, ends):
    """The groups' products, each by `multiply`; what lies behind the last group is zero."""
    ends = np.asarray(ends).tolist()
    length = x.shape[0] if y.ndim == 3 else y.shape[1] if x.ndim == 3 else x.shape[1]
    starts = [0, *ends[:-1]]
    if any(a > b for a, b in zip(starts, ends)) or (ends and ends[-1] > length):
        raise ShapeError(f"grouped_mm: offs must rise to at most {length}, got {ends}")
    both = x.ndim == y.ndim == 2
    out = np.zeros((*((len(ends),) if both else ()), x.shape[-2], y.shape[-1]), x.dtype)
    for g, (a, b) in enumerate(zip(starts, ends)):
        if a == b:
            continue
        if y.ndim == 3:
            out[a:b] = multiply(x[a:b], y[g])
        elif x.ndim == 3:
            out[:, a:b] = multiply(x[g], y[:, a:b])
        else:
            out[g] = multiply(x[:, a:b], y[a:b])
    return out


def _by_numpy(x, y):
    return np.matmul(x.astype(np.float32), y.astype(np.float32)).astype(x.dtype) if x.itemsize < 4 else np.matmul(x, y)


def _vjp(g, out, x, y, ends, *, needs):
    return (grouped_matmul(g, transpose_last(y), ends) if needs[0] else None,
            grouped_matmul(transpose_last(x), g, ends) if needs[1] else None, None)


grouped_matmul = op(
    "grouped_matmul", infer=_infer, ref=lambda x, y, ends: products(_by_numpy, x, y, ends), vjp=_vjp, saves=(1, 2, 3),
    lower=Host(), traits=("autocast_low",),
    flops=lambda args, outs, params: 2 * prod(args[0].shape[-2:]) * args[1].shape[-1],
    doc="Group g ends at ends[g] and begins where the one before ends. Of a matrix x and one y for each group: rows of x in "
        "group g times y[g]. Of one x for each group and a matrix y: x[g] times the columns of y in group g. Of two matrices: "
        "for each group the product of the columns of x and rows of y in it.")
