"""Reads and writes at positions given by integer tensors, on a device.

Index tensors become row numbers; then rows are taken or put. Rows that may repeat are sorted (stably), and the values of each
one are added in their order, so results do not depend on timing.
"""

import functools
from math import prod

import numpy as np

from .....ir import dtype as dt
from .....ir.opdef.aval import broadcast_shapes
from .....ir.ops.index import indexing as ix
from .....ir.ops.nn import embedding as em
from .....ir.ops.nn import pool
from .....ir.symbols.symbolic import power_of_two
from .....passes.codegen.triton.index import row_indexing as text
from .....passes.codegen.triton.index import sorting
from .....passes.codegen.triton.ir.source import BITS
from ....core.device_array import DeviceArray
from ...compiler import copies
from ...compiler.flat_launches import flat_blocks
from ...compiler.kernels import launch
from ...graph.eager import contiguous, copied
from ...memory import status_words
from ...memory.arrays import as_reals, broadcast_strides, empty, filled, on_device
from .sorting import merges, sorted_keys, sorted_pairs

_MERGED = 1 << 16       # most row numbers for which merging is as fast as sorting by digits


def row_numbers(name, device, indices, coordinates=(), wrap=False, missing=0) -> DeviceArray:
    """Return checked flat row numbers (int64); `missing` replaces those of wrong indices.

    `coordinates` are further index tensors, `wrap` allows negative indices.
    """
    count = indices[0][0].size if indices else prod([extent for extent, _ in coordinates])
    out = empty(device, (count,), np.int64)
    source = text.row_numbers(tuple([dt.from_numpy(a.dtype) for a, _, _ in indices]), len(coordinates), wrap)
    sizes = {"N": count, "missing": missing}
    for k, (_, size, step) in enumerate(indices):
        sizes |= {f"size{k}": size, f"step{k}": step}
    for k, (extent, stride) in enumerate(coordinates):
        sizes |= {f"extent{k}": extent, f"stride{k}": stride}
    arrays = (*[a for a, _, _ in indices], out, status_words.words(device))
    launch(device, source, arrays, sizes, flat_blocks(count, word=name))
    return out


def _bits(a: DeviceArray, columns: int) -> tuple:
    if a.itemsize == 16:
        return a.look((*a.shape, 2), (*a.strides, 8), 0, np.dtype(np.uint64)), columns * 2
    return a.look(a.shape, a.strides, 0, BITS[a.itemsize].np), columns


def _move(put, x, rows, out, groups, height, columns):
    """Write out[o, p, c] = x[o, rows[p], c]; with `put`, out[o, rows[p], c] = x[o, p, c] for distinct rows."""
    (source, wide), (target, _) = _bits(x, columns), _bits(out, columns)
    sizes = {"P": rows.size, "R": height, "C": wide}
    launch(out.device, text.move_rows(source.itemsize, put), (source, rows, target), sizes, text.tile(rows.size, wide, groups))


take_rows, put_rows = functools.partial(_move, False), functools.partial(_move, True)


