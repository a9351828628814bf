"""Products of vectors and matrices, and distances."""

from functools import partial

import numpy as np

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, DimError, DTypeError, ShapeError, kind_of
from ....ir.opdef.aval import broadcast_shapes, canonical_dim, integers
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core import reduce as rd
from ....ir.ops.core.complex_numbers import conj
from ....ir.ops.core.shape import diagonal, expand, permute, reshape
from ....ir.ops.linalg import products as la
from ....ir.ops.nn.distance import distances, euclidean_distances
from ....ir.suggestions import unknown_choice
from ....ir.symbols.substitute import as_float
from ...core.creation import as_array_tensor
from ...core.dispatch import reshaped
from ...core.tensor import Tensor, shape_of
from ...state.mode import tls
from ..register.register import api, deliver
from ..register.torch_function import ask_operand, asks
from ..register.type_promotion import (
    as_operand,
    check_factor,
    common_type,
    in_older_order,
    result_type,
    rounds_once,
    to_dtype,
    unpromoted_in_autocast,
    wide_on_cpus,
    widened,
    without_autocast,
)
from .elementwise import operate
from .reductions import summable, vector_norm


def need(name, *wanted):
    """Raise unless each (tensor, dimensions) pair fits."""
    for x, n in wanted:
        if not isinstance(x, Tensor):
            raise DTypeError(f"{name} takes tensors, got {kind_of(x)}")
        if x._a.ndim != n:
            shapes = " and ".join(str(t.aval) for t, _ in wanted if isinstance(t, Tensor))
            sizes = " and ".join(f"{k}-d" for _, k in wanted)
            raise ShapeError(f"{name} takes {sizes} tensors, got {shapes}; see matmul for the general product")


def _to_shape(x, shape):
    return x if x.shape == shape else expand(x, shape=shape)


@api(checked=False)
def matmul(input, other, *, out=None):
    """Multiply vectors, matrices, and batches of matrices that broadcast."""
    if not isinstance(input, Tensor) or not isinstance(other, Tensor):
        raise DTypeError(f"matmul takes tensors, got {kind_of(input)} and {kind_of(other)}")
    n, m = input._a.ndim, other._a.ndim
    if n == 2 and m == 2:
        return deliver(la.matmul.call(input, other), out, "matmul")
    if not n or not m:
        raise ShapeError(f"matmul takes tensors of at least one dimension, got {input.aval} and {other.aval}; use * to scale")
    inner = shape_of(other)[0 if m == 1 else -2]
    if shape_of(input)[-1] != inner:
        raise la.unequal_inner_sizes("matmul", shape_of(input), shape_of(other))
    return deliver(_matmul(input, other), out, "matmul")


def _matmul(x, y):
    """Return the product of tensors that fit; a vector is a row on the left and a column on the right."""
    left, right = shape_of(x), shape_of(y)
    k = left[-1]
    if len(right) == 1:
        if len(left) <= 2:
            if tls.m.autocast is not None:
                x, y = tls.m.autocast.low(x, y)
            return (la.dot if len(left) == 1 else la.mv).call(x, y)
        return reshaped(_matmul(x, reshaped(y, (k, 1))), left[:-1])
    if len(left) == 1:
        return reshaped(_matmul(reshaped(x, (1, k)), y), right[:-2] + right[-1:])
    if len(right) == 2 and len(left) > 2:
        rows = rd.count_of(left, range(len(left) - 1))
        return reshaped(la.matmul.call(reshaped(x, (rows, k)), y), left[:-1] + right[-1:])
    if len(left) == len(right) == 2:
        return la.matmul.call(x, y)
    batch = broadcast_shapes(left[:-2], right[:-2])
    return la.matmul.call(_to_shape(x, batch + left[-2:]), _to_shape(y, batch + right[-2:]))


def _matmul_operator(self, other):
    if isinstance(other, np.ndarray):
        other = as_array_tensor(other)
    if isinstance(other, Tensor):
        return matmul(self, other)
    return ask_operand("__matmul__", self, other) if asks(other) else NotImplemented


def _matmul_reflected(self, other):
    if isinstance(other, Tensor):
        return matmul(other, self)
    return ask_operand("__rmatmul__", self, other) if asks(other) else NotImplemented


Tensor.__matmul__ = _matmul_operator
Tensor.__rmatmul__ = _matmul_reflected
_matmul_operator.__name__, _matmul_reflected.__name__ = "__matmul__", "__rmatmul__"     # names that classes override


