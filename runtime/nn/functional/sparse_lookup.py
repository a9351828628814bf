"""The lookup in a table whose gradient holds only the rows that were looked up."""

from typing import Any

import numpy as np

from ....ir.dtype import bool_
from ....ir.ops import embedding as ops
from ...api.register import FUNCTIONS
from ...api.sparse import CooTensor
from ...autograd.grad_mode import no_grad
from ...autograd.node import Leaf, Node
from ...state import tls
from ...tensor import Tensor, wrap


def gives_rows(weight) -> bool:
    """Whether a gradient of this table is wanted and can be sparse: it goes to a leaf in plain memory, and no trace is being
    recorded (compiled code has no tensors whose size depends on data; there the gradient is dense)."""
    m = tls.m
    return m.grad and m.recorder is None and type(weight._node) is Leaf and isinstance(weight._a, np.ndarray)


def note_rows(weight, index, padding_idx) -> None:
    """Has a trace know which rows a sparse gradient of a table would name; the one that it computes is dense."""
    known = getattr(tls.m.recorder, "rows_read", None)
    if known is not None and tls.m.grad and type(weight._node) is Leaf:
        known.setdefault(id(weight), []).append((index.detach(), padding_idx))


def rows_named(p):
    """Which rows of a parameter lookups with `sparse=True` have named in a trace since this was last asked: a tensor of bools;
    None if there were none."""
    found = getattr(tls.m.recorder, "rows_read", {}).pop(id(p), [])
    named = FUNCTIONS["zeros"](p.shape[0], dtype=bool_, device=p.device) if found else None
    for index, padding in found:
        here = FUNCTIONS["zeros_like"](named).index_fill(0, index.reshape(-1), True)
        if padding is not None:
            here[padding] = False
        named = named | here
    return named


def sparse_lookup(weight, index, padding_idx) -> Tensor:
    """The rows of a table, with a history that gives the gradient of the table as a sparse tensor."""
    with no_grad():
        out = ops.embedding(weight, index, padding_idx=padding_idx, by_frequency=False)
    storage = index._storage
    out._node = RowsNode(ops.embedding, {"padding_idx": padding_idx}, (weight._node,), (weight.aval, index._a),
                         [storage.guard()])
    return out


class RowsNode(Node):
    """The history of such a lookup."""

    def run(self, engine, g) -> list[Any]:
        """The gradient of the table: its rows at the indices, in their order; dense where it gets a history itself."""
        table, index = self.values()
        padding = self.params["padding_idx"]
        if engine.on_tensors:
            (rule, _) = ops.embedding.vjp
            return [rule(g, None, table, wrap(index), padding_idx=padding, by_frequency=False)]
        index, rows = index.reshape(-1).astype(np.int64), g.reshape(-1, table.shape[1])
        if padding is not None:
            kept = index != padding
            index, rows = index[kept], rows[kept]
        indices, values = wrap(index[None]), wrap(np.array(rows))
        return [CooTensor(indices, values, table.shape)]
