"""Linear maps along one dim after another: resampling, borders, even bins and sliding windows; writes to strided positions.

Tables of positions and weights are uploaded once.
"""

from math import prod

import numpy as np

from .....ir import dtype as dt
from .....ir.ops.core import shape as sh
from .....ir.ops.core.reduce import sum_
from .....ir.ops.nn import conv as cv
from .....ir.ops.nn import linear_maps, resample
from .....ir.ops.nn.windows import window_counts
from .....passes.codegen.triton.index import linear_maps as text
from ....core.device_array import DeviceArray
from ...compiler import copies
from ...compiler.flat_launches import flat_blocks
from ...compiler.kernels import launch
from ...graph.eager import contiguous, converted, run
from ...memory.arrays import as_reals, empty, filled
from ...memory.transfer import ConstantCache
from ..index import gathers

_tables = ConstantCache(1024)       # positions by id, weights by id and dtype


def mapped(x: DeviceArray, axis: int, table: tuple, skips: bool = False) -> DeviceArray:
    """Map x along an axis by a table (positions, weights); see `ir.ops.nn.linear_maps.apply_table`.

    With `skips`, elements of weight 0 are not read. Complex numbers are mapped by parts.
    """
    kind, positions = dt.from_numpy(x.dtype), table[0]
    if kind.is_complex:
        parts = mapped(as_reals(contiguous(x)).reshape(*x.shape, 2), axis, table, skips)
        return parts.view(x.dtype).reshape(*parts.shape[:-1])
    number, count = positions.shape
    out = empty(x.device, (*x.shape[:axis], count, *x.shape[axis + 1:]), x.dtype)
    if out.size:
        weighted = table[1] is not None
        sizes = {"TOTAL": out.size, "R": x.shape[axis], "Q": count, "C": prod(x.shape[axis + 1:]), "TAPS": number}
        bits = out if weighted else out.view(text.BITS[x.itemsize].np)
        x = contiguous(x)
        arrays = (x if weighted else x.view(bits.dtype), *_uploaded(table, kind, x.device), bits)
        launch(x.device, text.map_source(kind, weighted, skips), arrays, sizes, flat_blocks(out.size))
    return out


def _uploaded(table, kind, device) -> tuple:
    """Return a table on a device; a captured graph holds it."""
    positions, weights = table
    uploaded = _tables.upload(id(positions), device, lambda: np.ascontiguousarray(positions, np.int64), positions)
    if weights is None:
        return (uploaded,)
    return uploaded, _tables.upload((id(weights), kind), device, lambda: np.ascontiguousarray(weights.astype(kind.np)), weights)


def _along_all(op):
    tables_of = resample.TABLES[op]

    def run(inputs, params, device):
        x, = inputs
        tables = tables_of(x, **params)
        kind = dt.from_numpy(x.dtype)
        weighted = any(w is not None for _, w in tables.values())
        if kind in dt.FLOAT8 or (weighted and not kind.is_inexact) or not x.size:
            return NotImplemented
        out = converted(x, dt.accumulator(kind).np) if weighted and kind in dt.NARROW else x
        for axis in linear_maps.in_order(tables, x.shape):
            out = mapped(out, axis, tables[axis])
        return x.copy() if out is x else out if out.dtype == x.dtype else converted(out, x.dtype)

    return run


def im2col(inputs, params, device):
    """Return all windows as columns: the elements of all windows at one position are neighbours."""
    x, = inputs
    kernel, padding, rank = params["kernel"], params["padding"], len(params["kernel"])
    low, high = ((0, 0, *[p[side] for p in padding]) for side in (0, 1))
    if not x.size or x.itemsize > 8:
        return NotImplemented
    if any(low) or any(high):
        x = run(sh.pad, (x,), {"low": low, "high": high, "interior": (0,) * x.ndim, "value": 0})
    n, c, *sizes = x.shape
    counts = window_counts(sizes, kernel, params["stride"], ((0, 0),) * rank, params["dilation"])
    for d, one in enumerate(zip(sizes, kernel, params["stride"], params["dilation"])):
        x = mapped(x, 2 + d, linear_maps.window_table(*one))
    return _kernel_dims_first(x.reshape(n, c, *[m for pair in zip(kernel, counts) for m in pair]), n, c, rank).reshape(
        n, c * prod(kernel), prod(counts))


def _kernel_dims_first(x, n, c, rank):
    """Return (N, C, kernel, windows, kernel, windows ...) with all kernel dims before all window dims."""
    return contiguous(x.transpose(0, 1, *range(2, 2 + 2 * rank, 2), *range(3, 3 + 2 * rank, 2)))


