"""Matrix products."""

from math import prod

import numpy as np

from ...errors import DTypeError, ShapeError
from ...opdef.op import Composite, Template, op
from ..core import elementwise as ew
from ..core.batching import all_repeated
from ..core.elementwise_rules import reference
from ..core.shape import expand, permute, reshape, roll


def _infer_matmul(x, y):
    if x.dtype is not y.dtype:
        raise DTypeError(f"matmul takes two tensors of one dtype, got {x} and {y}; cast one with .to()")
    if x.ndim < 2 or y.ndim != x.ndim or x.shape[:-2] != y.shape[:-2]:
        raise ShapeError(f"matmul takes matrices or batches of the same shape, got {x} and {y}")
    if x.shape[-1] != y.shape[-2]:
        raise ShapeError(f"matmul of {x} and {y}: the first has {x.shape[-1]} columns, the second {y.shape[-2]} rows")
    return x.with_shape(x.shape[:-1] + y.shape[-1:])


def transpose_last(x):
    """Swaps the last two dimensions (a view)."""
    n = len(x.shape)
    return permute(x, dims=(*range(n - 2), n - 1, n - 2))


def _batch_matmul(size, op, args, held, params):
    """Many matrices with one are one product."""
    x, y = args
    if held[0] and not held[1] and len(y.shape) == 2:
        *rows, inner = x.shape
        return reshape(op(reshape(x, shape=(prod(rows), inner)), y), shape=(*rows, y.shape[1]))
    return op(*all_repeated(size, args, held))


matmul = op("matmul", infer=_infer_matmul, ref=reference(np.matmul),
            vjp=(lambda g, out, x, y: matmul(g, transpose_last(y)), lambda g, out, x, y: matmul(transpose_last(x), g)),
            lower=Template("matmul"), batch=_batch_matmul, traits=("self_checking", "autocast_low", "reads_matrices"),
            flops=lambda args, outs, params: 2 * prod(outs[0].shape) * args[0].shape[-1],
            doc="Matrix product over the last two dimensions; leading ones are a batch. Low precision accumulates in float32.")


def _infer_dot(x, y):
    if x.dtype is not y.dtype:
        raise DTypeError(f"dot takes two tensors of one dtype, got {x} and {y}; cast one with .to()")
    if x.ndim != 1 or y.ndim != 1 or x.shape != y.shape:
        raise ShapeError(f"dot takes two vectors of one length, got {x} and {y}")
    return x.with_shape(())


def _dot_body(x, y):
    n = x.shape[0]
    return reshape(matmul(reshape(x, shape=(1, n)), reshape(y, shape=(n, 1))), shape=())


def _batch_dot(size, op, args, held, params):
    x, y = args if held[0] else args[::-1]
    n = x.shape[1]
    if not all(held):
        return reshape(matmul(x, reshape(y, shape=(n, 1))), shape=(size,))
    return reshape(matmul(reshape(x, shape=(size, 1, n)), reshape(y, shape=(size, n, 1))), shape=(size,))


dot = op("dot", infer=_infer_dot, ref=reference(lambda x, y: np.asarray(np.dot(x, y))),
         vjp=(lambda g, out, x, y: ew.mul(expand(g, shape=x.shape), y),
              lambda g, out, x, y: ew.mul(expand(g, shape=y.shape), x)),
         lower=Composite(_dot_body),
         batch=_batch_dot, traits=("reads_operands",), flops=lambda args, outs, params: 2 * prod(args[0].shape),
         doc="The inner product of two vectors; low precision accumulates in float32.")


def _infer_mv(x, y):
    if x.dtype is not y.dtype:
        raise DTypeError(f"mv takes two tensors of one dtype, got {x} and {y}; cast one with .to()")
    if x.ndim != 2 or y.ndim != 1 or x.shape[1] != y.shape[0]:
        raise ShapeError(f"mv takes a matrix and a vector with an element for each of its columns, got {x} and {y}")
    return x.with_shape(x.shape[:1])


def _mv_body(x, y):
    return reshape(matmul(x, reshape(y, shape=(y.shape[0], 1))), shape=(x.shape[0],))


def _mv_x(g, out, x, y):
    rows, columns = x.shape
    return ew.mul(*[expand(reshape(v, shape=shape), shape=x.shape) for v, shape in ((g, (rows, 1)), (y, (1, columns)))])


def _batch_mv(size, op, args, held, params):
    """Vectors for one matrix are the rows of a product, matrices for one vector are a taller one."""
    (x, y), (rows, columns) = args, args[0].shape[-2:]
    if not held[0]:
        return matmul(y, transpose_last(x))
    if not held[1]:
        return reshape(matmul(reshape(x, shape=(size * rows, columns)), reshape(y, shape=(columns, 1))), shape=(size, rows))
    return reshape(matmul(x, reshape(y, shape=(size, columns, 1))), shape=(size, rows))


mv = op("mv", infer=_infer_mv, ref=reference(np.matmul),
        vjp=(_mv_x, lambda g, out, x, y: mv(transpose_last(x), g)), lower=Composite(_mv_body), batch=_batch_mv,
        traits=("low_on_gpu", "reads_operands"), flops=lambda args, outs, params: 2 * prod(args[0].shape),
        doc="A matrix times a vector; low precision accumulates in float32.")


def _infer_cross(x, y, *, dim):
    if x.dtype is not y.dtype:
        raise DTypeError(f"cross takes two tensors of one dtype, got {x} and {y}; cast one with .to()")
    if x.shape != y.shape or x.shape[dim] != 3:
        raise ShapeError(f"cross takes two tensors of one shape with 3 numbers along dim {dim}, got {x} and {y}")
    return x


def _cross_body(x, y, *, dim):
    (x1, y1), (x2, y2) = ([roll(t, shifts=(-by,), dims=(dim,)) for t in (x, y)] for by in (1, 2))
    return ew.sub(ew.mul(x1, y2), ew.mul(x2, y1))


cross = op("cross", infer=_infer_cross, ref=_cross_body, lower=Composite(_cross_body),
           vjp=(lambda g, out, x, y, *, dim: cross(y, g, dim=dim), lambda g, out, x, y, *, dim: cross(g, x, dim=dim)),
           traits=("rule_as_one",),
           doc="The cross product of vectors of 3 along a dim.")
