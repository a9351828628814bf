"""Splits off values that depend on weights alone, to be computed once and kept until a weight is written.

    cut = split_derived(graph, stable)

`stable` are the inputs that keep their values from call to call. Split off are packed weights, other operands of blocked
convolutions, and weights in a lower precision that contractions read (autocast's), with everything behind them. Small values
that depend on weights alone, like a sum of biases, go with them.
"""

from dataclasses import dataclass

from ...ir.graph.graph import Builder, Graph, Value
from ...ir.ops.core.elementwise import cast
from ...ir.ops.packed.blocked import conv_blocked, pack_filters
from ...ir.ops.packed.blocked_grad import conv_input_grad_blocked, pack_turned
from ...ir.ops.packed.recurrent_packed import pack_recurrent
from ...ir.symbols.substitute import has_symbols
from ..rewrite.kernel_body import is_free, source_of
from ..rewrite.rewrite import needed, subgraph

SMALL = 1 << 16      # elements


@dataclass(frozen=True)
class Cut:
    """A graph in two.

    derived  the part that depends on stable inputs alone, a graph of `sources`
    sources  numbers of the inputs of the whole graph that it takes
    main     the rest; its inputs are all those of the whole graph, then the results of `derived`
    """

    derived: Graph
    sources: tuple
    main: Graph


def split_derived(graph: Graph, stable: frozenset) -> Cut | None:
    """Return the cut, or None where there is nothing to cut off."""
    known = _known(graph, stable)
    wanted = [v for v in _seeds(graph) if v in known]
    if not wanted:
        return None
    wanted = list(dict.fromkeys([*wanted, *_small(graph, known)]))
    derived, sources = subgraph(graph, f"{graph.name}_weights", needed(wanted), wanted)
    given = set(wanted)
    effects = [v for n in graph.nodes if n.has_effect for v in n.outputs]
    rest = needed([*[v for v in graph.results if v not in given], *effects], given)
    b = Builder(graph.name)
    env = b.copy_inputs(graph)
    env.update({v: b.input(f"derived{i}", v.aval) for i, v in enumerate(wanted)})
    for n in graph.nodes:
        if n in rest:
            new = b.copy(n, [env[x] if type(x) is Value else x for x in n.inputs])
            env.update({old: made for old, made in zip(n.outputs, new.outputs) if old not in given})
    return Cut(derived, sources, b.finish_like(graph, env))


def _known(graph, stable):
    """Return the values that depend on stable inputs alone, whatever the sizes of others."""
    known = {graph.inputs[i] for i in stable}
    for n in graph.nodes:
        if n.is_pure and all(x in known for x in n.inputs if type(x) is Value) and not has_sizes(n):
            known.update(n.outputs)
    return known


def has_sizes(node):
    """Return whether symbolic sizes decide a node's result."""
    return (any([v.aval.is_symbolic for v in node.outputs]) or any(map(has_symbols, node.params.values()))  # noqa: C419
            or has_symbols(tuple([x for x in node.inputs if type(x) is not Value])))


def _seeds(graph):
    """Return packed weights, other operands of convolutions, and weights in a lower precision."""
    found = [n.output for n in graph.nodes if n.op in (pack_filters, pack_turned, pack_recurrent)]
    operands = [v for n in graph.nodes if n.op in (conv_blocked, conv_input_grad_blocked) for v in n.inputs[2:]
              if v.node is not None]
    read = [source_of(x) for n in graph.nodes if "autocast_low" in n.op.traits for x in n.inputs if type(x) is Value]
    low = [v for v in read if v is not None and v.node is not None and v.node.op is cast
           and v.dtype.itemsize < v.node.inputs[0].dtype.itemsize]
    return list(dict.fromkeys([*found, *operands, *low]))


def _small(graph, known):
    """Return small values of stable inputs alone that other work reads, through views or not."""
    read = [source_of(x) for n in graph.nodes if n.outputs[0] not in known and not is_free(n.outputs[0])
            for x in n.inputs if type(x) is Value]
    return [v for v in read if v is not None and v in known and v.node is not None and v.aval.size <= SMALL]
