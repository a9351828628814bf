"""gelu becomes what its scalar function does, bit by bit, where its gradient needs the same error function, which is then
computed once; and so does its slope. Those of 16-bit floats, which are rounded once at the end, stay whole.
"""

from ...ir import dtype as dt
from ...ir.graph.graph import Builder, Graph, Node, Value
from ...ir.ops.core import elementwise as ew
from ...ir.ops.nn.activations import gelu, gelu_slope, gelu_slope_parts
from ..codegen.scalars.constants import SQRT_HALF
from ..rewrite.rewrite import rebuild

_KINDS = (dt.float32, dt.float64)


def gelu_parts(graph: Graph) -> Graph:
    """Replaces slopes of gelu, and gelu of values whose error function is there anyway."""
    known = {n.inputs[0] if n.op is gelu_slope else _argument(n) for n in graph.nodes if n.op in (ew.erf, gelu_slope)}

    def visit(b: Builder, node: Node, operands):
        x, = operands
        if node.op is gelu_slope:
            return gelu_slope_parts(x)
        return ew.mul(ew.mul(x, 0.5), ew.add(ew.erf(ew.mul(x, SQRT_HALF)), 1.0))

    def is_split(n):
        return n.output.dtype in _KINDS and (n.op is gelu_slope or (n.op is gelu and n.inputs[0] in known))

    return rebuild(graph, visit, is_split)


def _argument(node):
    """x of erf(x * sqrt(1/2)); None of any other."""
    scaled = node.inputs[0].node if type(node.inputs[0]) is Value else None
    if scaled is None or scaled.op is not ew.mul:
        return None
    values = [x for x in scaled.inputs if type(x) is Value]
    return values[0] if len(values) == 1 and SQRT_HALF in scaled.inputs else None
