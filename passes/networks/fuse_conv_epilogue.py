"""Fuses elementwise epilogues (activation, residual, scale) into blocked convolutions, before their only store.

Elementwise work joins a convolution as long as all of it reads the result element by element and one value comes out in the
end. The operations and their order stay as they are, so nothing is rounded otherwise.
"""

from ...ir.graph.graph import Builder, Graph, Node, Value, live_nodes
from ...ir.opdef.op import Scalar
from ...ir.ops.core.elementwise import cast
from ...ir.ops.core.shape import contiguous, expand, reshape
from ...ir.ops.packed.blocked import channel_shape, conv_blocked
from ...ir.ops.packed.blocked_grad import conv_input_grad_blocked
from ..rewrite.kernel_body import can_fuse, node_cost
from ..rewrite.rewrite import prune

DEAREST = 12      # work per element of float32 up to which it is better done in the tiles than in a sweep of its own
MOST_FULL = 2     # arrays of the result's size that tiles read beside it; none where tiles are pixels that lie apart
STARTS = (conv_blocked, conv_input_grad_blocked)


def fuse_conv_epilogue(graph: Graph) -> Graph:
    """Fuse all epilogues, later convolutions first: of two that are added the one that runs last takes the addition."""
    tails = _tails(graph)
    return _rebuilt(graph, tails) if tails else graph


class Tail:
    """The nodes that follow a convolution and can be its epilogue."""

    def __init__(self, graph: Graph, place: dict, start: Node):
        self.graph, self.place, self.start = graph, place, start
        self.nodes: list[Node] = []
        self.reads: list[Value] = []
        self.inside = {start.output}
        self.cost = 0

    def grow(self, taken: set) -> "tuple | None":
        """Return (nodes, operands, result) of the longest tail with one result; None if there is none."""
        best = None
        while (node := self._next()) is not None and node not in taken and self._takes(node):
            self.nodes.append(node)
            self.inside.add(node.output)
            live = [v for v in self.inside if v in self.graph.results or any(u not in self.nodes for u in self.graph.uses[v])]
            if live == [node.output]:
                best = tuple(self.nodes), tuple(self.reads), node.output
        return best

    def _next(self):
        readers = {u for v in self.inside for u in self.graph.uses[v]} - set(self.nodes)
        return min(readers, key=self.place.__getitem__, default=None)

    def _takes(self, node):
        result = self.start.output
        if type(node.op.lower) is not Scalar or not can_fuse(node) or node.op in (cast, contiguous) or node.params:
            return False
        others = [x for x in node.inputs if type(x) is Value and x not in self.inside]
        if node.output.aval != result.aval or any(v.aval != result.aval for v in others):
            return False
        self.cost += node_cost(node)
        self.reads += [v for v in others if v not in self.reads]
        full = [v for v in self.reads if _channel_source(v, self.start) is None]
        given = [v for v in _epilogue_operands(self.start) if v.shape == result.shape]
        most = 0 if self.start.op is conv_input_grad_blocked and any(n > 1 for n in self.start.params["stride"]) else MOST_FULL
        return self.cost * 4 <= DEAREST * result.dtype.itemsize and len(full) + len(given) <= most


def _epilogue_operands(start):
    return start.inputs[2 + start.params.get("taps", 0):]


def _channel_source(value, conv):
    """Return the channel values that an operand repeats; None for others. Leading dims of one element may be missing."""
    node = value.node
    if node is None or node.op is not expand:
        return None
    source = node.inputs[0]
    shape = channel_shape(conv.output.shape, conv.params["lanes"])
    return source if (1,) * (len(shape) - source.ndim) + source.shape == shape else None


def _tails(graph):
    """Return {last node of a tail: (convolution, nodes, operands)}."""
    place = {n: i for i, n in enumerate(graph.nodes)}
    taken: set = set()
    tails = {}
    for start in reversed(graph.nodes):
        if start.op not in STARTS:
            continue
        tail = Tail(graph, place, start).grow(taken)
        if tail is not None:
            nodes, reads, result = tail
            taken.update(nodes)
            tails[result.node] = start, nodes, reads
    return tails


def _rebuilt(graph, tails):
    """Return the graph with each convolution in place of the last node of its tail."""
    b = Builder(graph.name)
    env = b.copy_inputs(graph)
    gone = {n for start, nodes, _ in tails.values() for n in (start, *nodes)}
    for node in graph.nodes:
        if node in tails:
            start, nodes, reads = tails[node]
            with b.at(start.line):
                env[node.output] = _joined(b, env, start, nodes, reads)
        elif node not in gone:
            b.copy_into(env, node)
    live = live_nodes(graph)
    dead_before = [env[v] for n in graph.nodes if n not in live for v in n.outputs if v in env]
    return prune(b.finish_like(graph, env), also=dead_before)


def _joined(b, env, start, nodes, reads):
    """Append the convolution with its epilogue and the tail's behind it."""
    lines = list(start.params["epilogue"])
    before, operands = list(start.inputs), list(_epilogue_operands(start))
    before = before[:len(before) - len(operands)]
    names = {start.output: f"v{len(lines) - 1}" if lines else "a"}
    for v in reads:
        names[v] = f"o{len(operands)}"
        source = _channel_source(v, start)
        operands.append(v if source is None else source)
    for n in nodes:
        arguments = [names[x] if type(x) is Value else x for x in n.inputs]
        if "commutative" in n.op.traits:          # one order, so that kernels are shared
            arguments.sort(key=lambda x: "vao".find(x[0]) if isinstance(x, str) else 3)
        lines.append((n.op.name, *arguments))
        names[n.output] = f"v{len(lines) - 1}"
    aligned = [_aligned(env[v], start.output.ndim) for v in operands]
    return b.call(start.op, *[env[v] for v in before], *aligned, **{**start.params, "epilogue": tuple(lines)})


def _aligned(value, ndim):
    return value if value.ndim == ndim else reshape(value, shape=(1,) * (ndim - value.ndim) + value.shape)
