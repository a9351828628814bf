"""How an array lies in memory, as far as a recording depends on it: whether it may be written, which views of it exist, and
what its strides are. Arrays of one order differ in sizes alone. And which tensors lie over each other unawares."""

from itertools import pairwise

import numpy as np


def memory_order(a):
    """True for row-major memory that may be written; otherwise something hashable that tells orders apart."""
    flags = a.flags
    if flags.carray:
        return True
    return flags.writeable, flags.c_contiguous or _order(a.shape, a.strides, a.itemsize)


def _order(shape, strides, itemsize):
    """Dims of one element, and the others from slow to fast, where these fill their memory; otherwise strides in bytes, and
    which dims can be seen as one with the next, or all sizes where elements may share a place."""
    steps = tuple([s if n > 1 else 0 for n, s in zip(shape, strides)])
    moving = sorted([d for d, s in enumerate(steps) if s], key=lambda d: -abs(steps[d]))
    repeated = tuple([d for d, n in enumerate(shape) if n > 1 and not steps[d]])
    step, is_dense, is_nested = itemsize, True, True
    for d in reversed(moving):
        is_dense = is_dense and steps[d] == step
        is_nested = is_nested and abs(steps[d]) >= step
        step = abs(steps[d]) * shape[d]
    if is_dense:
        return repeated, tuple(moving)
    if not is_nested:
        return steps, tuple(shape)
    dims = [d for d, n in enumerate(shape) if n > 1]
    return steps, tuple([steps[d] == steps[e] * shape[e] for d, e in pairwise(dims)])


def overlapping(tensors, others) -> tuple:
    """Pairs of positions at which tensors may lie over the same memory without sharing a storage: over an array, say, that
    numpy knows, too."""
    lent = [(i, t) for i, t in enumerate(tensors) if t._storage.lent and t._a.__class__ is np.ndarray]
    if not lent:
        return ()
    beside = [(i, t) for i, t in enumerate(others) if t._storage.lent and t._a.__class__ is np.ndarray]
    return tuple([(i, j) for i, a in lent for j, b in beside
                  if a._storage is not b._storage and np.may_share_memory(a._a, b._a)])