@api(checked=False)
def mm(input, mat2, *, out=None):
    """Multiply two matrices."""
    need("mm", (input, 2), (mat2, 2))
    return deliver(la.matmul.call(input, mat2), out, "mm")


@api(checked=False)
def bmm(input, mat2, *, out=None):
    """Multiply two equally long batches of matrices."""
    need("bmm", (input, 3), (mat2, 3))
    return deliver(la.matmul.call(input, mat2), out, "bmm")


@api(checked=False)
def mv(input, vec, *, out=None):
    """Multiply a matrix by a vector."""
    need("mv", (input, 2), (vec, 1))
    return deliver(la.mv.call(input, vec), out, "mv")


@api(checked=False)
def dot(input, tensor, *, out=None):
    """Return the inner product of two vectors."""
    need("dot", (input, 1), (tensor, 1))
    return la.dot.call(input, tensor) if out is None else deliver(la.dot.call(input, tensor), out, "dot")


@api(memoised=True)
def vdot(input, other, *, out=None):
    """Return the inner product of two vectors, the first one conjugated."""
    need("vdot", (input, 1), (other, 1))
    return deliver(la.dot.call(conj(input) if input.dtype.is_complex else input, other), out, "vdot")


@api(memoised=True)
def inner(input, other, *, out=None):
    """Sum products over the last dimension of both tensors."""
    if not input.ndim or not other.ndim:
        return operate(ew.mul, input, other, out=out)
    last = other.ndim - 1
    return tensordot(input, other, dims=((input.ndim - 1,), (last,)), out=out)


@api(names=("ger",), memoised=True)
def outer(input, vec2, *, out=None):
    """Multiply every element of one vector by every element of another."""
    need("outer", (input, 1), (vec2, 1))
    d = result_type(input, vec2)
    column = reshape(to_dtype(input, d), shape=(input.shape[0], 1))
    return deliver(ew.mul(column, to_dtype(vec2, d)), out, "outer")


# beta * input + alpha * product.


def _accumulate(input, product, beta, alpha, out, name):
    for factor in (alpha, beta):
        check_factor(factor, product.dtype, name)
    if product.dtype.is_integer:
        alpha, beta = int(alpha), int(beta)
    alpha, beta = as_operand(alpha, name), as_operand(beta, name)
    if input.dtype is not product.dtype:
        raise DTypeError(f"{name} takes tensors of one dtype, got {input.aval} and {product.aval}; cast one with .to()")
    if broadcast_shapes(input.shape, product.shape) != product.shape:
        raise ShapeError(f"{name}: input of shape {list(input.shape)} does not expand to the product's {list(product.shape)}")
    return deliver(_sum_of_products(input, product, beta, alpha), out, name)


@rounds_once
def _sum_of_products(input, product, beta, alpha):
    if alpha != 1:
        product = ew.mul(product, alpha)
    if beta == 0:
        if not input.requires_grad:
            return product
        input, beta = ew.where(False, input, -0.0), 1     # its gradient is zeros; its values, nan too, do not count
    return ew.add(input if beta == 1 else ew.mul(input, beta), product)


def _add_product(product, input, x, y, beta, alpha, out, name):
    """Return beta * input + alpha * product(x, y); float16 and bfloat16 are computed in float32 and rounded once."""
    casting = tls.m.autocast
    if casting is not None:
        input, x, y = casting.cast(la.mv if product is la.mv else la.matmul, (input, x, y))
        with without_autocast():
            return _add_product(product, input, x, y, beta, alpha, out, name)
    d = x.dtype
    if dt.accumulator(d) is d or input.dtype is not d or y.dtype is not d:
        return _accumulate(input, product(x, y), beta, alpha, out, name)
    result = _accumulate(widened(input), product(widened(x), widened(y)), beta, alpha, None, name)
    return deliver(to_dtype(result, d), out, name)


@api(inplace=True, memoised=True)
def addmm(input, mat1, mat2, *older, beta=1, alpha=1, out=None):
    """Return beta * input + alpha * mat1 @ mat2."""
    if older:
        return in_older_order(addmm, (input, mat1, mat2, *older), 3, out, beta=beta, alpha=alpha)
    need("addmm", (mat1, 2), (mat2, 2))
    return _add_product(la.matmul, input, mat1, mat2, beta, alpha, out, "addmm")


