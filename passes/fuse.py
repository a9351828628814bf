"""Groups: which operations become one kernel.

Every operation that the kernel generator can compute starts as a group of its own. Producers are joined to their readers,
then neighbours that read the same memory to each other, as long as the result is one kernel (`kernel_body` says so), no
cycle arises, and little is computed twice. Everything else (contractions, gathers, sorts, draws) is a call between kernels.
"""

import heapq
import math
from dataclasses import dataclass, field

from ..ir.graph import Graph, Node, Value
from ..ir.op import Reduce
from ..ir.ops.shape import contiguous
from .kernel_body import Body, Unfit, can_fuse, is_free, source_of
from .lower import Lowered, lower
from .rewrite import rebuild

MOST_NODES = 96     # of a group
MOST_BUFFERS = 40
CHEAP = 2           # cost up to which an operation may be done again for every element it is spread over


@dataclass(eq=False)
class Group:
    """Operations that run together: one kernel, or (`lowered` is None) one node that is called."""

    nodes: list
    shape: tuple = ()
    reduced: tuple = ()
    stores: tuple = ()
    lowered: Lowered | None = None
    why: list = field(default_factory=list)     # joins that were refused, as text

    @property
    def is_kernel(self) -> bool:
        return self.lowered is not None


def own_results(graph: Graph, owned) -> Graph:
    """A graph whose results at the positions `owned` are values of their own, neither inputs nor views nor each other."""
    seen, changes = set(), {}
    for i, v in enumerate(graph.outputs):
        if i in owned and (v.is_input or is_free(v) or v in seen):
            changes[i] = v
        seen.add(v)
    if not changes:
        return graph
    b_outputs = {}

    def visit(b, node, operands):
        return None

    from_builder = _copied(graph, changes, b_outputs, visit)
    return from_builder


def _copied(graph, changes, made, visit):
    """The graph with a copy in place of some results."""
    from ..ir.graph import Builder
    b = Builder(graph.name)
    env = b.inline(graph, b.copy_inputs(graph))
    outputs = [b.append(contiguous, (env[v],), {}) if i in changes else env[v] for i, v in enumerate(graph.outputs)]
    for u in graph.updates:
        b.update(env[u.target], env[u.value])
    return b.finish(outputs)
