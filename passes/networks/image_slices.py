"""Slices layers of a large batch into a few images at a time, where their values would not stay in the last cache.

A *segment* is consecutive convolutions and pools on blocks that treat every image alike. Where a layer moves more than the
budget, the next layer finds nothing in the cache, unless the whole segment runs for some images, then for the next ones. Every
result keeps its bits: kernels and algorithms were chosen for the whole batch. Results that leave a segment are concatenated, so
segments that keep most results, as in training steps, stay whole.
"""

import itertools
from dataclasses import dataclass, field

from ...ir.graph.graph import Builder, Graph, Node, Value
from ...ir.ops.core.shape import cat, slice_
from ...ir.ops.packed.blocked import avg_pool_blocked, conv_blocked, conv_chain_blocked, max_pool_blocked
from ..rewrite.rewrite import needed, prune

LAYERS = (conv_blocked, conv_chain_blocked, max_pool_blocked, avg_pool_blocked)
_WORTH = 2              # times the bytes that leave a segment that those which stay inside must be
_SMALL = 4              # layers that move less than such a part of the budget are better done for all images


@dataclass(eq=False)
class Segment:
    """Layers that run for some images at a time, from each of `starts` to the next. `joined` are the results for other
    readers."""

    nodes: list[Node] = field(default_factory=list)
    starts: tuple = ()
    joined: list[Value] = field(default_factory=list)

    @property
    def batch(self) -> int:
        return self.nodes[0].output.shape[0]

    def is_imagewise(self, value) -> bool:
        """Return whether an operand has a part for each image."""
        return value.shape[0] == self.batch


def slice_images(graph: Graph, budget: int) -> Graph:
    """Slice all segments with a layer that moves more than `budget` bytes."""
    if any(n.has_effect for n in graph.nodes):
        return graph
    segments = [s for s in (_planned(graph, nodes, budget) for nodes in _segments(graph, budget)) if s is not None]
    return _rebuilt(graph, segments) if segments else graph


def _images(x):
    return [v for v in x if type(v) is Value and v.ndim > 1]


def _bytes(value):
    return value.aval.size * value.dtype.itemsize


def _traffic(node):
    """Return the bytes of images that a layer reads and writes."""
    batch = node.output.shape[0]
    return sum(_bytes(v) for v in {*_images(node.inputs), *node.outputs} if v.shape[0] == batch)


def _is_layer(node):
    return (node.op in LAYERS and not any(v.aval.is_symbolic for v in (*_images(node.inputs), *node.outputs))
            and node.output.shape[0] > 1)


def _segments(graph, budget):
    """Return lists of layers, from one that moves more than the budget on; none waits for something that waits for it."""
    found, nodes, inside, after = [], [], set(), set()      # after: values made from those inside by something else
    for node in graph.nodes:
        waits = any(x in after for x in node.inputs if type(x) is Value)
        if _is_layer(node):
            if waits or (nodes and nodes[0].output.shape[0] != node.output.shape[0]):
                found.append(nodes)
                nodes, inside, after = [], set(), set()
            if nodes or _traffic(node) > budget:
                nodes.append(node)
                inside.add(node.output)
        elif waits or any(x in inside for x in node.inputs if type(x) is Value):
            after.update(node.outputs)
    return [nodes for nodes in (*found, nodes) if nodes]


def _planned(graph, nodes, budget):
    """Return the segment up to the last layer over the budget, or some more if fewer results leave then; None without gain."""
    end = 1 + max(i for i, n in enumerate(nodes) if _traffic(n) > budget)
    while (segment := _segment(graph, nodes[:end], budget)) is None and end < len(nodes) \
            and _SMALL * _traffic(nodes[end]) > budget:
        end += 1
    return segment


def _segment(graph, nodes, budget):
    """Return the segment of these layers in the largest slices that fit the budget; None where slices would gain nothing."""
    made = Segment(nodes)
    made.starts = _starts(made.batch, max(1, budget // (max(map(_traffic, nodes)) // made.batch)))
    inside = set(nodes)
    made.joined = [n.output for n in nodes if n.output in graph.results or any(u not in inside for u in graph.uses[n.output])]
    leaving = sum(map(_bytes, made.joined))
    staying = sum(_bytes(n.output) for n in nodes) - leaving
    return made if staying > _WORTH * leaving else None


def _starts(batch, most):
    """Return the starts of slices of at most so many images: equal by a good divisor of the batch, else they differ by one."""
    even = max(n for n in range(1, most + 1) if batch % n == 0)
    count = batch // even if 2 * even > most else -(-batch // most)
    return tuple([batch * i // count for i in range(count)])


def _rebuilt(graph, segments):
    b = Builder(graph.name)
    env = b.copy_inputs(graph)
    starts, inside = {s.nodes[0]: s for s in segments}, {n for s in segments for n in s.nodes}
    done = set()

    def copy(nodes):
        for node in nodes:
            if node not in done:
                done.add(node)
                b.copy_into(env, node)

    for node in graph.nodes:
        if node in starts:
            segment = starts[node]
            given = env.keys() | {n.output for n in segment.nodes}
            first = needed([x for n in segment.nodes for x in n.inputs if type(x) is Value and x not in given], given)
            copy([n for n in graph.nodes if n in first])
            _add_slices(b, env, segment)
        elif node not in inside:
            copy([node])
    return prune(b.finish_like(graph, env))


def _add_slices(b, env, segment):
    """Append the layers for some images, then for the next ones, and concatenate the leaving results."""
    parts: dict = {v: [] for v in segment.joined}
    for start, stop in itertools.pairwise((*segment.starts, segment.batch)):
        here: dict = {}

        def operand(x, start=start, stop=stop, here=here):
            if type(x) is not Value or x in here:
                return here.get(x, x) if type(x) is Value else x
            if x.ndim < 2 or not segment.is_imagewise(x):
                return env[x]
            here[x] = b.call(slice_, env[x], dim=0, start=start, stop=stop, step=1)
            return here[x]

        for node in segment.nodes:
            with b.at(node.line):
                here[node.output] = b.append(node.op, [operand(x) for x in node.inputs], node.params)
        for v, made in parts.items():
            made.append(here[v])
    for v, made in parts.items():
        env[v] = b.call(cat, *made, dim=0)
