"""Preparation of an exported graph for this machine: constant folding, passes, and values derived from weights.

Graphs in files have been through the passes that hold on every machine, unless these had to know a size. Passes that depend on
the machine (layouts, packed weights) run for the shapes of a call. Values derived from weights alone are computed once and
shared between shapes.
"""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....ir.graph.graph import Builder, Graph, Value
from ....ir.opdef.op import View
from ....ir.opdef.params import params_key
from ....ir.symbols.substitute import has_symbols
from ....passes import pipelines
from ....passes.networks.hoist_weights import split_derived
from ....passes.rewrite import pass_manager
from ....passes.simplify.canonicalize import is_fill
from ....runtime.core.dispatch import kernel_of
from ....runtime.cpu.graph import machine_passes
from ....runtime.state.mode import tls

_GROWTH = 4            # a folded value may take so many times the memory of what it is made of,
_ALWAYS = 1 << 14      # and so many elements in any case


def freeze(graph: Graph, weights: dict, arguments: int) -> tuple:
    """Return (graph, weights) with constant subgraphs computed, by the kernels that would run at every call.

    The graph's inputs are `arguments` arguments, then the weights in their order. Results are equal bit for bit.
    """
    fixed = dict(zip(graph.inputs[arguments:], weights.values()))
    folded = tls.m.run(_Folding(graph, fixed).folded_arrays)
    made = {v: f"folded.{i}" for i, v in enumerate(folded)}
    b = Builder(graph.name)
    env: dict = {v: b.input(v.name, v.aval) for v in graph.inputs[:arguments]}
    env |= {v: b.input(name, v.aval) for v, name in zip(graph.inputs[arguments:], weights)}
    env |= {v: b.input(name, v.aval) for v, name in made.items()}
    for n in graph.nodes:
        if n.outputs[0] in made:
            continue
        new = b.copy(n, [env[x] if type(x) is Value else x for x in n.inputs])
        env.update((v, w) for v, w in zip(n.outputs, new.outputs) if v not in env)
    graph = pass_manager.run(b.finish([env[v] for v in graph.outputs]), pipelines.SIMPLER)
    return without_unused(graph, {**weights, **{made[v]: a for v, a in folded.items()}}, arguments)


def without_unused(graph: Graph, weights: dict, arguments: int) -> tuple:
    """Return (graph, weights) without weights that nothing reads."""
    needed = {x for n in graph.nodes for x in n.inputs} | set(graph.outputs)
    b = Builder(graph.name)
    env = {v: b.input(v.name, v.aval) for v in graph.inputs[:arguments]}
    used = {}
    for v, (name, a) in zip(graph.inputs[arguments:], weights.items()):
        if v in needed:
            used[name] = a
            env[v] = b.input(name, v.aval)
    return b.finish_like(graph, b.inline(graph, env)), used


def _is_fixed(n) -> bool:
    return not (n.output.aval.is_symbolic or any(map(has_symbols, n.params.values())) or any(map(has_symbols, n.inputs)))


