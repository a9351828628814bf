"""Memory layout of arrays, as far as a recording depends on it: order of dims, writability, views, overlap.

Arrays of one order differ only in sizes and strides. `layout_of` a tensor holds all that a function can query.
"""

from itertools import pairwise

import numpy as np

from ...runtime.core.device_array import address_of
from ...runtime.core.node import Leaf
from ...runtime.core.tensor import whole_of


def memory_order(a):
    """Return True for writable row-major memory, otherwise a hashable value that tells orders apart."""
    flags = a.flags
    if flags.carray:
        return True
    return flags.writeable, flags.c_contiguous or _order(a.shape, a.strides, a.itemsize)


def _order(shape, strides, itemsize):
    """Return the dims from slow to fast, and those that repeat elements. For memory with gaps also: dims that run backwards,
    whether the fastest has gaps, and which merge with the next. If elements may share memory: strides in bytes and sizes."""
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
    merged = tuple([steps[d] == steps[e] * shape[e] for d, e in pairwise(dims)])
    backwards = tuple([d for d in moving if steps[d] < 0])
    return repeated, tuple(moving), backwards, abs(steps[moving[-1]]) == itemsize, merged


def layout_of(t):
    """Return the layout of a tensor in the memory of its base."""
    whole = whole_of(t)
    return t._a.strides, address_of(t._a) - address_of(whole._a), whole._a.shape, whole._a.strides


def is_root(t) -> bool:
    """Return whether a tensor is all of its memory, and no view."""
    return whole_of(t) is t


def is_written_unchecked(t) -> bool:
    """Return whether a tensor is `.data` or a view of it: writes are not checked against what was saved for gradients."""
    return (t if t._base is None else t._base)._is_data


def history_of_base(t) -> tuple:
    """Return whether a tensor is a view, and the kind of its base's history: "leaf", "node" or None."""
    node = (t if t._base is None else t._base)._node
    return t._base is not None, None if node is None else "leaf" if type(node) is Leaf else "node"


def may_overlap(a, b) -> bool:
    """Return whether two tensors may overlap in memory, in one storage or unnoticed."""
    return a._storage is b._storage or bool(overlapping([a], [b]))


def overlapping(tensors, others) -> tuple:
    """Return pairs of positions of tensors that may overlap without sharing a storage, such as views of one NumPy array."""
    lent = _lent(tensors)
    if not lent:
        return ()
    other_lent, found, open_a, open_b = _lent(others), [], [], []
    for low, is_other, i, high, storage in sorted([*[(low, 0, *rest) for low, *rest in lent],
                                                   *[(low, 1, *rest) for low, *rest in other_lent]], key=lambda part: part[:3]):
        mine, its = (open_b, open_a) if is_other else (open_a, open_b)
        its[:] = [part for part in its if part[1] > low]
        found += [(j, i) if is_other else (i, j) for j, _, other in its if other is not storage]
        mine.append((i, high, storage))
    return tuple(sorted(found))


def _lent(tensors) -> list:
    """Return (begin, number, end, storage) of the memory of tensors over arrays that others hold, too."""
    found = []
    for i, t in enumerate(tensors):
        a = t._a
        if t._storage.lent and a.__class__ is np.ndarray and a.size:
            low = a.__array_interface__["data"][0]
            low, high = (low, low + a.nbytes) if a.flags.forc else np.lib.array_utils.byte_bounds(a)
            found.append((low, i, high, t._storage))
    return found
