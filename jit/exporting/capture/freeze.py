"""Freezing: what depends on weights alone is computed once and becomes a weight itself."""

from typing import Any

import numpy as np

from ....ir.graph.graph import Builder, Graph, Value
from ....ir.opdef.op import View
from ....ir.symbols.substitute import has_symbols
from ....passes import pipelines
from ....passes.rewrite import pass_manager
from ....passes.simplify.canonicalize import is_fill
from ....runtime.core.dispatch import kernel_of
from ....runtime.core.state import tls

_GROWTH = 4            # a folded value may take so many times the memory of what it is made of,
_ALWAYS = 1 << 14      # and so many elements in any case


def freeze(graph: Graph, weights: dict, arguments: int) -> tuple:
    """(graph, weights) with constant parts computed, by the kernels that would compute them at every call.

    The graph's inputs are `arguments` arguments, then the weights in their order. Results are equal bit for bit.
    """
    fixed = dict(zip(graph.inputs[arguments:], weights.values()))
    folded = tls.m.run(_Folding(graph, fixed).found)
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
    """(graph, weights) without the weights that nothing reads."""
    needed = {x for n in graph.nodes for x in n.inputs} | set(graph.outputs)
    b = Builder(graph.name)
    env = {v: b.input(v.name, v.aval) for v in graph.inputs[:arguments]}
    kept = {}
    for v, (name, a) in zip(graph.inputs[arguments:], weights.items()):
        if v in needed:
            kept[name] = a
            env[v] = b.input(name, v.aval)
    return b.finish_like(graph, b.inline(graph, env)), kept


def _is_fixed(n) -> bool:
    """Whether no size of a node may change."""
    return not (n.output.aval.is_symbolic or any(map(has_symbols, n.params.values())) or any(map(has_symbols, n.inputs)))


class _Folding:
    """Finds and computes the values that only weights lead to and something else reads."""

    def __init__(self, graph: Graph, fixed: dict):
        self.graph, self.arrays = graph, dict(fixed)
        self.constant: set[Any] = set(fixed)

    def found(self) -> dict:
        """{value: array} in order."""
        for n in self.graph.nodes:
            values = [x for x in n.inputs if type(x) is Value]
            pure = n.is_pure and not n.has_effect and not n.multi and not is_fill(n) and _is_fixed(n)
            known = pure and values and all(map(self._is_known, values)) and any(v in self.constant for v in values)
            if known and (type(n.op.lower) is View or self._is_worth(n, values)):
                self.constant.add(n.output)
        wanted = [v for v in self.graph.values() if v in self.constant and v.node is not None and self._is_read(v)]
        return {v: a for v in map(self._owner, wanted) if v.node is not None and (a := self._array(v)) is not None}

    def _is_worth(self, n, values):
        """Whether the result does not take much more room than what it is made of."""
        room = sum(self._owner(v).aval.size for v in values)
        return n.output.aval.size <= max(_GROWTH * room, _ALWAYS)

    def _is_known(self, v):
        return v in self.constant or (v.node is not None and is_fill(v.node) and _is_fixed(v.node))

    def _is_read(self, v):
        """Whether something that is not constant reads a value."""
        return v in self.graph.results or any(n.multi or n.output not in self.constant for n in self.graph.uses[v])

    def _owner(self, v):
        """Views of one value are free, so it is the value that is computed."""
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
