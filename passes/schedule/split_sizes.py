"""Splits off the end of a graph that symbolic sizes do not reach, as the optimizer behind a backward of any number of rows."""

from dataclasses import dataclass

from ...ir.graph.graph import Graph, Value
from ..fusion.fuse import own_results
from ..networks.hoist_weights import has_sizes
from ..rewrite.rewrite import needed, subgraph


@dataclass(frozen=True)
class SizeCut:
    """A graph in two. Both take some inputs of the whole graph; then the rest takes what the first part gives it.

    sized         the part that sizes reach; its results are those for the rest, in memory of their own, then those of the graph
    sources       numbers of the inputs that it takes
    rest          the end
    inputs        numbers of the inputs that it takes
    given         how many results of `sized` go to the rest
    results       positions of the results of `sized` among those of the whole graph
    rest_results  the same of the results of the rest
    """

    sized: Graph
    sources: tuple
    rest: Graph
    inputs: tuple
    given: int
    results: tuple
    rest_results: tuple


def split_sizes(graph: Graph, owned, keep=frozenset()) -> SizeCut:
    """Return the cut. Results at the positions `owned` get memory of their own; inputs `keep` stay inputs of the rest."""
    if any(n.has_effect for n in graph.nodes):
        inside = set(graph.nodes)
    else:
        inside = needed([v for n in graph.nodes for v in n.outputs if has_sizes(n) or _reads_sizes(n)])
    beyond = set(graph.nodes) - inside
    given = tuple(dict.fromkeys([x for n in graph.nodes if n in beyond for x in n.inputs
                                 if type(x) is Value and x.node in inside]))
    rest_results = tuple([i for i, v in enumerate(graph.outputs) if v.node in beyond])
    results = tuple([i for i, v in enumerate(graph.outputs) if v.node not in beyond])
    sized, sources = subgraph(graph, graph.name, inside, [*given, *[graph.outputs[i] for i in results]])
    own = [*range(len(given)), *[len(given) + n for n, i in enumerate(results) if i in owned]]
    rest, inputs = subgraph(graph, f"{graph.name}_end", beyond, [graph.outputs[i] for i in rest_results], given, keep)
    return SizeCut(own_results(sized, frozenset(own)), sources, rest, inputs, len(given), results, rest_results)


def _reads_sizes(node) -> bool:
    return any([x.aval.is_symbolic for x in node.inputs if type(x) is Value])  # noqa: C419
