"""Embedding lookup with a sparse gradient of the rows that were looked up."""

from typing import Any

import numpy as np

from ....ir import dtype as dt
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core.shape import reshape
from ....ir.ops.nn import embedding as ops
from ...api.sparse import GAP, CooTensor, GappedRows
from ...autograd.engine import unpack_tensors
from ...autograd.grad_mode import no_grad
from ...core.node import Leaf, Node
from ...core.tensor import Tensor, numel_of, wrap
from ...state.mode import tls


def gives_rows(weight) -> bool:
    """Return whether the gradient of a table is wanted and can be sparse: the table is a leaf in plain memory."""
    return tls.m.grad and type(weight._node) is Leaf and isinstance(weight._a, np.ndarray)


def sparse_lookup(weight, index, padding_idx) -> Tensor:
    """Return the rows of a table, with a history that makes the gradient sparse."""
    with no_grad():
        out = ops.embedding(weight, index, padding_idx=padding_idx, by_frequency=False)
    node = out._node = RowsNode(ops.embedding, {"padding_idx": padding_idx}, (weight._node,), (None, weight.aval, index._a),
                                [index._storage.guard()])
    if tls.m.recorder is not None:
        tls.m.recorder.gradients.taped(node, (weight, index), out)
    return out


class RowsNode(Node):
    """History node of a sparse lookup."""

    def run(self, engine, g) -> list[Any]:
        """Return the gradient rows at the indices, in their order; dense if it needs a history itself."""
        padding = self.params["padding_idx"]
        if not engine.on_tensors:
            _, table, index = self.values()
            return [_rows(index, g, table.shape, padding)]
        _, table, index = unpack_tensors(self)
        if engine.create_graph or tls.m.recorder is None or tls.m.batched is not None:
            (rule, _) = ops.embedding.vjp
            return [rule(g, None, table, index, padding_idx=padding, by_frequency=False)]
        return [_recorded_rows(index, g, table.shape, padding)]


def _rows(index, g, shape, padding) -> CooTensor:
    """Return the gradient rows at the indices, without padding."""
    index, rows = index.reshape(-1).astype(np.int64), g.reshape(index.size, shape[1])
    if padding is not None:
        is_row = index != padding
        index, rows = index[is_row], rows[is_row]
    return CooTensor(wrap(index[None]), wrap(np.array(rows)), shape)


def _recorded_rows(index, g, shape, padding) -> CooTensor:
    """Return the gradient rows under a recorder, without reading how many are padding."""
    size = numel_of(index)
    numbers = reshape(ew.cast(index, dtype=dt.int64), shape=(size,))
    rows = ew.copy(reshape(g, shape=(size, shape[1])))
    if padding is not None:
        return GappedRows(ew.where(ew.eq(numbers, padding), GAP, numbers), rows, shape)
    return CooTensor(ew.copy(reshape(numbers, shape=(1, size))), rows, shape)