@api(inplace=True, memoised=True)
def addmv(input, mat, vec, *older, beta=1, alpha=1, out=None):
    """Return beta * input + alpha * mat @ vec."""
    if older:
        return in_older_order(addmv, (input, mat, vec, *older), 3, out, beta=beta, alpha=alpha)
    need("addmv", (mat, 2), (vec, 1))
    return _add_product(la.mv, input, mat, vec, beta, alpha, out, "addmv")


@api(inplace=True, memoised=True)
def addr(input, vec1, vec2, *older, beta=1, alpha=1, out=None):
    """Return beta * input + alpha * outer(vec1, vec2)."""
    if older:
        return in_older_order(addr, (input, vec1, vec2, *older), 3, out, beta=beta, alpha=alpha)
    d = result_type(input, vec1, vec2)
    if d.is_integer and (isinstance(alpha, float) or isinstance(beta, float)):
        raise DTypeError(f"addr: alpha and beta must be integers for {d.name} tensors")
    wide = dt.accumulator(d)
    product = outer(to_dtype(vec1, wide), to_dtype(vec2, wide))
    result = _accumulate(to_dtype(input, wide), product, beta, alpha, None, "addr")
    return deliver(to_dtype(result, d), out, "addr")


@api(inplace=True, memoised=True)
def baddbmm(input, batch1, batch2, *older, beta=1, alpha=1, out=None):
    """Return beta * input + alpha * batch1 @ batch2."""
    if older:
        return in_older_order(baddbmm, (input, batch1, batch2, *older), 3, out, beta=beta, alpha=alpha)
    need("baddbmm", (batch1, 3), (batch2, 3))
    return _add_product(la.matmul, input, batch1, batch2, beta, alpha, out, "baddbmm")


@api(inplace=True, memoised=True)
def addbmm(input, batch1, batch2, *older, beta=1, alpha=1, out=None):
    """Return beta * input + alpha * the sum of all products in the batch."""
    if older:
        return in_older_order(addbmm, (input, batch1, batch2, *older), 3, out, beta=beta, alpha=alpha)
    need("addbmm", (batch1, 3), (batch2, 3))
    return _add_product(partial(tensordot, dims=((0, 2), (0, 1))), input, batch1, batch2, beta, alpha, out, "addbmm")


# General contractions.


def contraction_dims(a, b, dims):
    """Return the dims that tensordot sums over, counted from the front, for a and for b."""
    if isinstance(dims, (Tensor, np.generic, np.ndarray)):
        dims = dims.tolist()
    if isinstance(dims, int):
        if not 0 <= dims <= min(a.ndim, b.ndim):
            raise ArgumentError(f"tensordot of {a.aval} and {b.aval} cannot sum over {dims} dims")
        return tuple(range(a.ndim - dims, a.ndim)), tuple(range(dims))
    first, second = (integers(d, "dims") for d in dims)
    first = tuple(canonical_dim(d, a.ndim) for d in first)
    second = tuple(canonical_dim(d, b.ndim) for d in second)
    if max(first, default=-1) >= a.ndim or max(second, default=-1) >= b.ndim:
        raise DimError(f"tensordot of {a.aval} and {b.aval} cannot sum over dims {first} and {second}")
    if len(first) != len(second):
        raise ShapeError(f"tensordot needs as many dims of one tensor as of the other, got {first} and {second}")
    return first, second


def _summed_against_one(x, own, y, theirs):
    """Sum x, keeping its dims, over the paired dims in which y has size 1 and would broadcast."""
    dims = tuple(sorted(i for i, j in zip(own, theirs) if y.shape[j] == 1 != x.shape[i]))
    return rd.sum_(x, dim=dims, keepdim=True) if dims else x


@api(method=False, memoised=True, keywords={"axes": "dims"})
def tensordot(a, b, dims=2, *, out=None):
    """Sum products over several dims: the last of a and the first of b, or the two given lists."""
    first, second = contraction_dims(a, b, dims)
    a, b = _summed_against_one(a, first, b, second), _summed_against_one(b, second, a, first)
    for i, j in zip(first, second):
        if a.shape[i] != b.shape[j]:
            raise ShapeError(f"tensordot sums dim {i} of {a.aval} against dim {j} of {b.aval}, but their sizes differ")
    left = tuple(d for d in range(a.ndim) if d not in first)
    right = tuple(d for d in range(b.ndim) if d not in second)
    k = rd.count_of(a.shape, first)
    x = reshape(permute(a, dims=left + first), shape=(rd.count_of(a.shape, left), k))
    y = reshape(permute(b, dims=second + right), shape=(k, rd.count_of(b.shape, right)))
    shape = tuple(a.shape[d] for d in left) + tuple(b.shape[d] for d in right)
    product = la.matmul if shape else unpromoted_in_autocast(la.matmul)       # autocast ignores inner products
    return deliver(reshape(product(x, y), shape=shape), out, "tensordot")


