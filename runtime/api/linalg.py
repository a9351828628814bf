"""Products of vectors and matrices."""

from ...ir.aval import broadcast_shapes
from ...ir.errors import ArgumentError, DTypeError, ShapeError
from ...ir.ops import elementwise as ew
from ...ir.ops import linalg as la
from ...ir.ops import reduce as rd
from ...ir.ops.shape import expand, permute, reshape
from ..tensor import Tensor
from .promote import result_type, to_dtype
from .register import api, deliver


def need(name, *wanted):
    """Checks (tensor, dimensions) pairs."""
    for x, n in wanted:
        if not isinstance(x, Tensor):
            raise DTypeError(f"{name} takes tensors, got {type(x).__name__}")
        if x.ndim != n:
            shapes = " and ".join(str(t.aval) for t, _ in wanted if isinstance(t, Tensor))
            sizes = " and ".join(f"{k}-d" for _, k in wanted)
            raise ShapeError(f"{name} takes {sizes} tensors, got {shapes}; see matmul for the general product")


def _to_shape(x, shape):
    return x if x.shape == shape else expand(x, shape=shape)


@api()
def matmul(input, other, *, out=None):
    """Matrix product: vectors, matrices, and batches of matrices that broadcast."""
    if not isinstance(input, Tensor) or not isinstance(other, Tensor):
        raise DTypeError(f"matmul takes tensors, got {type(input).__name__} and {type(other).__name__}")
    if input.ndim == 2 and other.ndim == 2:
        return deliver(la.matmul(input, other), out, "matmul")
    if not input.ndim or not other.ndim:
        raise ShapeError(f"matmul takes tensors of at least one dimension, got {input.aval} and {other.aval}; use * to scale")
    inner = other.shape[0] if other.ndim == 1 else other.shape[-2]
    if input.shape[-1] != inner:
        raise ShapeError(f"matmul of {input.aval} and {other.aval}: the last size of the first is {input.shape[-1]}, but the "
                         f"second has {inner} rows")
    return deliver(_matmul(input, other), out, "matmul")


def _matmul(x, y):
    """The product of tensors that fit; vectors stand for a row on the left and a column on the right."""
    k = x.shape[-1]
    if x.ndim == 1:
        full = _matmul(reshape(x, shape=(1, k)), y) if y.ndim > 1 else _matmul(reshape(x, shape=(1, k)), reshape(y, shape=(k, 1)))
        return reshape(full, shape=y.shape[:-2] + y.shape[-1:] if y.ndim > 1 else ())
    if y.ndim == 1:
        return reshape(_matmul(x, reshape(y, shape=(k, 1))), shape=x.shape[:-1])
    if y.ndim == 2 and x.ndim > 2:
        rows = rd.count_of(x.shape, range(x.ndim - 1))
        return reshape(la.matmul(reshape(x, shape=(rows, k)), y), shape=x.shape[:-1] + y.shape[-1:])
    batch = broadcast_shapes(x.shape[:-2], y.shape[:-2])
    return la.matmul(_to_shape(x, batch + x.shape[-2:]), _to_shape(y, batch + y.shape[-2:]))


def _matmul_operator(self, other):
    return matmul(self, other) if isinstance(other, Tensor) else NotImplemented


def _matmul_reflected(self, other):
    return matmul(other, self) if isinstance(other, Tensor) else NotImplemented


Tensor.__matmul__ = _matmul_operator
Tensor.__rmatmul__ = _matmul_reflected


@api()
def mm(input, mat2, *, out=None):
    """The product of two matrices."""
    need("mm", (input, 2), (mat2, 2))
    return deliver(la.matmul(input, mat2), out, "mm")


@api()
def bmm(input, mat2, *, out=None):
    """The products of two equally long batches of matrices."""
    need("bmm", (input, 3), (mat2, 3))
    return deliver(la.matmul(input, mat2), out, "bmm")


@api()
def mv(input, vec, *, out=None):
    """A matrix times a vector."""
    need("mv", (input, 2), (vec, 1))
    return matmul(input, vec, out=out)


@api()
def dot(input, tensor, *, out=None):
    """The inner product of two vectors."""
    need("dot", (input, 1), (tensor, 1))
    return matmul(input, tensor, out=out)


@api()
def vdot(input, other, *, out=None):
    """The inner product of two vectors."""
    need("vdot", (input, 1), (other, 1))
    return matmul(input, other, out=out)


@api()
def inner(input, other, *, out=None):
    """Sums of products over the last dimension of both."""
    if not input.ndim or not other.ndim:
        return deliver(ew.mul(input, other), out, "inner")
    last = other.ndim - 1
    return tensordot(input, other, dims=((input.ndim - 1,), (last,)), out=out)


@api(names=("ger",))
def outer(input, vec2, *, out=None):
    """Every element of one vector times every element of another."""
    need("outer", (input, 1), (vec2, 1))
    d = result_type(input, vec2)
    column = reshape(to_dtype(input, d), shape=(input.shape[0], 1))
    return deliver(ew.mul(column, to_dtype(vec2, d)), out, "outer")