def merge_rows(x, rows, out, groups, height, columns, mode):
    """Merge x[o, p, c] into out[o, rows[p], c] in the order of p; added or set complex numbers are treated by parts."""
    if mode == "set" and rows.size == 1:
        put_rows(x, rows, out, groups, height, columns)
        return
    if out.dtype.kind == "c" and mode in ("add", "set"):
        x, out, columns = as_reals(x), as_reals(out), 2 * columns
    keys = rows.look((1, rows.size), (rows.nbytes, 8), 0, np.dtype(np.uint64))
    bits = max(1, power_of_two(height + 1).bit_length() - 1)
    paired = bits <= 32 and rows.size <= _MERGED and merges(rows.size) <= 3 * -(-bits // sorting.DIGIT)
    order = (sorted_pairs(keys),) if paired else sorted_keys(keys, bits)[::-1]
    sizes = {"P": rows.size, "R": height, "C": columns}
    kind = dt.from_numpy(out.dtype)
    if kind.is_complex:
        x, out = as_reals(x), as_reals(out)
    launch(out.device, text.merge_rows(kind, mode, paired), (x, *order, out), sizes, text.tile(rows.size, columns, groups))


def add_strided(x, strides, out):
    """Add each element of x, in order, to the element of `out` at the sum of its coordinates times strides."""
    rows = row_numbers("strided_scatter", out.device, [], tuple(zip(x.shape, strides)))
    merge_rows(x, rows, out, 1, out.size, 1, "add")


def embedding(inputs, params, device):
    """Return rows of a table."""
    weight, index = inputs
    if not on_device(*inputs):
        return NotImplemented
    out = empty(device, (*index.shape, weight.shape[1]), weight.dtype)
    if out.size:
        rows = row_numbers("embedding", device, [(contiguous(index), weight.shape[0], 1)])
        take_rows(contiguous(weight), rows, out, 1, weight.shape[0], weight.shape[1])
    return out


def row_sums(inputs, params, device):
    """Return the gradient of embedding: the values of each row, added in order."""
    values, index = inputs
    out = filled(device, (params["rows"], values.shape[-1]), values.dtype, 0)
    if values.size:
        rows = row_numbers("embedding", device, [(contiguous(index), params["rows"], 1)], missing=params["rows"])
        merge_rows(contiguous(values), rows, out, 1, params["rows"], values.shape[-1], "add")
    return out


class Indexed:
    """x[indices] as groups of rows: x with the indexed dims adjacent, and the number of each selected row."""

    def __init__(self, name, x: DeviceArray, indices, device, puts=False):
        given = [d for d, i in enumerate(indices) if i is not None]
        self.adjacent = given[-1] - given[0] + 1 == len(given)
        self.lead = given[0] if self.adjacent else 0
        rest = [d for d in range(x.ndim) if d not in given]
        self.order = (*rest[:self.lead], *given, *rest[self.lead:])
        sizes = [x.shape[d] for d in given]
        self.shape = [x.shape[d] for d in self.order]
        self.groups = prod(self.shape[:self.lead])
        self.height, self.columns = prod(sizes), prod(self.shape[self.lead + len(given):])
        common = broadcast_shapes(*[indices[d].shape for d in given])
        self.out_shape = (*self.shape[:self.lead], *common, *self.shape[self.lead + len(given):])
        self.count = prod(common)
        self.rows: DeviceArray | None = None
        if prod(self.out_shape):
            steps = [prod(sizes[k + 1:]) for k in range(len(sizes))]
            arrays = [contiguous(indices[d].look(common, broadcast_strides(indices[d], common))) for d in given]
            missing = self.height if puts else 0
            self.rows = row_numbers(name, device, list(zip(arrays, sizes, steps)), wrap=True, missing=missing)

    def permuted(self, x):
        return contiguous(x.transpose(*self.order)) if x.ndim else x

    def back(self, x):
        x = x.look(self.shape, DeviceArray(x.kind, x.memory, self.shape, x.dtype).strides)
        return contiguous(x.transpose(*sorted(range(len(self.order)), key=self.order.__getitem__)))


def index(inputs, params, device):
    """Return x[i, j, ...]."""
    x, *indices = inputs
    if not on_device(*inputs) or all(i is None for i in indices):
        return NotImplemented
    how = Indexed("index", x, indices, device)
    out = empty(device, how.out_shape, x.dtype)
    if how.rows is not None:
        take_rows(how.permuted(x), how.rows, out, how.groups, how.height, how.columns)
    return out


def updated(x: DeviceArray, into) -> DeviceArray:
    """Return the elements of an array in contiguous memory to update: in the given array, if it is fit (and perhaps x itself),
    or new."""
    if into is None or not into.is_contiguous:
        return copied(x)
    copies.write(into, x)
    return into


def index_put(inputs, params, device, into=(None,)):
    """Write or add values at x[i, j, ...]."""
    x, value, *indices = inputs
    if not on_device(*inputs) or all(i is None for i in indices):
        return NotImplemented
    how = Indexed("index_put", x, indices, device, puts=True)
    out = updated(x, into[0]) if how.adjacent else copied(x.transpose(*how.order))
    if how.rows is not None:
        mode = "add" if params["accumulate"] else "set"
        merge_rows(contiguous(value), how.rows, out, how.groups, how.height, how.columns, mode)
    return out if how.adjacent else how.back(out)


def _along(name, device, shape, at: DeviceArray, dim, missing=0) -> DeviceArray:
    """Return flat positions in a contiguous array of a shape, from one index for each element along a dim."""
    strides = [prod(shape[d + 1:]) for d in range(len(shape))]
    coordinates = tuple([(n, 0 if d == dim else s) for d, (n, s) in enumerate(zip(at.shape, strides))])
    return row_numbers(name, device, [(contiguous(at), shape[dim], strides[dim])], coordinates, missing=missing)


def gather(inputs, params, device):
    """Return out[i][j] = x[index[i][j]][j]."""
    x, at = inputs
    if not on_device(*inputs) or not x.ndim:
        return NotImplemented
    out = empty(device, at.shape, x.dtype)
    if out.size:
        rows = _along("gather", device, x.shape, at, params["dim"])
        take_rows(contiguous(x), rows, out, 1, x.size, 1)
    return out


def scatter(inputs, params, device, into=(None,)):
    """Write, add or otherwise merge values at one index for each along a dim."""
    x, at, src = inputs
    if not on_device(*inputs) or not x.ndim:
        return NotImplemented
    out = updated(x, into[0])
    if at.size:
        rows = _along("scatter", device, x.shape, at, params["dim"], x.size)
        merge_rows(contiguous(src.look(at.shape, src.strides)), rows, out, 1, x.size, 1, params["mode"])
    return out


def plane_take(inputs, params, device):
    """Return elements at flat indices into each plane."""
    x, at = inputs
    out = empty(device, at.shape, x.dtype)
    if out.size:
        rows = _in_planes("plane_take", device, prod(x.shape[2:]), at)
        take_rows(contiguous(x), rows, out, 1, x.size, 1)
    return out


def plane_put(inputs, params, device):
    """Put each value at its flat index in a plane of zeros."""
    x, at = inputs
    plane = prod(params["size"])
    out = filled(device, (*x.shape[:2], *params["size"]), x.dtype, 0)
    if x.size:
        rows = _in_planes("plane_put", device, plane, at, out.size)
        merge_rows(contiguous(x), rows, out, 1, out.size, 1, "add" if params["accumulate"] else "set")
    return out


def _in_planes(name, device, plane, at, missing=0):
    inside = prod(at.shape[2:])
    return row_numbers(name, device, [(contiguous(at), plane, 1)], ((at.size // inside, plane), (inside, 0)), missing=missing)


INTO = {ix.index_put: index_put, ix.scatter: scatter, ix.scatter_reduce: scatter}
OPERATORS = {em.embedding: embedding, em.row_sums: row_sums, ix.index: index, ix.index_put: index_put, ix.gather: gather,
             ix.scatter: scatter, ix.scatter_reduce: scatter, pool.plane_take: plane_take, pool.plane_put: plane_put}
