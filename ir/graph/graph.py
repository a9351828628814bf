"""Graphs: typed values in SSA form, made by a Builder and frozen once built.

    b = Builder("block")
    x = b.input("x", Aval((8, 64), float32))
    y = elementwise.mul(x, 2.0)      # records append nodes when they are called on values
    g = b.finish([y])

Operator records work on graph values as on tensors and arrays, so gradient rules and bodies of composites build graphs. Inside
a graph broadcasting and promotion are explicit: the builder adds `expand` and `cast`.
"""

import re
from collections.abc import Iterable, KeysView, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from .. import dtype as dt
from ..cached_property import cached_property
from ..dtype import DType
from ..errors import GraphError
from ..opdef.aval import Aval, broadcast_shapes, same_shape
from ..opdef.op import BINDERS, Op, count_words, operand_bounds
from ..opdef.params import canonical_param, canonical_params, param_key, params_key
from ..ops.core.elementwise import cast
from ..ops.core.elementwise_rules import NUMBERS
from ..ops.core.shape import LARGEST_LITERAL, constant, expand, full
from ..reference.scalar_functions import is_uniform
from ..symbols.substitute import collect
from ..symbols.symbolic import SymFloat, SymInt, names_of
from .printer import format_graph, format_node


class Value:
    """One value of a graph: an input, or a result of a node."""

    __slots__ = ("aval", "index", "name", "node", "number", "owner")

    def __init__(self, aval: Aval, *, node=None, index: int = 0, name: str = "", owner=None, number=None):
        self.aval = aval
        self.node = node        # the Node that makes it; None for an input
        self.index = index      # which of the node's results, or which input
        self.name = name        # of an input
        self.number = number    # the symbolic number that an input stands for, if it is one
        self.owner = owner      # the Builder while the graph is being built

    @property
    def shape(self) -> tuple:
        return self.aval.shape

    @property
    def dtype(self) -> DType:
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        return len(self.aval.shape)

    @property
    def is_input(self) -> bool:
        return self.node is None

    def __repr__(self):
        made = f"%{self.name}" if self.node is None else f"{self.node.op.name}[{self.index}]"
        return f"<value {made}: {self.aval!r}>"


class Node:
    """One operation: a record, its operands (values, Python numbers or None) and its results."""

    __slots__ = ("inputs", "line", "multi", "op", "outputs", "params")

    def __init__(self, op: Op, inputs: tuple, params: dict, avals: Sequence, *, multi: bool, line=None, owner=None):
        self.op = op
        self.inputs = inputs
        self.params = params
        self.multi = multi      # whether the record gives a tuple
        self.line = line        # (file, line number) of the user's frame, or None
        self.outputs = ((Value(avals[0], node=self, owner=owner),) if len(avals) == 1 else
                        tuple([Value(a, node=self, index=i, owner=owner) for i, a in enumerate(avals)]))

    @property
    def output(self) -> Value:
        return self.outputs[0]

    @property
    def result(self):
        """Return the record's result: one value, or a tuple of them."""
        return self.outputs if self.multi else self.outputs[0]

    @property
    def has_effect(self) -> bool:
        """Return whether the node has a side effect, so that it must stay where it is."""
        return "effect" in self.op.traits

    @property
    def is_pure(self) -> bool:
        """Return whether equal operands and parameters always give equal results."""
        return not self.op.traits & _IMPURE

    def __repr__(self):
        return f"<node {format_node(self)}>"


_IMPURE = frozenset(("effect", "random"))
_LITERALS = frozenset((*NUMBERS, SymInt, SymFloat))
_PRINTABLE = re.compile(r"[A-Za-z_.][A-Za-z0-9_.]*").fullmatch


@dataclass(frozen=True)
class Update:
    """A write: at the end, the storage behind input `target` holds `value`."""

    target: Value
    value: Value


