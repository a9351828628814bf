"""A graph whose inputs and results lie in memory with their dims in other orders than that of rows (`ir/dim_order.py`).

    %y = relu(%x)         %x is given as it lies, dims 0, 2, 3, 1         %y = relu(%x)
    results %y            %y is wanted in the same order                  results %y

Inputs come, and results go, with their dims in those orders. Functions of elements are computed in the order of what they read;
everything else sees values with dims in their places, through a view.
"""

from ...ir.dim_order import inverse
from ...ir.graph.graph import Builder, Graph, Node, Value
from ...ir.ops.core.shape import expand, permute


def in_memory_order(graph: Graph, given: dict, wanted: dict) -> Graph:
    """`given` are the orders of some inputs, `wanted` those of some results, by their numbers."""
    if not given and not wanted:
        return graph
    made = _Writer(graph, given)
    for node in graph.nodes:
        made.write(node)
    return made.builder.finish([made.seen(v, wanted[i]) if i in wanted else made.plain(v) for i, v in enumerate(graph.outputs)])


class _Writer:
    """Writes the new graph. Values are known with their dims in their places, in an order, or both."""

    def __init__(self, graph, given):
        self.builder = b = Builder(graph.name)
        self._plain: dict = {}
        self._lying: dict = {}      # value -> (the new one, its order)
        for i, v in enumerate(graph.inputs):
            if i in given:
                self._lying[v] = b.input(v.name, _permuted(v.aval, given[i]), v.number), given[i]
            else:
                self._plain[v] = b.input(v.name, v.aval, v.number)

    def write(self, node: Node):
        """The node, on what its inputs have become."""
        order = self._order_of(node)
        if order is None:
            new = self.builder.copy_like(node, [self.plain(x) if type(x) is Value else x for x in node.inputs])
            self._plain.update(zip(node.outputs, new.outputs))
            return
        operands = [self.seen(x, order) if type(x) is Value else x for x in node.inputs]
        new = self.builder.copy_as(node, operands, node.params, [_permuted(node.output.aval, order)])
        self._lying[node.output] = new.output, order

    def plain(self, v: Value) -> Value:
        """A value with its dims in their places."""
        if v not in self._plain:
            x, order = self._lying[v]
            self._plain[v] = self.builder.append(permute, (x,), {"dims": inverse(order)})
        return self._plain[v]

    def seen(self, v: Value, order) -> Value:
        """A value with its dims in an order."""
        x, lies = self._lying.get(v, (None, None))
        return x if lies == order else self.builder.append(permute, (self.plain(v),), {"dims": order})

    def _order_of(self, node):
        """The order in which a node is computed: that of all values that it reads and that are in memory; None for rows."""
        if not node.op.is_pointwise or not node.op.keeps_order or node.multi:
            return None
        values = [x for x in node.inputs if type(x) is Value]
        orders = {self._lying[x][1] for x in values if x in self._lying}
        return orders.pop() if len(orders) == 1 and all(x in self._lying or _is_anywhere(x) for x in values) else None


def _is_anywhere(value) -> bool:
    """Whether a value is no more in memory in one order than in another: spread over dims, or made from nothing."""
    node = value.node
    return node is not None and (node.op is expand or not any(type(x) is Value for x in node.inputs))


def _permuted(aval, order):
    return aval.with_shape(tuple([aval.shape[d] for d in order]))
