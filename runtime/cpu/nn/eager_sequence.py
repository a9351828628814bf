"""Which compiled kernel runs attention, recurrent layers, the linear layer and lookups in eager mode; see `eager.py`.

float16 and bfloat16 attention and recurrence are computed in float32 and rounded once, as the references do.
"""

import functools

import numpy as np

from ....ir import dtype as dt
from ....ir.opdef.aval import Aval
from ....ir.opdef.op import Op
from ....ir.ops.index import indexing
from ....ir.ops.linalg import products
from ....ir.ops.nn import attention as attention_ops
from ....ir.ops.nn import embedding as embedding_ops
from ....ir.ops.nn import recurrent as recurrent_ops
from ....ir.ops.packed import recurrent_packed as packed_ops
from ....ir.ops.quantized import int8_linear
from ....ir.target import host
from ....passes.codegen.llvm.contract.epilogue import ColumnBias
from ....passes.codegen.llvm.ir.types import BF16, F16, F32, F64
from ..calls.kernel_table import KernelTable
from ..gemm import complex_products, gemm
from ..index import gathers, lookup
from ..loops import copies, kernels
from . import attention, projected_lstm, recurrent

TABLE = KernelTable()
_LOW = (dt.float16.np, dt.bfloat16.np)
_STORED = {dt.float32.np: F32, dt.float64.np: F64, dt.float16.np: F16, dt.bfloat16.np: BF16}


def widened(run, rounded: int | None = None):
    """A kernel that computes float16 and bfloat16 in float32 and rounds each result once, or so many of the first ones."""

    def call(*args, **params):
        kind = next(a.dtype for a in args if a is not None) if args[0] is None else args[0].dtype
        if kind not in _LOW:
            return run(*args, **params)
        wide = [kernels.converted(a, np.float32) if a is not None and a.dtype == kind else a for a in args]
        found = run(*wide, **params)
        if type(found) is not tuple:
            return kernels.converted(found, kind)
        narrow = [kernels.converted(r, kind) for r in found[:rounded]]
        return (*narrow, *found[len(narrow):])

    return call


@TABLE.makes(attention_ops.attention)
def attend(op: Op):
    """Softmax of scores times values, without the scores' matrix."""

    def run(q, k, v, mask, *, causal, scale):
        if not attention.supported(q, k, v, mask):
            return op.ref(q, k, v, mask, causal=causal, scale=scale)
        return attention.forward(q, k, v, mask, causal=causal, scale=scale)

    return widened(run, 1)


@TABLE.makes(attention_ops.attention_grad)
def attend_grad(op: Op):
    """Its gradients, with probabilities computed again."""

    def run(g, q, k, v, mask, *statistics, **params):
        if not attention.supported(g, q, k, v, mask):
            return op.ref(g, q, k, v, mask, *statistics, **params)
        return attention.gradients(g, q, k, v, mask, *statistics, **params)

    return widened(run)


@TABLE.makes(attention_ops.bounded_attention)
def attend_within(op: Op):
    """Attention over each query's own keys, without the scores' matrix."""

    def run(q, k, v, bounds, table, **params):
        if not attention.supported(q, k, v, bounds, table):
            return op.ref(q, k, v, bounds, table, **params)
        return attention.bounded(q, k, v, bounds, table, **params)

    return widened(run, 1)


@TABLE.makes(attention_ops.bounded_attention_grad)
def attend_within_grad(op: Op):
    """Its gradients, with probabilities computed again."""

    def run(g, q, k, v, bounds, table, *statistics, **params):
        if not attention.supported(g, q, k, v, bounds, table):
            return op.ref(g, q, k, v, bounds, table, *statistics, **params)
        return attention.bounded_gradients(g, q, k, v, bounds, table, *statistics, **params)

    return widened(run)


# Recurrent layers.


@TABLE.makes(recurrent_ops.rnn_sequence)
def rnn(op: Op):
    """All steps in one native call."""

    def run(z, mask, h, w, *, activation, reverse):
        if not recurrent.supported(z, w):
            return op.ref(z, mask, h, w, activation=activation, reverse=reverse)
        return recurrent.forward(f"rnn_{activation}", z, mask, h, None, w, None, reverse=reverse)[0]

    return widened(run)


@TABLE.makes(recurrent_ops.lstm_sequence)
def lstm(op: Op):
    """All steps in one native call; with a projection, one for each step."""

    def run(z, mask, h, c, w, projection, *, reverse):
        if not recurrent.supported(z, w):
            return op.ref(z, mask, h, c, w, projection, reverse=reverse)
        if projection is not None:
            return projected_lstm.forward(z, mask, h, c, w, projection, reverse=reverse)
        return recurrent.forward("lstm", z, mask, h, c, w, None, reverse=reverse)

    return widened(run)


