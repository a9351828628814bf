"""The recorded graph of a program as an `fx.Graph`, with a node for each operator that calls its record."""

import operator
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from ....ir.errors import ShapeError
from ....ir.graph.graph import Value
from ....ir.graph.printer import format_place
from ....ir.opdef.op import OPS, Op
from ....ir.symbols.substitute import collect, hint, replaced, valuer
from ....ir.symbols.symbolic import names_of, source_of
from ....runtime.api.views.tensor_factories import empty
from ...errors.extents import extent_of
from ...fx.graph import Graph
from ...fx.graph_module import GraphModule
from ...fx.node import has_side_effect
from ..file.captured_graph import RecordedGraph


class Operator:
    """Callable record of an operator, the target of nodes."""

    __module__ = "ingot.ops"

    def __init__(self, record: Op):
        self.record, self.__name__, self.__qualname__ = record, record.name, record.name

    def __call__(self, *args, **params):
        return self.record.call(*args, **params)

    def __repr__(self):
        return f"ops.{self.__name__}"

    def __reduce__(self):
        return operator_named, (self.record.name,)

    def __deepcopy__(self, memo):
        return self


@lru_cache(None)
def operator_named(name: str) -> Operator:
    """Return the operator of a name, always the same object."""
    return Operator(OPS[name])


class Formula:
    """A number computed from named sizes; called with these."""

    def __init__(self, number):
        self.number, self.names = number, tuple(sorted(names_of(number)))
        self.text = number.text
        self.__name__ = "size"

    def __call__(self, *sizes):
        return valuer(self.names, sizes)(self.number)

    def __eq__(self, other):
        return type(other) is Formula and (self.text, self.names) == (other.text, other.names)

    def __hash__(self):
        return hash((self.text, self.names))

    def __repr__(self):
        return f"size({self.text})"

    def __deepcopy__(self, memo):
        return self


def named_size(t, dim: int, formula: str) -> int:
    """Return the named size from a dim of a tensor and its formula, such as "2*n+1"."""
    size = extent_of(formula).named(t.shape[dim])
    if size is None:
        raise ShapeError(f"no size gives {formula} = {t.shape[dim]}")
    return size


class ArgumentsCheck:
    """First step of a program: check that the graph holds for the sizes of its arguments.

    It was recorded for named sizes of 2 and more. Sizes 1 and 0 are accepted if their graph is the same.
    """

    __name__ = "check_arguments"

    def __init__(self, model, recorded: RecordedGraph):
        self.model, self.recorded = model, recorded
        self._known: dict = {}

    def __call__(self, *tensors):
        with_sizes = [SimpleNamespace(dtype=t._a.dtype, shape=tuple(t.shape)) for t in tensors]
        sizes = self.model.signature.check(with_sizes)
        key = tuple(sizes.values())
        if key not in self._known:
            variant = self.model.variant_for(sizes)
            self._known[key] = not variant.fixed or self.recorded.is_for(self.model, variant, sizes)
        if not self._known[key]:
            text = ", ".join([f"{name} = {n}" for name, n in sizes.items()])
            raise ShapeError(f"for {text} the program does something else than for larger sizes, which program.module() does; "
                             "its graph as modules is for larger ones")

    def __deepcopy__(self, memo):
        return self


class AsFx:
    """Builder of the fx graph. `nodes` maps values to nodes, `calls` maps nodes to their module calls."""

    def __init__(self, model):
        self.recorded: RecordedGraph = model.recorded
        self.signature = model.signature
        self.graph = Graph()
        self.nodes: dict = {}
        self.calls: dict = {}
        self._sizes: dict = {}        # by name
        self._numbers: dict = {}      # by formula and call
        self._add_inputs()
        if self.arguments:
            self.graph.call_function(has_side_effect(ArgumentsCheck(model, self.recorded)), tuple(self.arguments))
        live = self.recorded.live()
        for node in self.recorded.graph.nodes:
            if node in live:
                self._add(node)
        self.results = [self.nodes[v] for v in self.recorded.graph.outputs]

    def _add_inputs(self):
        """Add weights, then written buffers, then arguments, in the order of signatures."""
        inputs, count = self.recorded.graph.inputs, len(self.signature.inputs)
        own = count - len(self.signature.state)
        for v in (*inputs[count:], *inputs[own:count], *inputs[:own]):
            self.nodes[v] = node = self.graph.placeholder(v.name.replace(".", "_"))
            node.meta["val"] = _meta(v.aval)
        self.weights = {self.nodes[v]: name for v, name in zip(inputs[count:], self.recorded.weights)}
        self.state = {self.nodes[v]: name for v, name in zip(inputs[own:count], self.signature.state)}
        self.arguments = [self.nodes[v] for v in inputs[:own]]
        specs = zip(self.arguments, self.signature.inputs)
        self._declared_sizes = [(n, dim, text) for n, spec in specs for dim, text in enumerate(spec.shape) if type(text) is str]

    def _size(self, name):
        if name not in self._sizes:
            place = next(p for p in self._declared_sizes if extent_of(p[2]).name == name)
            with self.graph.inserting_after(self.arguments[-1].next):
                self._sizes[name] = self.graph.call_function(named_size, place, name=f"size_of_{name}")
        return self._sizes[name]

    def _number(self, number, call):
        """Return the node of a number computed from sizes, for one module call."""
        formula = Formula(number)
        if formula.text in formula.names:
            return self._size(formula.text)
        if (formula, call) not in self._numbers:
            made = self._numbers[formula, call] = self.graph.call_function(formula, tuple(map(self._size, formula.names)))
            self.calls[made] = call
        return self._numbers[formula, call]

    def _add(self, node):
        call = self.recorded.home_of(node)
        found: dict = {}
        collect((node.inputs, tuple(node.params.values())), found)
        numbers = {source_of(x): self._number(x, call) for x in found.values()}
        number = lambda x: numbers[source_of(x)]
        args = tuple([self.nodes[x] if type(x) is Value else replaced(x, number) for x in node.inputs])
        params = {name: replaced(x, number) for name, x in node.params.items()}
        made = self.graph.call_function(operator_named(node.op.name), args, params)
        self._describe(made, node, call)
        made.meta["val"] = tuple([_meta(v.aval) for v in node.outputs]) if node.multi else _meta(node.output.aval)
        self.nodes[node.outputs[0]] = made
        for i, v in enumerate(node.outputs if node.multi else ()):
            part = self.nodes[v] = self.graph.call_function(operator.getitem, (made, i))
            self._describe(part, node, call)
            part.meta["val"] = made.meta["val"][i]

    def _describe(self, result, node, call):
        around = self.recorded.around(call)
        self.calls[result] = call
        result.meta["nn_module_stack"] = {name: self.recorded.calls[name][:2] for name in around}
        if node.line:
            result.stack_trace = format_place(node.line, full_paths=True)


def graph_module(model) -> GraphModule:
    """Return the graph as a module: a function of weights, buffers and arguments.

    It returns next values of buffers, then results.
    """
    made = AsFx(model)
    count = len(made.results) - len(made.signature.state)
    made.graph.output((*made.results[count:], *made.results[:count]))
    return GraphModule({}, made.graph)


def _meta(aval) -> Any:
    return empty(tuple(map(hint, aval.shape)), dtype=aval.dtype, device="meta")


__all__ = ["AsFx", "Formula", "Operator", "graph_module", "named_size", "operator_named"]
