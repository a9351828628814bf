"""Specialises a symbolic graph or arrangement to known sizes.

    binder = Binder(plan)                # once
    binder.bind({"b": 8, "s": 16})       # for given sizes: a copy in which each size is a number

An arrangement of a symbolic graph is made once, with all slow work: passes, fusion, kernels, whose text does not name sizes.
Only the memory of a copy remains to be placed. A copy with `shares` holds only the reads and writes of steps; parts without
sizes are the arrangement's own, and the rest of its graph is made at first access.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import fields, is_dataclass, replace
from typing import Any

from ...ir.cached_property import cached_property
from ...ir.graph.graph import Graph, Node, Update, Value
from ...ir.kernel.kernel import Kernel
from ...ir.opdef.aval import Aval
from ...ir.symbols.substitute import evaluator, has_symbols, replaced, valuer
from ...ir.symbols.symbolic import SymInt, is_symbol, names_of
from ..codegen.epilogue_program import EpilogueProgram
from ..fusion.fuse import Group
from ..fusion.lower import Lowered
from ..rewrite.kernel_body import is_free
from .plan_steps import Plan

_PLAIN = frozenset((Kernel, EpilogueProgram, Graph))


def bind_graph(graph: Graph, values: dict) -> Graph:
    """Return the graph with `values` for its names."""
    return Binder(Plan(graph, (), {})).bind(values).graph if graph.symbols else graph


def _parts_of(kind: type) -> Any:
    """Return the names of an object's attributes that refer to values and nodes, or None."""
    if kind not in _PARTS:
        _PARTS[kind] = frozenset([f.name for f in fields(kind)]) if is_dataclass(kind) and kind not in _PLAIN else None
    return _PARTS[kind]


_PARTS: dict = {}       # by type


class Binder:
    """The maker of copies of an arrangement for given sizes.

    shares   whether a copy shares the parts without sizes, rather than copying them
    steps    those that all copies share then
    """

    def __init__(self, plan: Plan, shares: bool = False):
        self.plan, self.shares = plan, shares
        symbols = dict(plan.graph.symbols)
        _collect(plan.steps, symbols)
        self.keys = tuple(symbols)
        self.names = sorted(frozenset().union(*map(names_of, symbols.values())))
        self.evaluate = evaluator(symbols.values(), self.names)
        self.fixed: Any = _Fixed(plan.graph if shares else None)
        self.steps = frozenset([s for s in plan.steps if shares and self.fixed.holds(s)])
        self.shared = {id(s): s for s in self.fixed.fixed_objects}

    def bind(self, values: dict) -> Plan:
        """Return the arrangement for `values` of the names."""
        return self.copies(values).mapped(self.plan)

    def copies(self, values: dict) -> "Copies":
        """Return a maker of copies of the arrangement's parts for `values` of the names."""
        known: dict = {}
        other = valuer(values, values.values())

        def give(x):
            if not known:           # a copy of which nothing is asked evaluates nothing
                known.update(zip(self.keys, self.evaluate(*[values[n] for n in self.names])))
            found = known.get(x.poly if type(x) is SymInt else x.text)
            return other(x) if found is None else found

        return Copies(self, give)


class _Fixed:
    """The parts of a graph that no size changes: values, nodes, and the `fixed_objects` found so far."""

    def __init__(self, graph: Graph | None):
        self.values: set = set()
        self.nodes: set = set()
        self.fixed_objects: list = []
        self._known: dict = {}
        if graph is None:
            return
        self.values.update([v for v in graph.inputs if not v.aval.is_symbolic])
        for n in graph.nodes:
            plain = [v for v in n.outputs if not v.aval.is_symbolic]
            if (len(plain) == len(n.outputs) and self.values.issuperset([x for x in n.inputs if type(x) is Value])
                    and not has_symbols(n.inputs) and not any(map(has_symbols, n.params.values()))):
                self.nodes.add(n)
            self.values.update([v for v in plain if n in self.nodes or not is_free(v)])

    def holds(self, x: Any) -> bool:
        """Return whether no size changes something that refers to values and nodes."""
        kind = type(x)
        if kind is Value:
            return x in self.values
        if kind is Node:
            return x in self.nodes
        if kind in (tuple, list) or isinstance(x, tuple):
            return all(map(self.holds, x))
        if kind is dict:
            return all(map(self.holds, (*x, *x.values())))
        if is_symbol(x):
            return False
        names = _parts_of(kind)
        if names is None:
            return True
        found = self._known.get(id(x))
        if found is None:
            parts = (x.nodes, x.shape) if kind is Group else tuple([getattr(x, name) for name in names])
            found = self._known[id(x)] = self.holds(parts)
            if found:
                self.fixed_objects.append(x)
        return found


def _collect(x: Any, symbols: dict):
    """Enter the symbolic numbers of steps, but for those of their groups."""
    stack, seen = [x], set()
    while stack:
        x = stack.pop()
        if is_symbol(x):
            symbols.setdefault(x.poly if type(x) is SymInt else x.text, x)
        elif isinstance(x, (tuple, list)):
            stack.extend(x)
        elif type(x) is dict:
            stack.extend(x.values())
        elif type(x) is not Group and _parts_of(type(x)) is not None and id(x) not in seen:
            seen.add(id(x))
            stack.extend([getattr(x, name) for name in _parts_of(type(x))])


