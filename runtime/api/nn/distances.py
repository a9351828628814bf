"""Distances and similarities."""

from functools import lru_cache

from ....ir.errors import ArgumentError, ShapeError
from ....ir.ops.nn import distance, similarity
from ....ir.symbols.substitute import as_float
from ...memo.call_memo import keeps_table
from ...state.mode import tls
from ..math.reductions import dims_of
from ..register.register import FUNCTIONS, api
from ..register.type_promotion import common_type, to_dtype


@api(method=False, memoised=True)
def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """Return the cosine of the angle between two tensors along a dimension; norms are at least eps."""
    if eps < 0:
        raise ArgumentError(f"cosine_similarity: eps must not be negative, got {eps}")
    kind = common_type(x1, x2)
    x1, x2 = FUNCTIONS["broadcast_tensors"](to_dtype(x1, kind), to_dtype(x2, kind))
    return similarity.cosine_similarity(x1, x2, dim=dims_of(x1, dim), eps=as_float(eps))


@api(method=False, memoised=True)
def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """Return the p-norm of x1 - x2 + eps along the last dimension."""
    return FUNCTIONS["norm"](x1 - x2 + eps, p, -1, keepdim)


@api(method=False, memoised=True)
def pdist(input, p=2.0):
    """Return the p-norm distances of all pairs of rows, as the upper triangle row by row."""
    if input.ndim != 2:
        raise ShapeError(f"pdist takes a matrix of rows, got {input.aval}")
    n = input.shape[0]
    is_cached = n <= _MOST and not tls.m.listened
    positions = (_cached_above_diagonal if is_cached else _above_diagonal)(n, input.device)
    if input.dtype.is_floating_point and input.shape[1] and n > 1 and p >= 0:
        return distance.pair_distances(input, positions, ord=as_float(p))
    return FUNCTIONS["cdist"](input, input, p, "donot_use_mm_for_euclid_dist").flatten().gather(0, positions)


def _above_diagonal(n, device):
    """Return the positions of a matrix above its diagonal, row by row."""
    rows, columns = FUNCTIONS["triu_indices"](n, n, 1, device=device)
    return rows * n + columns


_MOST = 2048            # rows whose positions are cached: finding them takes longer than the distances


@lru_cache(4)
def _cached_above_diagonal(n, device):
    return keeps_table(_above_diagonal(n, device))
