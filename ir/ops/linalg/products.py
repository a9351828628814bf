"""Matrix products: mm, bmm, mv, dot, grouped products, and the row view that turns batches into one product."""

from math import prod

import numpy as np

from ... import dtype as dt
from ...dtype import cast_hint
from ...errors import DTypeError, ShapeError
from ...opdef.aval import Aval, hinted, shape_text
from ...opdef.op import Composite, Host, Template, op
from ...opdef.param_checks import check_dim
from ..core import elementwise as ew
from ..core import reduce as rd
from ..core.batching import all_repeated, lifted, repeated
from ..core.elementwise_rules import reference
from ..core.pointwise import in_single
from ..core.shape import expand, permute, reshape, roll


def _infer_matmul(x, y):
    if x.dtype is not y.dtype:
        raise DTypeError(f"matmul takes two tensors of one dtype, got {x} and {y}; {cast_hint(y.dtype, 'the first')}")
    if x.ndim < 2 or y.ndim != x.ndim or x.shape[:-2] != y.shape[:-2]:
        raise ShapeError(f"matmul takes matrices or batches of the same shape, got {x} and {y}")
    if x.shape[-1] != y.shape[-2]:
        raise unequal_inner_sizes("matmul", x.shape, y.shape)
    return x.with_shape(x.shape[:-1] + y.shape[-1:])


def unequal_inner_sizes(name: str, a: tuple, b: tuple) -> ShapeError:
    """Return the error for matrices that do not fit, with the transposition that makes them fit."""
    hint = ""
    if len(b) > 1 and a[-1] == b[-1]:
        hint = "; with the second transposed they fit: a @ b.mT"
    elif len(a) > 1 and len(b) > 1 and a[-2] == b[-2]:
        hint = "; with the first transposed they fit: a.mT @ b"
    return ShapeError(f"{name} of {shape_text(a)} and {shape_text(b)}: the first has {hinted(a[-1])} columns, the second "
                      f"{hinted(b[-2] if len(b) > 1 else b[0])} rows{hint}")


def transpose_last(x):
    """Swap the last two dimensions (a view)."""
    n = len(x.shape)
    return permute(x, dims=(*range(n - 2), n - 1, n - 2))


def _batch_matmul(size, op, args, held, params):
    """Many matrices times one matrix are one product."""
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
    if x.shape != y.shape or x.shape[check_dim(dim, x.ndim, "cross: dim")] != 3:
        raise ShapeError(f"cross takes two tensors of one shape with 3 numbers along dim {dim}, got {x} and {y}")
    return x


def _cross_body(x, y, *, dim):
    (x1, y1), (x2, y2) = ([roll(t, shifts=(-by,), dims=(dim,)) for t in (x, y)] for by in (1, 2))
    return ew.sub(ew.mul(x1, y2), ew.mul(x2, y1))


cross = op("cross", infer=_infer_cross, ref=_cross_body, lower=Composite(_cross_body),
           vjp=(lambda g, out, x, y, *, dim: cross(y, g, dim=dim), lambda g, out, x, y, *, dim: cross(g, x, dim=dim)),
           traits=("rule_as_one",),
           doc="The cross product of vectors of 3 along a dim.")


def _infer_grouped(x, y, ends):
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


def grouped_products(multiply, x, y, ends):
    """Multiply each group of rows with `multiply`; rows behind the last group are zero."""
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


def _grouped_bounds(x, y, ends):
    """Bound the ends of groups by the dimension that they divide."""
    rows = len(x.shape) == 2 and len(y.shape) == 3
    return [(2, 0, (x.shape[0] if rows else y.shape[-1] if len(x.shape) == 3 else x.shape[1]) + 1)]


def _grouped_vjp(g, out, x, y, ends, *, needs):
    return (grouped_matmul(g, transpose_last(y), ends) if needs[0] else None,
            grouped_matmul(transpose_last(x), g, ends) if needs[1] else None, None)