@dataclass(frozen=True, eq=False)
class Graph:
    """A frozen program.

    inputs    arguments and captured tensors, in order
    nodes     in an order in which they can run
    outputs   what is returned
    updates   writes to the storage behind inputs, done after everything is computed

    Two graphs are equal if they compute the same in the same order: names and lines do not count.
    """

    name: str
    inputs: tuple
    nodes: tuple
    outputs: tuple
    updates: tuple = ()

    @cached_property
    def key(self) -> tuple:
        """Return a hashable description of everything but names and lines."""
        number = {v: i for i, v in enumerate(self.values())}

        def operand(x):
            return number.get(x, -1) if type(x) is Value else (param_key(x),)

        nodes = tuple([(n.op.name, tuple(map(operand, n.inputs)), params_key(n.params), tuple([v.aval.key for v in n.outputs]))
                       for n in self.nodes])
        return (tuple([v.aval.key for v in self.inputs]), nodes, tuple(map(operand, self.outputs)),
                tuple([(operand(u.target), operand(u.value)) for u in self.updates]))

    def __eq__(self, other):
        if not isinstance(other, Graph):
            return NotImplemented
        return self is other or self.key == other.key

    def __hash__(self):
        return self._hash

    @cached_property
    def _hash(self):
        return hash(self.key)

    def values(self) -> Iterable[Value]:
        """Return inputs, then every node's results in order."""
        yield from self.inputs
        for n in self.nodes:
            yield from n.outputs

    @cached_property
    def uses(self) -> dict:
        """Return the nodes that read each value (once per operand), in order. Returned and written values: `results`."""
        found: dict[Value, list[Node]] = {v: [] for v in self.values()}
        for n in self.nodes:
            for x in n.inputs:
                if type(x) is Value:
                    found[x].append(n)
        return {v: tuple(ns) for v, ns in found.items()}

    @cached_property
    def results(self) -> KeysView:
        """Return the values that leave the graph, returned or written, in the same order in every process."""
        return dict.fromkeys((*self.outputs, *(u.value for u in self.updates))).keys()

    @cached_property
    def symbols(self) -> dict:
        """Return the symbolic numbers in types, parameters and operands by key; empty for a graph of fixed sizes."""
        found: dict = {}
        for v in self.values():
            collect(v.aval.shape, found)
        for n in self.nodes:
            collect(n.inputs, found)
            for value in n.params.values():
                collect(value, found)
        return found

    @property
    def names(self) -> dict:
        """Return {name: value now} of the symbolic sizes and numbers."""
        found: dict = {}
        for x in self.symbols.values():
            found.update({name: x.scope.hints[name] for name in names_of(x)})
        return dict(sorted(found.items()))

    @cached_property
    def updated(self) -> dict:
        """Return the final value of each written input."""
        return {u.target: u.value for u in self.updates}

    def __str__(self):
        return format_graph(self)

    def __repr__(self):
        return f"<graph {self.name}: {len(self.inputs)} inputs, {len(self.nodes)} nodes, {len(self.outputs)} outputs>"

    def __len__(self):
        return len(self.nodes)

    def __deepcopy__(self, memo):
        return self


@cache
def _promotes(op: Op) -> bool:
    """Return whether an operator takes operands of one dtype."""
    return any(trait.startswith("takes_") for trait in op.traits)


