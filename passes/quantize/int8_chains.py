"""Chains for `quantize.py`: products with known weights and the operators that follow each, and values that need bytes.

A `Chain` is a convolution or a product of rows with a weight, and the operators on its sums: a bias, a residual image, limits
such as a ReLU's. Everything between its head and its tail is read by nothing else.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from ...ir.dtype import float32
from ...ir.graph.graph import Graph, Node, Value
from ...ir.opdef.op import View
from ...ir.ops.core import elementwise as ew
from ...ir.ops.core.shape import cat, expand, reshape
from ...ir.ops.linalg.products import linear, matmul
from ...ir.ops.nn.activations import relu
from ...ir.ops.nn.conv import conv
from ...ir.ops.nn.pool import avg_pool, max_pool

_PRODUCTS = (matmul, linear)


@dataclass
class Chain:
    """A head, the values that `bias` and `residual` name (None: nothing is added), limits in order, and the last value."""

    head: Node
    tail: Value
    bias: Value | None = None
    residual: Value | None = None
    limits: list = field(default_factory=list)      # (operator, number)
    inside: list = field(default_factory=list)      # nodes behind the head

    @property
    def is_conv(self) -> bool:
        """Return whether it is a convolution, whose channels are the second dim of images."""
        return self.head.op is conv

    @property
    def x(self) -> Value:
        return self.head.inputs[0]

    @property
    def weight(self) -> Value:
        return self.head.inputs[1]

    @property
    def channels(self) -> int:
        return self.head.output.shape[1 if self.is_conv else -1]


class GraphChains:
    """The chains of a graph by their last node, the nodes that they absorb, and the values with a reader of bytes.

    `known(value)` gives the array of a value that depends on weights alone, None for others; `keep(weight)` says whether its
    layer stays in floats.
    """

    def __init__(self, graph: Graph, known: Callable, keep: Callable = lambda value: False):
        self.graph, self.known = graph, known
        self.images = _images(graph)
        self.absorbed: set = set()
        self.heads: dict = {}
        for node in reversed(graph.nodes):
            if _is_head(node, known) and not keep(node.inputs[1]):
                self.heads[node] = self._chain(node)
        self.tails = {c.tail.node: c for c in self.heads.values()}
        self.absorbed |= {c.head for c in self.heads.values()} - set(self.tails)
        self.wanted = self._wanted()

    @property
    def chains(self) -> list:
        """Return the chains in the order of the graph."""
        return [self.tails[n] for n in self.graph.nodes if n in self.tails]

    def _chain(self, head):
        made = Chain(head, head.output)
        while True:
            readers = self.graph.uses[made.tail]
            if len(readers) != 1 or made.tail in self.graph.results or readers[0] in self.absorbed:
                break
            node = readers[0]
            if not self._takes_in(made, node):
                break
            made.inside.append(node)
            made.tail = node.output
        self.absorbed.update(made.inside)
        return made

    def _takes_in(self, chain, node) -> bool:
        """Enter a node into a chain; return whether it fits."""
        limit = limit_of(node, chain.tail)
        if limit is not None:
            chain.limits.append(limit)
            return True
        if node.op is reshape and not chain.is_conv:
            return node.output.ndim > 0 and node.output.shape[-1] == chain.channels
        if node.op is not ew.add or chain.limits or chain.residual is not None:
            return False
        other = node.inputs[1] if node.inputs[0] is chain.tail else node.inputs[0]
        if type(other) is not Value or other is chain.tail:
            return False
        if chain.bias is None and chain.head.inputs[2:] in ((), (None,)) and self._channel_values(other, chain) is not None:
            chain.bias = self._channel_values(other, chain)
            return True
        if chain.is_conv and other in self.images and other.shape == chain.tail.shape and self.known(other) is None:
            chain.residual = other
            return True
        return False

    def _channel_values(self, value, chain):
        """Return the known channel values that an operand repeats, else None."""
        if chain.is_conv or value.node is None or value.node.op is not expand:
            return None
        source = value.node.inputs[0]
        return source if source.aval.size == source.shape[-1:][0] == chain.channels and self.known(source) is not None else None

    def _wanted(self):
        found: set = set()
        for node in reversed(self.graph.nodes):
            chain = self.heads.get(node)
            if chain is not None:
                found.add(chain.x)
            tail = self.tails.get(node)
            if tail is not None and tail.residual is not None:
                found.add(tail.residual)
            if passes_bytes(node, self.images) and node.outputs[0] in found:
                found.update(x for x in node.inputs if type(x) is Value)
        return {v for v in found if v.dtype is float32}


def _is_head(node, known) -> bool:
    if node.op is not conv and node.op not in _PRODUCTS:
        return False
    x, w = node.inputs[:2]
    if any(type(v) is not Value or v.dtype is not float32 for v in (x, w)) or known(x) is not None or known(w) is None:
        return False
    if node.op is conv:
        bias = node.inputs[2]
        return x.ndim in (3, 4) and (bias is None or known(bias) is not None) and not _cuts(node.params["padding"])
    return w.ndim == 2 and x.ndim >= 1 + (node.op is matmul) and all(
        v is None or known(v) is not None for v in node.inputs[2:])


def _cuts(padding):
    return any(n < 0 for pair in padding for n in pair)


def limit_of(node, value) -> tuple | None:
    """Return (ew.maximum or ew.minimum, number) of a node that limits a value, else None."""
    if node.op is relu:
        return ew.maximum, 0.0
    if node.op in (ew.maximum, ew.minimum) and node.inputs[0] is value and type(node.inputs[1]) in (int, float):
        return node.op, float(node.inputs[1])
    return None


def passes_bytes(node: Node, images: set) -> bool:
    """Return whether an operator works on bytes as on the numbers that they stand for."""
    if node.op is max_pool:
        return node.inputs[0] in images
    return node.op is cat or (type(node.op.lower) is View and node.outputs[0].dtype is float32)


def _images(graph) -> set:
    """Return the values with channels last: results of convolutions and their followers."""
    found: set = set()
    for node in graph.nodes:
        sources = [x for x in node.inputs if type(x) is Value]
        if node.op is conv or (node.op in (max_pool, avg_pool) and sources[0] in found) or (
                node.op.is_pointwise and any(x in found for x in sources)) or (
                node.op is cat and node.params["dim"] == 1 and all(x in found for x in sources)):
            found.add(node.outputs[0])
    return {v for v in found if v.dtype is float32}


def sources_of(value: Value) -> list:
    """Return the inputs that a value depends on."""
    found: dict = {}
    stack = [value]
    while stack:
        v = stack.pop()
        if v.node is None:
            found[v] = None
        else:
            stack.extend(x for x in v.node.inputs if type(x) is Value)
    return list(found)


def name_of(weight: Value) -> str:
    """Return a weight's name: that of its input with the most dimensions."""
    return max(sources_of(weight), key=lambda v: v.ndim).name
