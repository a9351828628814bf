"""From the graph in a file to what runs on this machine: its passes, and what they make of the weights.

Graphs in files have gone through the passes that hold for every machine, unless these had to know a size. What depends on the
machine (layouts, packed weights) is done for the shapes of a call; what it makes of weights alone is made once, and shared
between shapes that need the same.
"""

import hashlib
from dataclasses import dataclass

from ....ir.graph.graph import Builder, Graph, Value
from ....ir.opdef.params import params_key
from ....passes.networks.hoist_weights import split_derived
from ....passes.rewrite import pass_manager
from ....runtime.cpu.graph import machine_passes


@dataclass(frozen=True)
class Prepared:
    """A graph for this machine.

    main      what runs at every call, on the arguments, the weights `kept` and what is derived
    kept      numbers of the weights that it takes
    derived   what is made of the weights `sources` once, or None
    names     for each result of `derived` a name that tells what it is
    """

    main: Graph
    kept: tuple
    derived: Graph | None = None
    sources: tuple = ()
    names: tuple = ()


def prepared(graph: Graph, arguments: int, taken, numbers: int = 0) -> Prepared:
    """The graph for this machine; its inputs are `arguments` arguments, then the weights of the numbers `taken`, then so many
    `numbers` of each call's own."""
    graph = pass_manager.run(graph, machine_passes.TRACE)
    weights = range(arguments, len(graph.inputs) - numbers)
    cut = split_derived(graph, frozenset(weights))
    if cut is None:
        return Prepared(graph, tuple(taken))
    number = {v.name: taken[i - arguments] if i in weights else -1 for i, v in enumerate(graph.inputs)}
    sources = tuple([taken[i - arguments] for i in cut.sources])
    names = names_of(cut.derived, sources)
    main, kept = _without_unread(cut.main, number, len(names))
    return Prepared(main, kept, cut.derived, sources, names)


def _without_unread(main, number, derived) -> tuple:
    """(the graph without the weights that it does not read, the numbers of those that it does); the last inputs are derived."""
    read = {x for n in main.nodes for x in n.inputs if type(x) is Value} | main.results
    own = main.inputs[:len(main.inputs) - derived]
    dropped = {v for v in own if number[v.name] >= 0 and v not in read}
    b = Builder(main.name)
    env = {v: b.input(v.name, v.aval) for v in main.inputs if v not in dropped}
    kept = tuple([number[v.name] for v in own if number[v.name] >= 0 and v not in dropped])
    return b.finish_like(main, b.inline(main, env)), kept


def names_of(graph: Graph, sources) -> tuple:
    """A name for each result of a graph of weights, equal for equal work on the same weights."""
    keys: dict = {v: f"weight {number}" for v, number in zip(graph.inputs, sources)}
    for n in graph.nodes:
        operands = [keys[x] if type(x) is Value else repr(x) for x in n.inputs]
        text = f"{n.op.name} {operands} {params_key(n.params)} {[str(v.aval) for v in n.outputs]}"
        for v in n.outputs:
            keys[v] = hashlib.sha256(f"{text} {v.index}".encode()).hexdigest()[:32]
    return tuple([keys[v] for v in graph.outputs])
