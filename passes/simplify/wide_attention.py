"""Attention of 16-bit floats becomes attention of float32 between casts, which is how its kernels compute it anyway, bit by
bit: so it is native code like its neighbours, and the casts join these.
"""

from ...ir import dtype as dt
from ...ir.graph.graph import Builder, Graph, Node, Value
from ...ir.ops.core import elementwise as ew
from ...ir.ops.nn.attention import attention, attention_grad, bounded_attention, bounded_attention_grad
from ..rewrite.rewrite import rebuild

_OPERATORS = frozenset((attention, attention_grad, bounded_attention, bounded_attention_grad))
_KINDS = (dt.float16, dt.bfloat16)


def wide_attention(graph: Graph) -> Graph:
    """Casts what attention of 16-bit floats takes and gives."""
    return rebuild(graph, _widened, lambda n: n.op in _OPERATORS and n.outputs[0].dtype in _KINDS)


def _widened(b: Builder, node: Node, operands):
    kind = node.outputs[0].dtype
    wide = [ew.cast(x, dtype=dt.float32) if type(x) is Value and x.dtype is kind else x for x in operands]
    found = node.op(*wide, **node.params)
    return tuple([x if x is None else ew.cast(x, dtype=v.dtype) if x.dtype is not v.dtype else x
                  for x, v in zip(found, node.outputs, strict=True)])