@TABLE.makes(recurrent_ops.lstm_states)
def lstm_states(op: Op):
    """All steps in one native call; with a projection, one for each step."""

    def run(z, mask, h, c, w, projection, *, reverse):
        if not recurrent.supported(z, w):
            return op.ref(z, mask, h, c, w, projection, reverse=reverse)
        if projection is not None:
            y, cells, _ = projected_lstm.forward(z, mask, h, c, w, projection, reverse=reverse)
            return y, cells[0 if reverse else -1]
        return recurrent.forward("lstm", z, mask, h, c, w, None, reverse=reverse, keeps=False)[:2]

    return widened(run)


@TABLE.makes(recurrent_ops.gru_states)
def gru_states(op: Op):
    """All steps in one native call."""

    def run(z, mask, h, w, bias, *, reverse):
        if not recurrent.supported(z, w):
            return op.ref(z, mask, h, w, bias, reverse=reverse)
        return recurrent.forward("gru", z, mask, h, None, w, bias, reverse=reverse, keeps=False)[0]

    return widened(run)


@TABLE.makes(packed_ops.pack_recurrent)
def pack_recurrent(op: Op):
    """The order that this machine's kernel reads."""

    def run(w, *, kernel, size):
        there = recurrent.fits(kernel, w.itemsize)
        return recurrent.pack(kernel[0], w, size) if there else op.ref(w, kernel=kernel, size=size)

    return run


@TABLE.makes(packed_ops.recurrent_packed)
def recurrent_packed(op: Op):
    """All steps in one native call."""

    def run(z, mask, h, c, w, bias, *, kernel, reverse):
        if not recurrent.fits(kernel, z.itemsize):
            return op.ref(z, mask, h, c, w, bias, kernel=kernel, reverse=reverse)
        y, cells, _ = recurrent.forward(kernel[0], z, mask, h, c, w, bias, reverse=reverse, keeps=False)
        return (y,) if c is None else (y, cells)

    return run


@TABLE.makes(int8_linear.recurrent_int8)
def recurrent_int8(op: Op):
    """All steps in one native call."""

    def run(z, mask, h, c, weight, scale, bias, *, layer, reverse):
        if not recurrent.supported(z, weight):
            return op.ref(z, mask, h, c, weight, scale, bias, layer=layer, reverse=reverse)
        y, cells, _ = recurrent.forward(layer, z, mask, h, c, weight, bias, reverse=reverse, keeps=False, scale=scale)
        return (y,) if c is None else (y, cells)

    return run


@TABLE.makes(recurrent_ops.gru_sequence)
def gru(op: Op):
    """All steps in one native call."""

    def run(z, mask, h, w, bias, *, reverse):
        if not recurrent.supported(z, w):
            return op.ref(z, mask, h, w, bias, reverse=reverse)
        y, _, gates = recurrent.forward("gru", z, mask, h, None, w, bias, reverse=reverse)
        return y, gates

    return widened(run)


@TABLE.makes(recurrent_ops.rnn_sequence_grad)
def rnn_grad(op: Op):
    """The walk back in one native call."""

    def run(gy, y, mask, h, w, *, activation, reverse):
        if not recurrent.supported(y, w):
            return op.ref(gy, y, mask, h, w, activation=activation, reverse=reverse)
        dz, _, dh, _, dw = recurrent.gradients(f"rnn_{activation}", (gy, None, None), (y, None, None), mask, h, None, w,
                                               reverse=reverse)
        return dz, dh, dw

    return widened(run)


@TABLE.makes(recurrent_ops.lstm_sequence_grad)
def lstm_grad(op: Op):
    """The walk back in one native call; with a projection, one for each step."""

    def run(gy, gc, gg, y, cells, gates, mask, h, c, w, projection, *, reverse):
        if not recurrent.supported(gates, w):
            return op.ref(gy, gc, gg, y, cells, gates, mask, h, c, w, projection, reverse=reverse)
        if projection is not None:
            return projected_lstm.gradients((gy, gc, gg), (y, cells, gates), mask, h, c, w, projection, reverse=reverse)
        dz, _, dh, dc, dw = recurrent.gradients("lstm", (gy, gc, gg), (y, cells, gates), mask, h, c, w, reverse=reverse)
        return dz, dh, dc, dw

    return widened(run)


@TABLE.makes(recurrent_ops.gru_sequence_grad)
def gru_grad(op: Op):
    """The walk back in one native call."""

    def run(gy, gg, y, gates, mask, h, w, bias, *, reverse):
        if not recurrent.supported(y, w):
            return op.ref(gy, gg, y, gates, mask, h, w, bias, reverse=reverse)
        dz, da, dh, _, dw = recurrent.gradients("gru", (gy, None, gg), (y, None, gates), mask, h, None, w, reverse=reverse)
        if bias is None:
            return dz, dh, dw
        return dz, dh, dw, kernels.reduction("sum", dt.BY_NP[da.dtype])(da, (0, 1))

    return widened(run)


# The linear layer.


@functools.lru_cache(None)
def _product_with_bias(dtype):
    return gemm.product_of(dtype, ColumnBias(_STORED[dtype]))


