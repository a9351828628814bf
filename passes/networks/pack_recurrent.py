"""Packs weights of recurrent layers without gradients, by an operator of its own.

If weights keep their values, that operator runs once (`hoist_weights.py`). `packing(name, z, w)` returns how the machine's
kernel of a layer reads its weights, (lanes, elements of the packed weight), or None where it reads them as they are.
"""

from collections.abc import Callable

from ...ir.graph.graph import Builder, Graph, Node, Value
from ...ir.opdef.op import Op
from ...ir.ops.nn import recurrent as plain
from ...ir.ops.packed.recurrent_packed import pack_recurrent as pack
from ...ir.ops.packed.recurrent_packed import recurrent_packed
from ..rewrite.rewrite import rebuild


def _rnn(z, mask, h, w, *, activation, reverse):
    return f"rnn_{activation}", (z, mask, h, None, w, None), reverse


def _gru(z, mask, h, w, bias, *, reverse):
    return "gru", (z, mask, h, None, w, bias), reverse


def _lstm(z, mask, h, c, w, projection, *, reverse):
    return None if projection is not None else ("lstm", (z, mask, h, c, w, None), reverse)


LAYERS: dict[Op, Callable] = {plain.rnn_sequence: _rnn, plain.gru_states: _gru, plain.lstm_states: _lstm}


def pack_recurrent(graph: Graph, packing: Callable) -> Graph:
    """Put a packing operator before each layer whose kernel reads packed weights."""

    def visit(b: Builder, node: Node, operands):
        found = LAYERS[node.op](*operands, **node.params) if node.op in LAYERS else None
        if found is None:
            return None
        name, (z, mask, h, c, w, bias), reverse = found
        how = packing(name, z.aval, w.aval) if type(w) is Value else None
        if how is None:
            return None
        lanes, size = how
        kernel = name, lanes
        packed = b.append(pack, (w,), {"kernel": kernel, "size": size})
        return b.append(recurrent_packed, (z, mask, h, c, packed, bias), {"kernel": kernel, "reverse": reverse})

    return rebuild(graph, visit) if any(n.op in LAYERS for n in graph.nodes) else graph
