"""A graph as steps for a device: fused kernels and calls, and what is dead after each.

Memory is the allocator's business: work in one stream is in order, so what is freed after a step may be taken by the next.
"""

from dataclasses import dataclass

from ....ir.graph import Graph, Node, Value
from ...fuse import fuse, own_results
from ...kernel_body import source_of
from ...lower import Lowered, lower


@dataclass(eq=False)
class KernelStep:
    """One fused kernel."""

    lowered: Lowered
    group: object
    dead: tuple = ()

    @property
    def reads(self) -> list:
        """The values in memory that it reads."""
        return [v for v, _, written in self.lowered.operands if not written]

    @property
    def writes(self) -> list:
        """The values that it makes."""
        return [v for v, _, written in self.lowered.operands if written]


@dataclass(eq=False)
class CallStep:
    """One node that is called on arrays."""

    node: Node
    dead: tuple = ()

    @property
    def reads(self) -> list:
        """The values in memory behind its operands."""
        return [source_of(x) for x in self.node.inputs if type(x) is Value and source_of(x) is not None]

    @property
    def writes(self) -> list:
        """The values that it makes."""
        return list(self.node.outputs)


@dataclass(frozen=True, eq=False)
class Steps:
    """What to do, in order, and the graph that says what it means."""

    graph: Graph
    steps: tuple


def plan(graph: Graph, owned=frozenset()) -> Steps:
    """The steps of a graph. Results at the positions `owned` get memory of their own."""
    graph = own_results(graph, owned)
    steps = [KernelStep(lower(g.body), g) if g.is_kernel else CallStep(g.nodes[0]) for g in fuse(graph)]
    forever = {source_of(v) for v in graph.outputs} | set(graph.outputs) | set(graph.inputs)
    last = {}
    for i, s in enumerate(steps):
        for v in (*s.reads, *s.writes):
            last[v] = i
    for i, s in enumerate(steps):
        s.dead = tuple([v for v in dict.fromkeys([*s.reads, *s.writes]) if v not in forever and last[v] == i])
    return Steps(graph, tuple(steps))
