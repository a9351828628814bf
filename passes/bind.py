"""Puts numbers in the place of symbolic sizes: in a graph, or in an arrangement, which is what one is made for.

    binder = Binder(plan)             # once
    binder.bind({"b": 8, "s": 16})    # for given sizes: a copy in which each size is a number

An arrangement of a symbolic graph is made once, with everything that takes long: passes, fusion, kernels, whose text does not
name sizes. Only the memory of a copy is left to be placed.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import fields, is_dataclass
from typing import Any

from ..ir.aval import Aval
from ..ir.graph import Builder, Graph, Node, Value
from ..ir.kernel import Kernel
from ..ir.substitute import evaluator, has_symbols, replaced, valuer
from ..ir.symbolic import SymInt, is_symbol, names_of
from .codegen.llvm.fused_epilogue import Fused as FusedEpilogue
from .fuse import Group
from .plan_memory import Plan

_PLAIN = frozenset((Kernel, FusedEpilogue, Graph))


def bind_graph(graph: Graph, values: dict) -> Graph:
    """The graph with `values` for its names."""
    return Binder(Plan(graph, (), {})).bind(values).graph if graph.symbols else graph


class Binder:
    """Makes copies of an arrangement for given sizes."""

    def __init__(self, plan: Plan):
        self.plan = plan
        symbols = dict(plan.graph.symbols)
        _collect(plan.steps, symbols)
        self.keys = tuple(symbols)
        self.names = sorted(frozenset().union(*map(names_of, symbols.values())))
        self.evaluate = evaluator(symbols.values(), self.names)
        graph = plan.graph
        self.inputs = [(v, v.aval.is_symbolic) for v in graph.inputs]
        self.nodes = [(n, has_symbols(n.inputs), any(map(has_symbols, n.params.values())),
                       any(v.aval.is_symbolic for v in n.outputs)) for n in graph.nodes]

    def bind(self, values: dict) -> Plan:
        """The arrangement for `values` of the names."""
        known = dict(zip(self.keys, self.evaluate(*[values[n] for n in self.names])))
        other = valuer(values, values.values())

        def give(x):
            found = known.get(x.poly if type(x) is SymInt else x.text)
            return other(x) if found is None else found

        return _Copy(self, give).mapped(self.plan)


def _collect(x: Any, found: dict):
    """Enters the symbolic numbers of steps, but for those of their groups."""
    stack, seen = [x], set()
    while stack:
        x = stack.pop()
        if is_symbol(x):
            found.setdefault(x.poly if type(x) is SymInt else x.text, x)
        elif isinstance(x, (tuple, list)):
            stack.extend(x)
        elif type(x) is dict:
            stack.extend(x.values())
        elif is_dataclass(x) and type(x) not in _PLAIN and type(x) is not Group and id(x) not in seen:
            seen.add(id(x))
            stack.extend([getattr(x, f.name) for f in fields(x)])


class _Copy:
    """Copies a graph, and what refers to it, with numbers for symbols."""

    def __init__(self, binder: Binder, give: Callable):
        self.give, self._avals = give, {}
        graph = binder.plan.graph
        b = Builder(graph.name)
        values: dict = {v: b.input(v.name, self.aval(v.aval) if symbolic else v.aval) for v, symbolic in binder.inputs}
        nodes: dict = {}
        for n, in_operands, in_params, in_types in binder.nodes:
            operands = [values[x] if type(x) is Value else x for x in n.inputs]
            made = nodes[n] = b.copy_as(
                n, [replaced(x, give) for x in operands] if in_operands else operands,
                {k: replaced(v, give) for k, v in n.params.items()} if in_params else n.params,
                [self.aval(v.aval) for v in n.outputs] if in_types else [v.aval for v in n.outputs])
            values.update(zip(n.outputs, made.outputs))
        self.values, self.nodes = values, nodes
        self.graph = b.finish_like(graph, values)
        self.known: dict = {id(graph): self.graph}

    def aval(self, aval):
        """A type with its sizes as numbers."""
        found = self._avals.get(id(aval))
        if found is None:
            found = self._avals[id(aval)] = Aval(replaced(aval.shape, self.give), aval.dtype)
        return found

    def mapped(self, x):
        """Anything that refers to values and nodes of the graph, over the copy."""
        kind = type(x)
        if kind is Value:
            return self.values[x]
        if kind is int or kind is str:
            return x
        if kind is tuple:
            return tuple([self.mapped(v) for v in x])
        if kind is list:
            return [self.mapped(v) for v in x]
        if kind is dict:
            return {self.mapped(k): self.mapped(v) for k, v in x.items()}
        if is_symbol(x):
            return self.give(x)
        if kind is Node:
            return self.nodes[x]
        if kind is Group:
            return BoundGroup(x, self)
        found = self.known.get(id(x))
        if found is not None:
            return found
        if isinstance(x, tuple):
            return kind(*[self.mapped(v) for v in x])
        if kind in _PLAIN or not is_dataclass(x):
            return x
        made = self.known[id(x)] = copy(x)
        for f in fields(x):
            object.__setattr__(made, f.name, self.mapped(getattr(x, f.name)))
        return made


class BoundGroup:
    """A group with numbers in the place of sizes, made when somebody wants to see what a kernel computes."""

    def __init__(self, group: Group, over: _Copy):
        self._group, self._over = group, over

    def __getattr__(self, name):
        if name.startswith("__") or "_group" not in self.__dict__:
            raise AttributeError(name)
        value = getattr(self._group, name)
        if name == "body" and value is not None:
            value = self._body(value)
        elif name != "refused":
            value = self._over.mapped(value)
        self.__dict__[name] = value
        return value

    def _body(self, x):
        """A body with what is asked of it once it has become a kernel."""
        made, mapped = copy(x), self._over.mapped
        made.shape, made.row_shape, made.row_pattern = mapped((x.shape, x.row_shape, x.row_pattern))
        made.loads = {mapped(key): i for key, i in x.loads.items()}
        made.results = {mapped(v): t for v, t in x.results.items()}
        made.rows = {mapped(v) for v in x.rows}
        made.nodes = frozenset(map(mapped, x.nodes))
        return made
