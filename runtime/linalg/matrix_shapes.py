"""How batches of matrices and right-hand sides meet."""

from ...ir.errors import ShapeError
from ...ir.opdef.aval import broadcast_shapes
from ...ir.ops.core.shape import expand
from ...ir.ops.linalg.products import transpose_last


def batched(*xs):
    """Matrices expanded to one batch shape."""
    batch = broadcast_shapes(*(x.shape[:-2] for x in xs))
    return [x if x.shape[:-2] == batch else expand(x, shape=batch + tuple(x.shape[-2:])) for x in xs]


def turned(name, A, B):
    """The matrices of X @ A = B as those of A @ X = B, whose solution is the transposed one."""
    if is_vector(A, B):
        raise ShapeError(f"{name}(left=False) takes matrices with as many columns as A, got {A.aval} and {B.aval}")
    return transpose_last(A), transpose_last(B)


def is_vector(A, B):
    """Whether B is one vector for each matrix of A."""
    return B.ndim == 1 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1])