def col2im(inputs, params, device):
    """Add windows up at their positions, the transpose of `im2col`."""
    columns, = inputs
    kind = dt.from_numpy(columns.dtype)
    if not columns.size or not kind.is_inexact:
        return NotImplemented
    kernel, stride, dilation, padding = (params[k] for k in ("kernel", "stride", "dilation", "padding"))
    rank = len(kernel)
    padded = [n + lo + hi for n, (lo, hi) in zip(params["size"], padding)]
    counts = window_counts(params["size"], kernel, stride, padding, dilation)
    n, c = columns.shape[0], columns.shape[1] // prod(kernel)
    x = contiguous(converted(columns, dt.accumulator(kind).np) if kind in dt.NARROW else columns)
    x = x.reshape(n, c, *kernel, *counts)
    x = contiguous(x.transpose(0, 1, *[d for k in range(rank) for d in (2 + k, 2 + rank + k)]))
    x = x.reshape(n, c, *[a * b for a, b in zip(kernel, counts)])
    for d, one in enumerate(zip(padded, kernel, stride, dilation)):
        x = mapped(x, 2 + d, linear_maps.transposed_window(*one), True)
    if any(any(p) for p in padding):
        low, high = ((0, 0, *[-p[side] for p in padding]) for side in (0, 1))
        x = run(sh.pad, (x,), {"low": low, "high": high, "interior": (0,) * x.ndim, "value": 0})
    return x if x.dtype == columns.dtype else converted(x, columns.dtype)


def fold_windows(inputs, params, device):
    """Add windows, in the last dim, up at their positions in a dim."""
    g, = inputs
    kind, dim, rank = dt.from_numpy(g.dtype), params["dim"], g.ndim
    if not g.size or not kind.is_inexact:
        return NotImplemented
    size, count = g.shape[-1], g.shape[dim]
    x = converted(g, dt.accumulator(kind).np) if kind in dt.NARROW else g
    x = contiguous(x.transpose(*range(dim), rank - 1, *range(dim, rank - 1)))
    x = x.reshape(*g.shape[:dim], size * count, *g.shape[dim + 1:-1])
    x = mapped(x, dim, linear_maps.transposed_window(params["shape"][dim], size, params["step"], 1), True)
    return x if x.dtype == g.dtype else converted(x, g.dtype)


def diagonal_embed(inputs, params, device):
    """Put elements on a diagonal of zeros."""
    x, = inputs
    out = filled(device, params["shape"], x.dtype, 0)
    if x.size:
        how = {k: params[k] for k in ("offset", "dim1", "dim2")}
        copies.write(out.viewed(sh.diagonal, how), x)
    return out


def strided_scatter(inputs, params, device):
    """Add elements to zeros at strided positions.

    Dims with stride 0 are summed first; other collisions are added in the order of positions.
    """
    g, = inputs
    kind, strides, offset = dt.from_numpy(g.dtype), params["strides"], params["offset"]
    if not g.size:
        return filled(device, params["size"], g.dtype, 0)
    still = tuple([d for d, (n, s) in enumerate(zip(g.shape, strides)) if n > 1 and s == 0])
    apart = not still and _lie_apart(g.shape, strides)
    x = g if apart or kind not in dt.NARROW else converted(g, dt.accumulator(kind).np)
    if still:
        x, strides = _summed(x, still), [s for d, s in enumerate(strides) if d not in still]
    out, n = filled(device, params["size"], x.dtype, 0), x.itemsize
    if apart or _lie_apart(x.shape, strides):
        copies.write(out.look(x.shape, [s * n for s in strides], offset * n), x)
    else:
        reach = 1 + sum([(m - 1) * s for m, s in zip(x.shape, strides)])
        gathers.add_strided(contiguous(x), strides, out.look((reach,), (n,), offset * n))
    return out if out.dtype == g.dtype else converted(out, g.dtype)


def _lie_apart(shape, strides) -> bool:
    """Return whether growing strides prove that no two elements share a position."""
    reach = 1
    for s, n in sorted([(s, n) for n, s in zip(shape, strides) if n > 1]):
        if s < reach:
            return False
        reach = s * (n - 1) + reach
    return True


def _summed(x, dims):
    found = run(sum_, (x,), {"dim": dims, "keepdim": False})
    return found if found.dtype == x.dtype else converted(found, x.dtype)


OPERATORS = {op: _along_all(op) for op in resample.TABLES} | {
    cv.im2col: im2col, cv.col2im: col2im, sh.fold_windows: fold_windows, sh.diagonal_scatter: diagonal_embed,
             sh.strided_scatter: strided_scatter}
