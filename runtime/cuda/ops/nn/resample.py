"""Resampling, borders and even bins on a device: linear maps along one dim after another, with tables uploaded once."""

from math import prod

import numpy as np

from .....ir import dtype as dt
from .....ir.ops.nn import linear_maps, resample
from .....passes.codegen.triton.index import linear_maps as text
from ....core.device_array import DeviceArray
from ...compiler.flat_launches import flat_blocks
from ...compiler.kernels import launch
from ...graph.eager import contiguous, converted
from ...memory.arrays import as_reals, empty
from ...memory.transfer import ConstantCache

_tables = ConstantCache(1024)       # places by id, weights by id and dtype


def mapped(x: DeviceArray, axis: int, table: tuple, skips: bool = False) -> DeviceArray:
    """Map x along an axis by a table (places, weights); see `ir.ops.nn.linear_maps.apply_table`.

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


OPERATORS = {op: _along_all(op) for op in resample.TABLES}