class _Folding:
    """Search and evaluation of values that depend on weights alone and have another reader."""

    def __init__(self, graph: Graph, fixed: dict):
        self.graph, self.arrays = graph, dict(fixed)
        self.constant: set[Any] = set(fixed)

    def folded_arrays(self) -> dict:
        """Return {value: array}, in order."""
        for n in self.graph.nodes:
            values = [x for x in n.inputs if type(x) is Value]
            pure = n.is_pure and not n.has_effect and not n.multi and not is_fill(n) and _is_fixed(n)
            known = pure and values and all(map(self._is_known, values)) and any(v in self.constant for v in values)
            if known and (type(n.op.lower) is View or self._is_worth(n, values)):
                self.constant.add(n.output)
        wanted = [v for v in self.graph.values() if v in self.constant and v.node is not None and self._is_read(v)]
        return {v: a for v in map(self._owner, wanted) if v.node is not None and (a := self._array(v)) is not None}

    def _is_worth(self, n, values):
        """Return whether the result takes little more memory than its operands."""
        room = sum(self._owner(v).aval.size for v in values)
        return n.output.aval.size <= max(_GROWTH * room, _ALWAYS)

    def _is_known(self, v):
        return v in self.constant or (v.node is not None and is_fill(v.node) and _is_fixed(v.node))

    def _is_read(self, v):
        """Return whether a value has a reader that is not constant."""
        return v in self.graph.results or any(n.multi or n.output not in self.constant for n in self.graph.uses[v])

    def _owner(self, v):
        """Return the value that a view is of: views are free, so their base is computed."""
        while v.node is not None and type(v.node.op.lower) is View and v.node.inputs[0] in self.constant:
            v = v.node.inputs[0]
        return v

    def _array(self, v):
        if v in self.arrays:
            return self.arrays[v]
        n = v.node
        operands = [self._operand(x) for x in n.inputs]
        a = np.asarray(kernel_of(n.op)(*operands, **n.params))
        self.arrays[v] = a
        return a

    def _operand(self, x):
        if type(x) is not Value:
            return x
        if x not in self.arrays and is_fill(x.node):
            self.arrays[x] = np.asarray(x.node.op.ref(None, **x.node.params))
        return self._array(x)


@dataclass(frozen=True)
class Prepared:
    """A graph for this machine.

    main      graph of every call, on the arguments, the weights numbered `weights` and the derived values
    weights   numbers of the weights that `main` reads
    derived   graph, run once, of values derived from the weights `sources`, or None
    names     a content-based name for each result of `derived`
    """

    main: Graph
    weights: tuple
    derived: Graph | None = None
    sources: tuple = ()
    names: tuple = ()


def prepared(graph: Graph, arguments: int, taken, numbers: int = 0) -> Prepared:
    """Return the graph for this machine.

    Its inputs are `arguments` arguments, then the weights numbered `taken`, then `numbers` numbers of each call.
    """
    graph = pass_manager.run(graph, machine_passes.PASSES)
    weights = range(arguments, len(graph.inputs) - numbers)
    cut = split_derived(graph, frozenset(weights))
    if cut is None:
        return Prepared(graph, tuple(taken))
    number = {v.name: taken[i - arguments] if i in weights else -1 for i, v in enumerate(graph.inputs)}
    sources = tuple([taken[i - arguments] for i in cut.sources])
    names = names_of(cut.derived, sources)
    main, read = _without_unread(cut.main, number, len(names))
    return Prepared(main, read, cut.derived, sources, names)


def _without_unread(main, number, derived) -> tuple:
    """Return (the graph without unread weights, numbers of the others); the last `derived` inputs stay."""
    read = {x for n in main.nodes for x in n.inputs if type(x) is Value} | main.results
    own = main.inputs[:len(main.inputs) - derived]
    dropped = {v for v in own if number[v.name] >= 0 and v not in read}
    b = Builder(main.name)
    env = {v: b.input(v.name, v.aval) for v in main.inputs if v not in dropped}
    remaining = tuple([number[v.name] for v in own if number[v.name] >= 0 and v not in dropped])
    return b.finish_like(main, b.inline(main, env)), remaining


def names_of(graph: Graph, sources) -> tuple:
    """Return a name for each result of a graph of weights; equal work on the same weights has equal names."""
    keys: dict = {v: f"weight {number}" for v, number in zip(graph.inputs, sources)}
    for n in graph.nodes:
        operands = [keys[x] if type(x) is Value else repr(x) for x in n.inputs]
        text = f"{n.op.name} {operands} {params_key(n.params)} {[repr(v.aval) for v in n.outputs]}"
        for v in n.outputs:
            keys[v] = hashlib.sha256(f"{text} {v.index}".encode()).hexdigest()[:32]
    return tuple([keys[v] for v in graph.outputs])
