"""Products of several matrices in the cheapest order."""

from ....ir.errors import ArgumentError, DTypeError, ShapeError, kind_of
from ....ir.ops.core.shape import reshape
from ...core.tensor import Tensor
from ..register.register import api, deliver
from .matrix_products import matmul


@api(method=False, memoised=True)
def chain_matmul(*matrices, out=None):
    """Multiply several matrices in the cheapest order."""
    if len(matrices) == 1 and not isinstance(matrices[0], Tensor):
        matrices = tuple(matrices[0])
    _check("chain_matmul", matrices, 1, (2,))
    return deliver(_product(matrices), out, "chain_matmul")


@api(method=False, memoised=True)
def multi_dot(tensors, *, out=None):
    """Multiply two or more matrices in the cheapest order; the first and last may be vectors."""
    tensors = tuple(tensors)
    _check("multi_dot", tensors, 2, (1, 2))
    return deliver(_product(tensors), out, "multi_dot")


def _check(name, tensors, least, at_ends):
    """Raise for chains that are too short and for tensors of other dims or dtypes; the ends have a number of dims in
    `at_ends`."""
    if len(tensors) < least:
        raise ArgumentError(f"{name} needs at least {least} tensors, got {len(tensors)}")
    for i, x in enumerate(tensors):
        if not isinstance(x, Tensor):
            raise DTypeError(f"{name} takes tensors, got {kind_of(x)}")
        if x.ndim not in (at_ends if i in (0, len(tensors) - 1) else (2,)):
            ends = ", or vectors at the ends" if 1 in at_ends else ""
            raise ShapeError(f"{name} takes matrices{ends}: tensor {i} is {x.aval}")
        if x.dtype is not tensors[0].dtype:
            raise DTypeError(f"{name} takes tensors of one dtype, got {tensors[0].aval} and {x.aval}; cast one with .to()")


def _product(tensors):
    ends = [_as_matrix(x, row=i == 0) for i, x in enumerate(tensors)]
    sizes = [ends[0].shape[0], *(x.shape[1] for x in ends)]
    result = _chain(ends, _best_splits(sizes), 0, len(ends) - 1)
    shape = (() if tensors[0].ndim == 1 else result.shape[:1]) + (() if tensors[-1].ndim == 1 else result.shape[1:])
    return reshape(result, shape=tuple(shape))


def _as_matrix(x, row):
    """Return a vector as a row or a column."""
    if x.ndim == 1:
        return reshape(x, shape=(1, x.shape[0]) if row else (x.shape[0], 1))
    return x


def _best_splits(sizes):
    """Return where to split each segment (first, last) of a chain of matrices, by dynamic programming."""
    n = len(sizes) - 1
    cost, split = {(i, i): 0 for i in range(n)}, {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            options = [(cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)]
            cost[i, j], split[i, j] = min(options)
    return split


def _chain(matrices, split, i, j):
    if i == j:
        return matrices[i]
    k = split[i, j]
    return matmul(_chain(matrices, split, i, k), _chain(matrices, split, k + 1, j))