class Builder:
    """The builder of one graph, node by node. `line` is the user's line that the next nodes carry."""

    def __init__(self, name: str = "graph"):
        self.name = name
        self.line: Any = None
        self.inputs: list[Value] = []
        self.nodes: list[Node] = []
        self.updates: dict[Value, Value] = {}
        self.finished = False
        self._names: set[str] = set()

    def input(self, name: str, aval: Aval, number=None) -> Value:
        """Add an input, which may stand for a symbolic number. Its name is made printable and unique."""
        v = Value(aval, index=len(self.inputs), name=self._unique(name), owner=self, number=number)
        self.inputs.append(v)
        return v

    def _unique(self, name):
        base = name
        if not _PRINTABLE(name):
            base = "".join(c if (c.isalnum() and c.isascii()) or c in "._" else "_" for c in name) or "arg"
            base = base if not base[0].isdigit() else "_" + base
        name, n = base, 1
        while name in self._names:
            name, n = f"{base}_{n}", n + 1
        self._names.add(name)
        return name

    def append(self, op: Op, args, params: dict):
        """Append one node; return the record's result: a value or a tuple of values."""
        self._check_open()
        operands = [self._operand(a) for a in args]
        if op.broadcasts:
            operands = self._align(op, operands)
        params = canonical_params(params, op.numbers)
        return self._add(op, tuple(operands), params).result

    def _add(self, op, operands, params):
        fewest, most = operand_bounds(op)
        if not fewest <= len(operands) <= most:
            raise GraphError(f"{op.name} takes {count_words(fewest, most)}, got {len(operands)}")
        given = op.infer(*[v.aval if type(v) is Value else v for v in operands], **params)
        multi = type(given) is tuple
        return self._put(op, operands, params, given if multi else (given,), multi, self.line)

    def _put(self, op, operands, params, avals, multi, line):
        node = Node(op, operands, params, avals, multi=multi, line=line, owner=self)
        self.nodes.append(node)
        return node

    def add_exactly(self, op: Op, operands, params: dict) -> Node:
        """Append one node as given, without expanding or casting operands."""
        self._check_open()
        return self._add(op, tuple([self._operand(a) for a in operands]), canonical_params(params, op.numbers))

    def call(self, op: Op, *args, **params):
        """Append one node in the form of a call, for operands that cannot dispatch (None, numbers)."""
        return self.append(op, args, params)

    def _check_open(self):
        if self.finished:
            raise GraphError(f"graph {self.name} is finished; nothing can be appended. Copy it with Builder.inline first")

    def _operand(self, a):
        if type(a) is Value:
            if a.owner is not self:
                raise GraphError(f"{a!r} belongs to another graph than {self.name}; bring it in with Builder.inline "
                                 "or as an input")
            return a
        if a is None or type(a) in _LITERALS:
            return a
        if isinstance(a, NUMBERS) and not isinstance(a, np.generic):
            return canonical_param(a)
        if isinstance(a, (np.ndarray, np.generic)):
            return self.constant(a)
        raise GraphError(f"an operand of a graph node is a value, a number, None or a small array, got {type(a).__name__}")

    def _align(self, op, operands):
        """Make dtype promotion and broadcasting of an elementwise operator explicit."""
        values = [v for v in operands if type(v) is Value]
        if len(values) < 2:
            return operands
        x, y = values[0].aval, values[1].aval
        if len(values) == 2 and x.dtype is y.dtype and same_shape(x.shape, y.shape):        # the common case
            return operands
        if len({v.dtype for v in values}) > 1 and _promotes(op):
            d = meeting_dtype(values)
            operands = [self.append(cast, (v,), {"dtype": d}) if type(v) is Value and v.dtype is not d else v for v in operands]
        if not all([same_shape(v.shape, values[0].shape) for v in values]):  # noqa: C419  (quicker than a generator)
            shape = broadcast_shapes(*(v.shape for v in values))
            operands = [v if type(v) is not Value or same_shape(v.shape, shape) else self.append(expand, (v,), {"shape": shape})
                        for v in operands]
        return operands

    def constant(self, array, dtype: DType | None = None) -> Value:
        """Append a literal: a number or a small array. Larger arrays must be inputs."""
        a = np.asarray(array, dtype.np if dtype else None)
        d = dt.from_numpy(a.dtype)
        if a.size > LARGEST_LITERAL and not is_uniform(a):
            raise GraphError(f"an array of {Aval(a.shape, d)} is too large for a literal (at most {LARGEST_LITERAL} elements); "
                             "make it an input")
        values = a.reshape(-1)[: 1 if is_uniform(a) else None].tolist()
        if len(values) == 1:
            return self.append(full, (None,), {"shape": a.shape, "value": values[0], "dtype": d})
        return self.append(constant, (None,), {"values": tuple(values), "shape": a.shape, "dtype": d})

    def update(self, target: Value, value: Value):
        """Let the storage behind input `target` hold `value` at the end; the last call counts."""
        if not target.is_input or target.aval != value.aval:
            raise GraphError(f"an update writes a value into an input of the same type, got {value!r} into {target!r}")
        self.updates[self._operand(target)] = self._operand(value)

    @contextmanager
    def at(self, line):
        """Let nodes appended inside carry `line`."""
        before, self.line = self.line, line
        try:
            yield self
        finally:
            self.line = before

    def copy(self, node: Node, operands) -> Node:
        """Append the same operation on other operands (values of this graph)."""
        operands = tuple(operands)
        if len(operands) == len(node.inputs) and all(map(_is_alike, operands, node.inputs)):
            return self.copy_like(node, operands)
        with self.at(node.line or self.line):
            return self._add(node.op, operands, node.params)

    def copy_into(self, env: dict, node: Node) -> Node:
        """Append the same operation on the values that `env` maps its operands to; enter its results in `env`."""
        new = self.copy(node, [env[x] if type(x) is Value else x for x in node.inputs])
        env.update(zip(node.outputs, new.outputs))
        return new

    def copy_like(self, node: Node, operands) -> Node:
        """Append the same operation on operands of the same types, without shape inference."""
        return self._put(node.op, tuple(operands), node.params, [v.aval for v in node.outputs], node.multi,
                         node.line or self.line)

    def copy_as(self, node: Node, operands, params: dict, avals) -> Node:
        """Append the same operation with other operands, parameters and types, which must agree, without shape inference."""
        return self._put(node.op, tuple(operands), params, avals, node.multi, node.line or self.line)

    def copy_inputs(self, graph: Graph) -> dict:
        """Add the inputs of another graph; return the map from its values to the new ones."""
        if self.inputs:
            return {v: self.input(v.name, v.aval, v.number) for v in graph.inputs}
        self.inputs = [Value(v.aval, index=i, name=v.name, owner=self, number=v.number) for i, v in enumerate(graph.inputs)]
        self._names = {v.name for v in self.inputs}
        return dict(zip(graph.inputs, self.inputs))

    def inline(self, graph: Graph, env: dict) -> dict:
        """Copy all nodes of a graph; `env` maps its values to those here. Nodes without a line take the current one."""
        for n in graph.nodes:
            self.copy_into(env, n)
        return env

    def finish(self, outputs: Iterable[Value]) -> Graph:
        """Return the frozen graph. The builder takes no more nodes."""
        outputs = tuple([self._operand(v) for v in outputs])
        self.finished = True
        updates = tuple([Update(t, v) for t, v in self.updates.items()])
        return Graph(self.name, tuple(self.inputs), tuple(self.nodes), outputs, updates)

    def finish_like(self, graph: Graph, env: dict) -> Graph:
        """Return the frozen graph with the outputs and updates of `graph`, as `env` maps them."""
        for u in graph.updates:
            self.update(env[u.target], env[u.value])
        return self.finish([env[v] for v in graph.outputs])


