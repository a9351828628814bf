"""Splits off the part of a device graph that needs host values alone, to be computed on the host.

    cut = partition_host(graph, host, keep)

`host` are the inputs that lie in the host's memory: step counters of optimizers, learning rates. In eager mode, too, values
that depend on nothing else are computed and stay on the host. Random draws and moves (`place`) belong to the device.
"""

from dataclasses import dataclass

from ...ir.graph.graph import Graph, Value
from ...ir.ops.core.shape import place
from ..rewrite.kernel_body import is_free, source_of
from ..rewrite.rewrite import needed, subgraph


@dataclass(frozen=True)
class HostCut:
    """A graph in two.

    host          the part that depends on the host's inputs alone; its results are those for `main`, then those of the graph
    sources       numbers of the inputs of the whole graph that it takes
    main          the rest; its inputs are some of the whole graph's, then those that `host` gives it
    inputs        numbers of those inputs
    given         how many results of `host` go to `main`
    main_results  positions of the results of `main` among those of the whole graph
    results       the same of the results of `host` that the graph returns
    """

    host: Graph
    sources: tuple
    main: Graph
    inputs: tuple
    given: int
    main_results: tuple
    results: tuple


def partition_host(graph: Graph, host: frozenset, keep=frozenset()) -> HostCut | None:
    """Return the cut, or None where there is nothing to cut off. The inputs `keep` stay inputs of `main`."""
    known = _known(graph, host)
    if not known or any(n.has_effect for n in graph.nodes):
        return None
    results = tuple([i for i, v in enumerate(graph.outputs) if v in known])
    main_results = tuple([i for i, v in enumerate(graph.outputs) if v not in known])
    rest = needed([graph.outputs[i] for i in main_results], known)
    rest |= _views(graph, rest, known)
    given = tuple(dict.fromkeys([x for n in graph.nodes if n in rest for x in n.inputs if type(x) is Value and x in known
                                 and x.node not in rest]))
    if not main_results or not (given or results):
        return None
    wanted = [*given, *[graph.outputs[i] for i in results]]
    made, sources = subgraph(graph, f"{graph.name}_host", needed(wanted), wanted)
    main, inputs = subgraph(graph, graph.name, rest, [graph.outputs[i] for i in main_results], given, keep)
    return HostCut(made, sources, main, inputs, len(given), main_results, results)


def _views(graph, rest, known):
    """Return the views between host values and the nodes `rest`, through which the device expands a received number."""
    found, stack = set(), [x for n in graph.nodes if n in rest for x in n.inputs if type(x) is Value and x in known]
    while stack:
        v = stack.pop()
        if v.node not in found and is_free(v) and v.node.inputs:
            found.add(v.node)
            stack += [x for x in v.node.inputs if type(x) is Value and x in known]
    return found


def _known(graph, host):
    """Return the values made of nothing but the host's inputs, and of fills."""
    known, inputs = set(), {graph.inputs[i] for i in host}
    for n in graph.nodes:
        values = [x for x in n.inputs if type(x) is Value]
        if not n.is_pure or "random" in n.op.traits or n.op is place or _is_fill(n.outputs[0]):
            continue
        ours = [x in known or x in inputs for x in values]
        if any(ours) and all(o or _is_fill(x) for o, x in zip(ours, values)):
            known.update(n.outputs)
    return known


def _is_fill(value):
    return is_free(value) and source_of(value) is None
