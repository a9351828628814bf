"""Layers of a large batch run for a few images at a time, where their values would not stay in the last cache.

A *stretch* is convolutions and pools on blocks that follow each other, each of which does the same for every image. Where what
one of them reads and writes is more than the budget, the next layer finds nothing in the cache; a stretch that runs for some
images from its beginning to its end, then for the next ones, does. Every result has the bits that it had: kernels and
algorithms were chosen for the whole batch. What leaves a stretch is put together again, so stretches that keep most of what
they make, as those of training steps do, stay whole.
"""

import itertools
from dataclasses import dataclass, field

from ...ir.graph.graph import Builder, Graph, Node, Value
from ...ir.ops.core.shape import cat, slice_
from ...ir.ops.packed.blocked import avg_pool_blocked, conv_blocked, conv_chain_blocked, max_pool_blocked
from ..rewrite.rewrite import needed, prune

LAYERS = (conv_blocked, conv_chain_blocked, max_pool_blocked, avg_pool_blocked)
_WORTH = 2              # times the bytes that leave a stretch that those which stay inside must be
_SMALL = 4              # layers that move less than such a part of the budget are better done for all images


@dataclass(eq=False)
class Stretch:
    """Layers that run for some images at a time, from each of `starts` to the next. `joined` are the results that something
    else reads."""

    nodes: list[Node] = field(default_factory=list)
    starts: tuple = ()
    joined: list[Value] = field(default_factory=list)

    @property
    def batch(self) -> int:
        """The images of all."""
        return self.nodes[0].output.shape[0]

    def is_imagewise(self, value) -> bool:
        """Whether an operand has a part for each image."""
        return value.shape[0] == self.batch


def batch_slices(graph: Graph, budget: int) -> Graph:
    """Slices all stretches of which a layer moves more than `budget` bytes."""
    if any(n.has_effect for n in graph.nodes):
        return graph
    stretches = [s for s in (_planned(graph, nodes, budget) for nodes in _stretches(graph, budget)) if s is not None]
    return _rebuilt(graph, stretches) if stretches else graph


def _images(x):
    return [v for v in x if type(v) is Value and v.ndim > 1]


def _bytes(value):
    return value.aval.size * value.dtype.itemsize


def _moved(node):
    """Bytes of images that a layer reads and writes."""
    batch = node.output.shape[0]
    return sum(_bytes(v) for v in {*_images(node.inputs), *node.outputs} if v.shape[0] == batch)


def _is_layer(node):
    return (node.op in LAYERS and not any(v.aval.is_symbolic for v in (*_images(node.inputs), *node.outputs))
            and node.output.shape[0] > 1)


def _stretches(graph, budget):
    """Lists of layers, in order, from one that moves more than the budget on. No layer of a list waits for something else that
    waits for the list."""
    found, nodes, inside, after = [], [], set(), set()      # after: values made from those inside by something else
    for node in graph.nodes:
        waits = any(x in after for x in node.inputs if type(x) is Value)
        if _is_layer(node):
            if waits or (nodes and nodes[0].output.shape[0] != node.output.shape[0]):
                found.append(nodes)
                nodes, inside, after = [], set(), set()
            if nodes or _moved(node) > budget:
                nodes.append(node)
                inside.add(node.output)
        elif waits or any(x in inside for x in node.inputs if type(x) is Value):
            after.update(node.outputs)
    return [nodes for nodes in (*found, nodes) if nodes]


def _planned(graph, nodes, budget):
    """The stretch of these layers up to the last that moves more than the budget, or a few more where less leaves it then;
    None where it would gain nothing."""
    end = 1 + max(i for i, n in enumerate(nodes) if _moved(n) > budget)
    while (made := _stretch(graph, nodes[:end], budget)) is None and end < len(nodes) and _SMALL * _moved(nodes[end]) > budget:
        end += 1
    return made


def _stretch(graph, nodes, budget):
    """The stretch of these layers, with as many images at a time as the budget takes; None where it would gain nothing."""
    made = Stretch(nodes)
    made.starts = _starts(made.batch, max(1, budget // (max(map(_moved, nodes)) // made.batch)))
    inside = set(nodes)
    made.joined = [n.output for n in nodes if n.output in graph.results or any(u not in inside for u in graph.uses[n.output])]
    leaving = sum(map(_bytes, made.joined))
    staying = sum(_bytes(n.output) for n in nodes) - leaving
    return made if staying > _WORTH * leaving else None


def _starts(batch, most):
    """Where parts of at most so many images start: of as many each where a good number divides the batch, else of one image
    more or less."""
    even = max(n for n in range(1, most + 1) if batch % n == 0)
    count = batch // even if 2 * even > most else -(-batch // most)
    return tuple([batch * i // count for i in range(count)])


def _rebuilt(graph, stretches):
    b = Builder(graph.name)
    env = b.copy_inputs(graph)
    starts, inside = {s.nodes[0]: s for s in stretches}, {n for s in stretches for n in s.nodes}
    done = set()

    def copy(nodes):
        for node in nodes:
            if node not in done:
                done.add(node)
                b.copy_into(env, node)

    for node in graph.nodes:
        if node in starts:
            stretch = starts[node]
            given = env.keys() | {n.output for n in stretch.nodes}
            first = needed([x for n in stretch.nodes for x in n.inputs if type(x) is Value and x not in given], given)
            copy([n for n in graph.nodes if n in first])
            _add_slices(b, env, stretch)
        elif node not in inside:
            copy([node])
    return prune(b.finish_like(graph, env))


def _add_slices(b, env, stretch):
    """The layers for some images, then for the next ones, and what leaves them put together."""
    parts: dict = {v: [] for v in stretch.joined}
    for start, stop in itertools.pairwise((*stretch.starts, stretch.batch)):
        here: dict = {}

        def operand(x, start=start, stop=stop, here=here):
            if type(x) is not Value or x in here:
                return here.get(x, x) if type(x) is Value else x
            if x.ndim < 2 or not stretch.is_imagewise(x):
                return env[x]
            here[x] = b.call(slice_, env[x], dim=0, start=start, stop=stop, step=1)
            return here[x]

        for node in stretch.nodes:
            with b.at(node.line):
                here[node.output] = b.append(node.op, [operand(x) for x in node.inputs], node.params)
        for v, made in parts.items():
            made.append(here[v])
    for v, made in parts.items():
        env[v] = b.call(cat, *made, dim=0)