grouped_matmul = op(
    "grouped_matmul", infer=_infer_grouped, ref=lambda x, y, ends: grouped_products(_by_numpy, x, y, ends), vjp=_grouped_vjp,
    saves=(1, 2, 3), lower=Host(), traits=("autocast_low", "refuses"), bounds=_grouped_bounds,
    flops=lambda args, outs, params: 2 * prod(args[0].shape[-2:]) * args[1].shape[-1],
    doc="Group g ends at ends[g] and begins where the one before ends. Of a matrix x and one y for each group: rows of x in "
        "group g times y[g]. Of one x for each group and a matrix y: x[g] times the columns of y in group g. Of two matrices: "
        "for each group the product of the columns of x and rows of y in it.")


# The linear layer.


def _infer_linear(x, w, b):
    kinds = [a for a in (x, w, b) if a is not None]
    if any(a.dtype is not x.dtype for a in kinds):
        raise DTypeError(f"linear takes an input and parameters of one dtype, got input {x} and weight {w}"
                         f"{'' if b is None else f' and bias {b}'}; {cast_hint(w.dtype, 'the input')}")
    if x.ndim < 1 or w.ndim != 2:
        raise ShapeError(f"linear takes an input [*, in_features] and a weight [out_features, in_features], got {x} and {w}")
    if x.shape[-1] != w.shape[1]:
        turned = x.ndim > 1 and x.shape[-2] == w.shape[1]
        # The weight decides, not `in_features` of a module: `weight.data` may be replaced, parametrised or pruned.
        raise ShapeError(f"linear of {x}: its last size is {hinted(x.shape[-1])}, but the weight {w} takes {hinted(w.shape[1])}"
                         f"{'; transposed it fits: .mT' if turned else ''}")
    if b is not None and b.shape != w.shape[:1]:
        raise ShapeError(f"linear with weight {w} takes a bias of shape [{w.shape[0]}], got {b}")
    return x.with_shape((*x.shape[:-1], w.shape[0]))


def _linear(x, w, b):
    out = np.matmul(x.reshape(-1, x.shape[-1]) if x.size else x.reshape(rows_of(x.shape), x.shape[-1]), w.T)
    if b is not None:
        out += b
    return out.reshape(*x.shape[:-1], w.shape[0])


def rows_of(shape) -> int:
    """Return the number of rows when all but the last dimension count as rows."""
    return prod(shape[:-1])


def as_rows(x):
    """Return the value as a matrix with all but the last dimension as rows."""
    return x if len(x.shape) == 2 else reshape(x, shape=(rows_of(x.shape), x.shape[-1]))


def _linear_body(x, w, b):
    out = matmul(as_rows(x), permute(w, dims=(1, 0)))
    out = out if len(x.shape) == 2 else reshape(out, shape=(*x.shape[:-1], w.shape[0]))
    return out if b is None else ew.add(out, expand(b, shape=out.shape))


def _linear_x(g, out, x, w, b):
    back = matmul(as_rows(g), w)
    return back if len(x.shape) == 2 else reshape(back, shape=x.shape)


def _linear_w(g, out, x, w, b):
    return matmul(permute(as_rows(g), dims=(1, 0)), as_rows(x))


def _linear_b(g, out, x, w, b):
    return rd.sum_(as_rows(g), dim=(0,), keepdim=False)


def _batch_linear(size, op, args, held, params):
    x, w, b = args
    if not held[1] and not held[2]:
        return op(x, w, b)
    inner = x.shape[held[0]:]
    if not held[1]:
        found = op(x, w, None)
    else:
        flat = reshape(x, shape=(*x.shape[:held[0]], prod(inner[:-1]), inner[-1]))
        flat = flat if held[0] else repeated(flat, size)
        found = reshape(matmul(flat, permute(w, dims=(0, 2, 1))), shape=(size, *inner[:-1], w.shape[1]))
    return found if b is None else ew.add(found, lifted(b, len(inner)) if held[2] else b)


linear = op("linear", infer=_infer_linear, ref=in_single(_linear), vjp=(_linear_x, _linear_w, _linear_b),
            lower=Composite(_linear_body), batch=_batch_linear, traits=("autocast_low", "self_checking", "reads_turned_weight"),
            flops=lambda args, outs, params: 2 * prod(outs[0].shape) * args[0].shape[-1],
            doc="x @ w.T + b; w is (out_features, in_features), b may be None.")
