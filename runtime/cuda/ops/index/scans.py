"""Scans along a dim on a device, and positions computed from running counts.

Along the last dim lanes share a row (`row_scans.py`), if the order of joins does not matter. Elsewhere, and in the linear
recurrence, each lane scans a sequence of its own. Running sums and products of long, few rows are cut in parts for all
multiprocessors: each part is scanned alone, then the total before it is added, in a dtype wide enough to round like one walk.
"""

import functools
from math import prod

import numpy as np

from .....ir import dtype as dt
from .....ir.kernel.kernel_builder import KernelBuilder
from .....ir.ops.core import elementwise as ew
from .....ir.ops.core import scan as sc
from .....ir.ops.core.shape import expand, iota, pad, reshape, slice_
from .....ir.ops.index import indexing as ix
from .....ir.ops.index.sort import searchsorted
from .....ir.ops.nn import embedding as em
from .....ir.symbols.symbolic import power_of_two
from .....passes.codegen.triton.index import row_scans
from .....passes.codegen.triton.index import scans as text
from ...compiler.flat_launches import check_values, flat_blocks
from ...compiler.kernels import Prepared, launch
from ...driver import streams
from ...graph.eager import composed, contiguous, run
from ...memory.arrays import empty, filled, on_device, used

PART = 1 << 12          # elements of the smallest part of a row
LONG = 1 << 16          # elements of a row from which it is cut
FEW = 128               # rows that leave multiprocessors idle
_BLOCK = 128        # lanes of a program, each with a sequence of its own
_TILE = 1024        # elements of a tile of rows
_MOST_PARTS = 512   # parts of a row
NEIGHBOURS = 32     # rows from which transposing pays, so that neighbouring lanes read neighbouring elements
_WIDE = dict.fromkeys(dt.FLOATS, dt.float64) | {dt.complex64: dt.complex128}