def _is_alike(a, b) -> bool:
    if type(a) is Value:
        return type(b) is Value and (a.aval is b.aval or a.aval == b.aval)
    return type(b) is not Value


def meeting_dtype(values) -> DType:
    """Return the promoted dtype of values: beside values with dimensions, 0-d ones count only if of a higher category."""
    ranks: list[Any] = [None, None]
    for v in values:
        rank = 0 if v.ndim else 1
        ranks[rank] = v.dtype if ranks[rank] is None else dt.promote_types(ranks[rank], v.dtype)
    return dt.promote_ranks(*ranks)


def bind_value(op: Op, args, params):
    """Bind a record on graph values: append to the builder that owns them."""
    owner = next(a.owner for a in args if type(a) is Value)
    return owner.append(op, args, params)


BINDERS[Value] = bind_value


def live_nodes(graph: Graph, also: Iterable[Value] = ()) -> set:
    """Return the nodes that outputs, updates, effects or the values `also` need."""
    live, stack = set(), [v.node for v in (*graph.results, *also) if v.node is not None]
    stack += [n for n in graph.nodes if n.has_effect]
    while stack:
        n = stack.pop()
        if n not in live:
            live.add(n)
            stack.extend(x.node for x in n.inputs if type(x) is Value and x.node is not None)
    return live
