"""Maxima of even bins and where they are, in eager mode.

The innermost dim is reduced first, by the kernels of reductions; what is left is a few times smaller. Then each maximum is
followed from the outermost dim inwards: which row of the bin has it, then which element of that row. Of equal elements the
first one in the order of memory is found, and nan counts as the largest, as the reference has it.
"""

import functools

import numpy as np

from ....ir import dtype as dt
from ....ir.ops.nn import pool as ops
from ..loops import kernels


@functools.lru_cache(512)
def _places(extent, count):
    """The positions in each bin (count, widest); short bins repeat their last one."""
    return ops.bin_places(extent, count)


def _reduced(x, axis, count):
    """The largest elements of the bins along one dim."""
    total = kernels.reduction("max", dt.BY_NP[x.dtype])
    if count == 1:
        return total(x, (axis,), True)
    before = (slice(None),) * axis
    starts, ends = ops.bins(x.shape[axis], count)
    return np.concatenate([total(x[(*before, slice(a, b))], (axis,), True) for a, b in zip(starts, ends)], axis)


def _first_places(x, axis, count):
    """Where along one dim each bin has its largest element."""
    before = (slice(None),) * axis
    starts, ends = ops.bins(x.shape[axis], count)
    return np.stack([x[(*before, slice(a, b))].argmax(axis) + a for a, b in zip(starts, ends)], axis)


def maxima(x, *, size):
    """Maxima (N, C, *size) of even bins and their flat indices in the plane; `x` is of float32 or float64, and not empty."""
    rank = len(size)
    levels = [x]                    # levels[-1]: all dims but the outermost are in bins
    for axis in range(rank + 1, 2, -1):
        levels.append(_reduced(levels[-1], axis, size[axis - 2]))
    chosen = [_first_places(levels[-1], 2, size[0])]
    grid = np.ogrid[tuple(map(slice, (*x.shape[:2], *size)))]
    for axis in range(3, rank + 2):
        places = _places(x.shape[axis], size[axis - 2])
        spread = places.reshape((1,) * axis + (len(places),) + (1,) * (rank + 1 - axis) + (-1,))
        at = [*grid[:2], *chosen, None, *grid[axis + 1:]]
        at = [spread if a is None else a[..., None] for a in at]
        best = levels[rank + 1 - axis][tuple(at)].argmax(-1)
        spread = np.broadcast_to(spread, (*best.shape, spread.shape[-1]))
        chosen.append(np.take_along_axis(spread, best[..., None], -1)[..., 0])
    values = x[(*grid[:2], *chosen)]
    flat = chosen[0]
    for extent, more in zip(x.shape[3:], chosen[1:]):
        flat = flat * extent + more
    return values, flat