def running(kind):
    """Return the operator of running sums or products."""
    in_parts = sums_in_parts if kind == "sum" else products_in_parts

    def run(inputs, params, device):
        x, dim = contiguous(inputs[0]), params["dim"]
        if x.dtype.kind == "b":
            return NotImplemented
        if dim == x.ndim - 1 and x.shape[dim] >= LONG and x.size < FEW * x.shape[dim]:
            return composed(in_parts, (x,), {}, device)[0]
        out = empty(device, x.shape, x.dtype)
        if x.size:
            inner, length = prod(x.shape[dim + 1:]), x.shape[dim]
            sizes = {"outer": x.size // (inner * length), "length": length}
            if inner != 1:
                sizes |= {"inner": inner, "both": length * inner}
            stream = streams.current(device).handle
            made = Prepared(_kernel(kind, dt.from_numpy(x.dtype), inner != 1), sizes)
            made(device, stream, (used(x, stream), used(out, stream)))
        return out

    return run


@functools.lru_cache(1024)
def _kernel(kind, dtype, down):
    k = KernelBuilder(f"running_{kind}_{dtype.short}")
    k.parallel("o", "outer")
    if down:
        k.parallel("i", "inner")
    k.reduce("k", "length")
    strides = ("both", 1, "inner") if down else ("length", 1)
    x, y = k.input("x", dtype, strides), k.output("y", dtype, strides)
    with k.sweep():
        value = k.load(x)
        work = dt.float32 if dtype in (dt.float16, dt.bfloat16) else dtype
        k.store(k.scan(kind, value.to(work)).to(dtype), y)
    return k.build()


def sums_in_parts(x) -> tuple:
    """Return running sums along long rows."""
    return (_in_parts(x, sc.cumsum, ew.add, 0),)


def products_in_parts(x) -> tuple:
    """Return running products along long rows."""
    return (_in_parts(x, sc.cumprod, ew.mul, 1),)


def _in_parts(x, scan, join, nothing):
    *lead, length = x.shape
    parts, wide, rank = -(-length // PART), _WIDE.get(x.dtype, x.dtype), len(lead) + 1
    v = x if x.dtype is wide else ew.cast(x, dtype=wide)
    v = reshape(_wider(v, 0, parts * PART - length, nothing), shape=(*lead, parts, PART))
    inside = scan(v, dim=rank)
    ends = reshape(slice_(inside, dim=rank, start=PART - 1, stop=PART, step=1), shape=(*lead, parts))
    before = _first(_wider(scan(ends, dim=rank - 1), 1, 0, nothing), parts)
    whole = join(inside, expand(reshape(before, shape=(*lead, parts, 1)), shape=inside.shape))
    whole = _first(reshape(whole, shape=(*lead, parts * PART)), length)
    return whole if x.dtype is wide else ew.cast(whole, dtype=x.dtype)


def _wider(v, low, high, value):
    rest = (0,) * (len(v.shape) - 1)
    return pad(v, low=(*rest, low), high=(*rest, high), interior=(*rest, 0), value=value) if low or high else v


def _first(v, count):
    return slice_(v, dim=len(v.shape) - 1, start=0, stop=count, step=1)


def _scanned(source, arrays, outs, dim):
    x = arrays[0]
    if x.size:
        inner = prod(x.shape[dim + 1:])
        sizes = {"ROWS": prod(x.shape[:dim]), "L": x.shape[dim], "C": inner}
        launch(x.device, source, (*[contiguous(a) for a in arrays], *outs), sizes, flat_blocks(sizes["ROWS"] * inner, _BLOCK))


def _along_rows(scan, x, outs, device):
    """Scan along the last dim: whole rows, or in parts if they are few and long."""
    length = x.shape[-1]
    count, columns = x.size // length, power_of_two(min(length, _TILE))
    rows = max(1, _TILE // columns)
    constants, sizes, x = (("ROWS", rows), ("COLS", columns)), {"N": count, "L": length}, contiguous(x)
    programs = -(-count // rows)
    if not (length >= LONG and count < FEW):
        launch(device, row_scans.source(scan, row_scans.WHOLE), (x, *outs), sizes, (constants, 4, (programs, 1, 1)))
        return
    part = max(PART, power_of_two(-(-length // _MOST_PARTS)))
    parts = -(-length // part)
    ends = [empty(device, (count, parts), d.np) for d in row_scans.stored_dtypes(scan.states)]
    cut, grid, sizes = (*constants, ("PART", part)), (programs, parts, 1), sizes | {"COUNT": parts}
    launch(device, row_scans.source(scan, row_scans.ENDS), (x, *ends), sizes, (cut, 4, grid))
    how = (*cut, ("WIDTH", power_of_two(parts))), 4, grid
    launch(device, row_scans.source(scan, row_scans.PARTS), (x, *ends, *outs), sizes, how)


def _transposed(x):
    return contiguous(x.reshape(x.size // x.shape[-1], x.shape[-1]).transpose(1, 0))


def linear_scan(inputs, params, device):
    """Return h[t] = a[t] * h[t-1] + b[t]."""
    a, b = inputs
    kind = dt.from_numpy(b.dtype)
    if kind not in dt.FLOATS or not on_device(a, b):
        return NotImplemented
    if params["dim"] == b.ndim - 1 and b.size >= NEIGHBOURS * b.shape[-1] > NEIGHBOURS:
        out = empty(device, (b.shape[-1], b.size // b.shape[-1]), b.dtype)
        _scanned(text.recurrence(kind), (_transposed(contiguous(a)), _transposed(contiguous(b))), (out,), 0)
        return contiguous(out.transpose(1, 0)).reshape(*b.shape)
    out = empty(device, b.shape, b.dtype)
    _scanned(text.recurrence(kind), (a, b), (out,), params["dim"])
    return out


def products_of_others(inputs, params, device):
    """Return running products from both ends."""
    return composed(_from_both_ends, inputs, params, device)[0]


def _from_both_ends(x, *, dim) -> tuple:
    return (sc.products_from_both_ends(x, dim=dim),)


def logcumsumexp(inputs, params, device):
    """Return the log of running sums of exponentials."""
    x, = inputs
    kind = dt.from_numpy(x.dtype)
    if kind not in dt.FLOATS:
        return NotImplemented
    out = empty(device, x.shape, x.dtype)
    if not x.size:
        return out
    if params["dim"] == x.ndim - 1:
        _along_rows(row_scans.log_sums(kind), x, (out,), device)
    else:
        _scanned(text.log_sums(kind), (x,), (out,), params["dim"])
    return out


def _extreme(sign):
    def running_extreme(inputs, params, device):
        x, = inputs
        if x.dtype.kind == "c":
            return NotImplemented
        kind = dt.from_numpy(x.dtype)
        out, positions = empty(device, x.shape, x.dtype), empty(device, x.shape, np.int64)
        if x.size and params["dim"] == x.ndim - 1:
            _along_rows(row_scans.extreme(kind, sign), x, (out, positions), device)
        else:
            _scanned(text.extreme(kind, sign), (x,), (out, positions), params["dim"])
        return out, positions

    return running_extreme


def _counted(n, like):
    return run(iota, (like,), {"shape": (n,), "dim": 0, "dtype": dt.int64})


def nonzero(inputs, params, device):
    """Return the positions of the `count` elements that are not zero."""
    x, = inputs
    count = params["count"]
    if not x.ndim:
        return NotImplemented
    outs = [empty(device, (count,), np.int64) for _ in range(x.ndim)]
    if count:
        hit = contiguous(x if x.dtype.kind == "b" else run(ew.ne, (x, 0), {}))
        flat = hit.look((x.size,), (1,))
        counts = _counts((run(ew.cast, (flat,), {"dtype": dt.int64}),), {"dim": 0}, device)
        sizes = {"TOTAL": x.size, "COUNT": count} | {f"n{d}": n for d, n in enumerate(x.shape)}
        launch(device, text.nonzero_positions(x.ndim), (flat, counts, *outs), sizes, flat_blocks(x.size))
    return tuple(outs)


def repeat_index(inputs, params, device):
    """Repeat each position by its count, searching in the running counts."""
    repeats, total = contiguous(inputs[0]), params["total"]
    kind = dt.from_numpy(repeats.dtype)
    if not total:
        return empty(device, (0,), np.int64)
    if kind.is_signed:
        check_values(repeats, "length", "repeat_interleave")
    ends = _counts((run(ew.cast, (repeats,), {"dtype": dt.int64}),), {"dim": 0}, device)
    return run(searchsorted, (ends, _counted(total, ends)), {"right": True})


def bag_of(inputs, params, device):
    """Return the bag of each entry, from the starts of bags."""
    offsets, size = inputs[0], params["size"]
    if not size or not offsets.size:
        return filled(device, (size,), offsets.dtype, -1)
    starts = run(ew.cast, (offsets,), {"dtype": dt.int64})
    after = run(searchsorted, (starts, _counted(size, starts)), {"right": True})
    return run(ew.cast, (run(ew.sub, (after, 1), {}),), {"dtype": dt.from_numpy(offsets.dtype)})


_counts, _products = running("sum"), running("prod")
OPERATORS = {sc.cumsum: _counts, sc.cumprod: _products, sc.linear_scan: linear_scan,
             sc.products_of_others: products_of_others, sc.logcumsumexp: logcumsumexp, sc.cummax: _extreme(">"),
             sc.cummin: _extreme("<"), ix.nonzero: nonzero, ix.repeat_index: repeat_index, em.bag_of: bag_of}
