"""gelu becomes what its scalar function does, bit by bit, where its gradient needs the same error function, which is then
computed once. Those of 16-bit floats, which are rounded once at the end, stay whole.
"""

from ..ir import dtype as dt
from ..ir.graph import Builder, Graph, Node, Value
from ..ir.ops import elementwise as ew
from ..ir.ops.nn import gelu
from .codegen.scalars.constants import SQRT_HALF
from .rewrite import rebuild

_KINDS = (dt.float32, dt.float64)


def gelu_parts(graph: Graph) -> Graph:
    """Replaces gelu of values whose error function is there anyway."""
    known = {_argument(n) for n in graph.nodes if n.op is ew.erf}

    def visit(b: Builder, node: Node, operands):
        x, = operands
        return ew.mul(ew.mul(x, 0.5), ew.add(ew.erf(ew.mul(x, SQRT_HALF)), 1.0))

    return rebuild(graph, visit, lambda n: n.op is gelu and n.inputs[0] in known and n.output.dtype in _KINDS)


def _argument(node):
    """x of erf(x * sqrt(1/2)); None of any other."""
    scaled = node.inputs[0].node if type(node.inputs[0]) is Value else None
    if scaled is None or scaled.op is not ew.mul:
        return None
    values = [x for x in scaled.inputs if type(x) is Value]
    return values[0] if len(values) == 1 and SQRT_HALF in scaled.inputs else None
