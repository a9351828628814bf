"""Rewrites a graph for inputs and results in other memory orders than row-major (`ir/dim_order.py`).

    %y = relu(%x)         given: %x in dims 0, 2, 3, 1                    %y = relu(%x)
    results %y            wanted: %y in the same order                    results %y

Inputs and results get the dims of those orders. Elementwise work is computed in its operands' order; everything else sees
row-major dims, through a view.
"""

from ...ir.dim_order import inverse
from ...ir.graph.graph import Builder, Graph, Node, Value
from ...ir.ops.core.shape import expand, permute


def apply_memory_order(graph: Graph, input_orders: dict, result_orders: dict) -> Graph:
    """Rewrite for `input_orders` of some inputs and `result_orders` of some results, by their numbers."""
    if not input_orders and not result_orders:
        return graph
    writer = _Writer(graph, input_orders)
    for node in graph.nodes:
        writer.write(node)
    return writer.builder.finish([writer.in_order(v, result_orders[i]) if i in result_orders else writer.plain(v)
                                  for i, v in enumerate(graph.outputs)])


class _Writer:
    """The writer of the new graph. Values are known in row-major dims, in an order, or both."""

    def __init__(self, graph, input_orders):
        self.builder = b = Builder(graph.name)
        self._plain: dict = {}
        self._ordered: dict = {}    # value -> (the new one, its order)
        for i, v in enumerate(graph.inputs):
            if i in input_orders:
                self._ordered[v] = b.input(v.name, _permuted(v.aval, input_orders[i]), v.number), input_orders[i]
            else:
                self._plain[v] = b.input(v.name, v.aval, v.number)

    def write(self, node: Node):
        order = self._order_of(node)
        if order is None:
            new = self.builder.copy_like(node, [self.plain(x) if type(x) is Value else x for x in node.inputs])
            self._plain.update(zip(node.outputs, new.outputs))
            return
        operands = [self.in_order(x, order) if type(x) is Value else x for x in node.inputs]
        new = self.builder.copy_as(node, operands, node.params, [_permuted(node.output.aval, order)])
        self._ordered[node.output] = new.output, order

    def plain(self, v: Value) -> Value:
        if v not in self._plain:
            x, order = self._ordered[v]
            self._plain[v] = self.builder.append(permute, (x,), {"dims": inverse(order)})
        return self._plain[v]

    def in_order(self, v: Value, order) -> Value:
        x, known = self._ordered.get(v, (None, None))
        return x if known == order else self.builder.append(permute, (self.plain(v),), {"dims": order})

    def _order_of(self, node):
        """Return the order of a node: that of all values in memory that it reads; None for row-major."""
        if not node.op.is_pointwise or not node.op.keeps_order or node.multi:
            return None
        values = [x for x in node.inputs if type(x) is Value]
        orders = {self._ordered[x][1] for x in values if x in self._ordered}
        return orders.pop() if len(orders) == 1 and all(x in self._ordered or _is_anywhere(x) for x in values) else None


def _is_anywhere(value) -> bool:
    """Return whether a value has no memory order of its own: expanded over dims, or made from nothing."""
    node = value.node
    return node is not None and (node.op is expand or not any(type(x) is Value for x in node.inputs))


def _permuted(aval, order):
    return aval.with_shape(tuple([aval.shape[d] for d in order]))