class Copies:
    """Copies of a graph's parts, and of objects that refer to them, with numbers for symbols, made on demand."""

    def __init__(self, binder: Binder, give: Callable):
        self.give, self._fixed, self._avals = give, binder.fixed, {}
        self.values: dict = {}
        self.nodes: dict = {}
        self.known: dict = dict(binder.shared)
        self._graph, self._shares = binder.plan.graph, binder.shares

    @cached_property
    def graph(self):
        """Return the graph; where copies share parts, its nodes are made at first access."""
        return BoundGraph(self._graph, self) if self._shares else self.whole(self._graph)

    def aval(self, aval):
        if not aval.is_symbolic:
            return aval
        found = self._avals.get(id(aval))
        if found is None:
            found = self._avals[id(aval)] = Aval(replaced(aval.shape, self.give), aval.dtype)
        return found

    def value(self, v: Value) -> Value:
        """Return a value's copy. Its node is the copy only for views and fills, and once the whole graph is made."""
        found = self.values.get(v)
        if found is None:
            if v in self._fixed.values:
                return v
            if is_free(v):
                self.node(v.node)
                return self.values[v]
            found = self.values[v] = Value(self.aval(v.aval), node=v.node, index=v.index, name=v.name)
        return found

    def node(self, n: Node) -> Node:
        found = self.nodes.get(n)
        if found is None:
            if n in self._fixed.nodes:
                return n
            operands = tuple([self.value(x) if type(x) is Value else replaced(x, self.give) for x in n.inputs])
            params = {k: replaced(v, self.give) for k, v in n.params.items()}
            found = self.nodes[n] = Node(n.op, operands, params, (), multi=n.multi, line=n.line)
            found.outputs = tuple([self._build(v, found) for v in n.outputs])
        return found

    def lowered(self, x: Lowered) -> Lowered:
        """Return a kernel on the copied values, with numbers for sizes and offsets."""
        if self._fixed.holds(x):
            return x
        operands = tuple([(v, replaced(offset, self.give), written) for v, offset, written in x.operands])
        return replace(x, operands=operands, symbols={name: replaced(n, self.give) for name, n in x.symbols.items()})

    def _build(self, v, node):
        if v not in self._fixed.values and v not in self.values:
            self.values[v] = Value(self.aval(v.aval), node=node, index=v.index)
        return self.value(v)

    def whole(self, graph: Graph) -> Graph:
        inputs = tuple([self.value(v) for v in graph.inputs])
        nodes = tuple([self.node(n) for n in graph.nodes])
        for n in nodes:
            for v in n.outputs:
                if v not in self._fixed.values:
                    v.node = n
        updates = tuple([Update(self.value(u.target), self.value(u.value)) for u in graph.updates])
        return Graph(graph.name, inputs, nodes, tuple([self.value(v) for v in graph.outputs]), updates)

    def mapped(self, x):
        """Return anything that refers to values and nodes of the graph, over the copy."""
        kind = type(x)
        if kind is Value:
            return self.value(x)
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
            return self.node(x)
        if kind is Group:
            return x if id(x) in self.known else BoundGroup(x, self)
        if x is self._graph:
            return self.graph
        found = self.known.get(id(x))
        if found is not None:
            return found
        if isinstance(x, tuple):
            return kind(*[self.mapped(v) for v in x])
        names = _parts_of(kind)
        if names is None:
            return x
        made = self.known[id(x)] = object.__new__(kind)
        for name, part in vars(x).items():
            object.__setattr__(made, name, self.mapped(part) if name in names else part)
        return made


class BoundGraph:
    """A graph with numbers in place of sizes: inputs and results at once, nodes at first access."""

    def __init__(self, graph: Graph, over: Copies):
        self._graph, self._over = graph, over
        self.inputs = tuple([over.value(v) for v in graph.inputs])
        self.outputs = tuple([over.value(v) for v in graph.outputs])

    def __getattr__(self, name):
        if name.startswith("__") or "_over" not in self.__dict__:
            raise AttributeError(name)
        if name == "whole":
            value = self.__dict__[name] = self._over.whole(self._graph)
            return value
        return getattr(self.whole, name)


class BoundGroup:
    """A group with numbers in place of sizes, built at first access to its kernel's computation."""

    def __init__(self, group: Group, over: Copies):
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
        """Return a body with the attributes that are used after it became a kernel."""
        made, mapped = copy(x), self._over.mapped
        made.shape, made.row_shape, made.row_pattern = mapped((x.shape, x.row_shape, x.row_pattern))
        made.loads = {mapped(key): i for key, i in x.loads.items()}
        made.results = {mapped(v): t for v, t in x.results.items()}
        made.rows = {mapped(v) for v in x.rows}
        made.nodes = frozenset(map(mapped, x.nodes))
        return made