@TABLE.makes(products.linear)
def linear(op: Op):
    """The product, with the bias added to each sum before it is stored."""

    def run(x, w, b):
        kind = x.dtype
        if not (kind in _STORED and kind is w.dtype and w.ndim == 2 and x.shape[-1] == w.shape[1]
                and (b is None or (b.dtype is kind and b.shape == w.shape[:1]))):
            op.infer(*[None if a is None else Aval(a.shape, dt.from_numpy(a.dtype)) for a in (x, w, b)])
        if kind.kind == "c" and x.size and w.size:
            out = complex_products.product(x.reshape(-1, x.shape[-1]), w.T).reshape(*x.shape[:-1], w.shape[0])
            return out if b is None else np.add(out, b, out)
        if kind not in _STORED or not x.size or not w.size or (kind == np.float16 and not host().half_conversions):
            return op.ref(x, w, b)
        rows = x if x.ndim == 2 else x.reshape(-1, x.shape[-1])
        if b is None or (len(w) == 1 and kind not in _LOW):
            out = gemm.matmul(rows, w.T)
            out = out if b is None else np.add(out, b, out)
        else:
            out = _product_with_bias(kind)(rows, w.T, None, b if b.flags.c_contiguous else np.ascontiguousarray(b))
        return out if rows is x else out.reshape(*x.shape[:-1], w.shape[0])

    return run


# Rows of tables.

_FEW = 1 << 12      # elements below which numpy copies rows


@TABLE.makes(embedding_ops.embedding)
def embed(op: Op):
    """A copy of rows, by all threads where they are many."""

    def run(weight, index, **params):
        embedding_ops.check_kinds(weight, index)
        if index.size * weight.shape[1] < _FEW or not lookup.can_take(weight):
            return op.ref(weight, index, **params)
        embedding_ops.check_range(op.name, index, weight.shape[0])
        return lookup.take(weight, index)

    return run


@TABLE.makes(embedding_ops.row_sums)
def row_sums(op: Op):
    """Sums in the order of the indices."""

    def run(values, index, *, rows):
        if not lookup.can_add(values) or not rows or index.min() < 0 or index.max() >= rows:
            return op.ref(values, index, rows=rows)
        return lookup.add_rows(values, index, rows)

    return widened(run)


@TABLE.makes(embedding_ops.bag_sums, embedding_ops.scaled_bag_sums)
def bag_sums(op: Op):
    """Sums in registers, without the rows in between."""

    def run(weight, index, offsets, *scales):
        embedding_ops.check_kinds(weight, index)
        if weight.dtype not in lookup.ADDABLE or not weight.size or not index.size or not offsets.size:
            return op.ref(weight, index, offsets, *scales)
        embedding_ops.check_bags(offsets, index.size)
        embedding_ops.check_range("embedding", index, weight.shape[0])
        return lookup.bag_sums(weight, index, offsets, *scales)

    return run


@TABLE.makes(indexing.index_put)
def index_put(op: Op):
    """What is added by index arrays, in the order of the indices; everything else by the reference."""

    def run(x, value, *indices, accumulate):
        if not accumulate or x.dtype not in gathers.ADDABLE or value.size < FEW_ADDED:
            return op.ref(x, value, *indices, accumulate=accumulate)
        if not _is_along(x, value, indices):
            return indexing.accumulated(x, value, indices, _add_rows)
        table = copies.in_rows(x)
        add_into(table, value, indices)
        return table

    return run


FEW_ADDED = 64     # elements below which the reference is quicker


def _is_along(x, value, indices) -> bool:
    """Whether one vector of indices says all."""
    dims = [d for d, i in enumerate(indices) if i is not None]
    return (x.size > 0 and len(dims) == 1 and indices[dims[0]].ndim == 1
            and value.shape[dims[0]] == indices[dims[0]].size)


def add_into(table, value, indices) -> bool:
    """Adds a value to an array in C order at index arrays; False where this is not done in place."""
    if table.dtype not in gathers.ADDABLE:
        return False
    if not _is_along(table, value, indices):
        if any(i is None for i in indices):
            return False
        indexing.add_to(table, value, indices, _add_rows)
        return True
    dim = next(d for d, i in enumerate(indices) if i is not None)
    index = gathers.from_the_front(indices[dim], table.shape[dim])
    if index is None:
        indexing.require_ranges("index_put", table, indices)
    elif lookup.can_add(table) and not dim and table.ndim > 1:
        lookup.add_into(table.reshape(len(table), -1), value.reshape(index.size, -1), index)
    else:
        spread = np.broadcast_to(index.reshape(-1, *(1,) * (table.ndim - 1 - dim)), value.shape)
        gathers.scatter_into(table, spread, value, dim=dim, how="add")
    return True


def _add_rows(table, rows, values):
    """As `indexing.add_rows`: table[rows[i]] += values[i]."""
    if table.shape[1] > 1 and lookup.can_add(values):
        lookup.add_into(table, values, rows)
    elif table.shape[1] == 1:
        gathers.scatter_into(table[:, 0], rows, values[:, 0], dim=0, how="add")
    else:
        indexing.add_rows(table, rows, values)