# beta * input + alpha * product.


def _accumulate(input, product, beta, alpha, out, name):
    if (isinstance(alpha, float) or isinstance(beta, float)) and not product.dtype.is_inexact:
        raise DTypeError(f"{name}: alpha and beta must be integers for {product.dtype} tensors")
    if input.dtype is not product.dtype:
        raise DTypeError(f"{name} takes tensors of one dtype, got {input.aval} and {product.aval}; cast one with .to()")
    if broadcast_shapes(input.shape, product.shape) != product.shape:
        raise ShapeError(f"{name}: input of shape {tuple(input.shape)} does not expand to the product's {tuple(product.shape)}")
    if alpha != 1:
        product = ew.mul(product, alpha)
    if beta == 0:
        return deliver(product, out, name)
    return deliver(ew.add(input if beta == 1 else ew.mul(input, beta), product), out, name)


@api(inplace=True)
def addmm(input, mat1, mat2, *, beta=1, alpha=1, out=None):
    """beta * input + alpha * mat1 @ mat2"""
    need("addmm", (mat1, 2), (mat2, 2))
    return _accumulate(input, la.matmul(mat1, mat2), beta, alpha, out, "addmm")


@api(inplace=True)
def addmv(input, mat, vec, *, beta=1, alpha=1, out=None):
    """beta * input + alpha * mat @ vec"""
    return _accumulate(input, mv(mat, vec), beta, alpha, out, "addmv")


@api(inplace=True)
def addr(input, vec1, vec2, *, beta=1, alpha=1, out=None):
    """beta * input + alpha * outer(vec1, vec2)"""
    product = outer(vec1, vec2)
    d = result_type(input, product)
    return _accumulate(to_dtype(input, d), to_dtype(product, d), beta, alpha, out, "addr")


@api(inplace=True)
def baddbmm(input, batch1, batch2, *, beta=1, alpha=1, out=None):
    """beta * input + alpha * batch1 @ batch2"""
    return _accumulate(input, bmm(batch1, batch2), beta, alpha, out, "baddbmm")


@api(inplace=True)
def addbmm(input, batch1, batch2, *, beta=1, alpha=1, out=None):
    """beta * input + alpha * the sum of all products in the batch"""
    need("addbmm", (batch1, 3), (batch2, 3))
    total = tensordot(batch1, batch2, dims=((0, 2), (0, 1)))
    return _accumulate(input, total, beta, alpha, out, "addbmm")


# General contractions.


def contraction_dims(a, b, dims):
    """The dims that tensordot sums over, counted from the front, for a and for b."""
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if not 0 <= dims <= min(a.ndim, b.ndim):
            raise ArgumentError(f"tensordot of {a.aval} and {b.aval} cannot sum over {dims} dims")
        return tuple(range(a.ndim - dims, a.ndim)), tuple(range(dims))
    first, second = ((d,) if isinstance(d, int) else tuple(d) for d in dims)
    first, second = tuple(d % a.ndim for d in first), tuple(d % b.ndim for d in second)
    if len(first) != len(second):
        raise ShapeError(f"tensordot needs as many dims of one tensor as of the other, got {first} and {second}")
    for i, j in zip(first, second):
        if a.shape[i] != b.shape[j]:
            raise ShapeError(f"tensordot sums dim {i} of {a.aval} against dim {j} of {b.aval}, but their sizes differ")
    return first, second


@api(method=False)
def tensordot(a, b, dims=2, *, out=None):
    """Sums of products over several dims: the last of a and the first of b, or the two given lists."""
    first, second = contraction_dims(a, b, dims)
    left = tuple(d for d in range(a.ndim) if d not in first)
    right = tuple(d for d in range(b.ndim) if d not in second)
    k = rd.count_of(a.shape, first)
    x = reshape(permute(a, dims=left + first), shape=(rd.count_of(a.shape, left), k))
    y = reshape(permute(b, dims=second + right), shape=(k, rd.count_of(b.shape, right)))
    shape = tuple(a.shape[d] for d in left) + tuple(b.shape[d] for d in right)
    return deliver(reshape(la.matmul(x, y), shape=shape), out, "tensordot")


@api()
def kron(input, other, *, out=None):
    """The Kronecker product: every element of input times the whole of other."""
    n = max(input.ndim, other.ndim)
    d = result_type(input, other)
    a = (1,) * (n - input.ndim) + tuple(input.shape)
    b = (1,) * (n - other.ndim) + tuple(other.shape)
    spread = tuple(s for p in a for s in (p, 1)), tuple(s for q in b for s in (1, q))
    product = ew.mul(reshape(to_dtype(input, d), shape=spread[0]), reshape(to_dtype(other, d), shape=spread[1]))
    return deliver(reshape(product, shape=tuple(p * q for p, q in zip(a, b))), out, "kron")