@api(memoised=True)
def kron(input, other, *, out=None):
    """Return the Kronecker product: every element of input times the whole of other."""
    n = max(input.ndim, other.ndim)
    d = common_type(input, other)
    a = (1,) * (n - input.ndim) + tuple(input.shape)
    b = (1,) * (n - other.ndim) + tuple(other.shape)
    spread = tuple(s for p in a for s in (p, 1)), tuple(s for q in b for s in (1, q))
    product = ew.mul(reshape(to_dtype(input, d), shape=spread[0]), reshape(to_dtype(other, d), shape=spread[1]))
    return deliver(reshape(product, shape=tuple(p * q for p, q in zip(a, b))), out, "kron")


@api(memoised=True)
def trace(input):
    """Return the sum of a matrix's diagonal."""
    need("trace", (input, 2))
    input = wide_on_cpus(input)
    return rd.sum_(summable(diagonal(input, offset=0, dim1=0, dim2=1), None), dim=(0,), keepdim=False)


@api(memoised=True)
def cross(input, other, dim=None, *, out=None):
    """Return the cross product of vectors of 3 along `dim`, by default the first dim of size 3."""
    shape = broadcast_shapes(input.shape, other.shape)
    if not shape:
        raise ShapeError("cross takes vectors of 3, got 0-d tensors")
    if dim is None:
        dim = next((i for i, n in enumerate(shape) if n == 3), None)
        if dim is None:
            raise ShapeError(f"cross needs a dimension of size 3, got {input.aval} and {other.aval}")
    d = canonical_dim(dim, len(shape))
    if shape[d] != 3 or input.ndim != other.ndim or input.shape[d] != 3 or other.shape[d] != 3:
        raise ShapeError(f"cross along dim {dim} takes two tensors of size 3 there, got {input.aval} and {other.aval}")
    kind = result_type(input, other)
    x, y = (_to_shape(to_dtype(t, kind), shape) for t in (input, other))
    return deliver(la.cross(x, y, dim=d), out, "cross")


# Distances between all pairs.

_MANY_ROWS = 25   # above this, Euclidean distances are computed by a matrix product


@api(method=False, memoised=True)
def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """Return distances of order p between every row of x1 and every row of x2."""
    modes = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
    if compute_mode not in modes:
        raise unknown_choice("compute_mode", compute_mode, modes)
    if x1.ndim < 2 or x2.ndim < 2 or x1.shape[-1] != x2.shape[-1]:
        raise ShapeError(f"cdist takes two tensors of rows of one length, got {x1.aval} and {x2.aval}")
    if p < 0:
        raise ArgumentError(f"cdist takes an order of at least 0, got {p}")
    for x in (x1, x2):
        if not x.dtype.is_inexact:
            raise DTypeError(f"cdist takes floating point tensors, got {x.aval}; cast it with .float()")
    batch = broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    kind = result_type(x1, x2)
    x, y = (_to_shape(to_dtype(t, kind), batch + t.shape[-2:]) for t in (x1, x2))
    large = x.shape[-2] > _MANY_ROWS or y.shape[-2] > _MANY_ROWS
    by_product = compute_mode == modes[1] or (compute_mode == modes[0] and large)
    if p == 2 and by_product and kind.is_floating_point:
        return euclidean_distances(x, y)
    m, n, k = x.shape[-2], y.shape[-2], x.shape[-1]
    if k and kind.is_floating_point:
        return distances(x, la.transpose_last(y).contiguous(), ord=as_float(p))
    gap = ew.sub(expand(reshape(x, shape=(*batch, m, 1, k)), shape=(*batch, m, n, k)),
                 expand(reshape(y, shape=(*batch, 1, n, k)), shape=(*batch, m, n, k)))
    return vector_norm(gap, p, dim=-1) if k else rd.sum_(gap, dim=(gap.ndim - 1,), keepdim=False)
