"""`export.unflatten`: a program as a hierarchy of modules again, with the paths that its parameters and buffers have.

The recorded graph is shared out over the calls of modules that it notes: each module gets the operators of its own and calls
those below it. What passes between them are the values that one makes and another reads, unless a signature was kept: then it
is what the module took and gave.
"""

import operator
from typing import Any

from ....ir.errors import ArgumentError, DTypeError
from ....ir.symbols.symbolic import is_symbol
from ....runtime.autograd.grad_mode import no_grad
from ....runtime.nn.base.module import Module
from ....runtime.nn.base.parameter import Parameter
from ...errors.extents import extent_of, parsed
from ...fx.graph import Graph
from ...fx.graph_module import GraphModule
from ...fx.node import has_side_effect, map_arg
from ..capture import treespec
from ..capture.module_calls import path_with
from .fx_graph import AsFx, Formula, named_size


@has_side_effect
def write_buffer(buffer, value):
    """Gives a buffer its next value."""
    with no_grad():
        buffer.copy_(value)


def leaves_of(result) -> list:
    """The tensors in what a module gave, in order."""
    tensors: list = []
    treespec.describe(result, tensors, [])
    return tensors


class InterpreterModule(GraphModule):
    """A module of an unflattened program: its graph calls operators and the modules below it."""

    @property
    def graph_module(self) -> GraphModule:
        """The module itself."""
        return self


class StructuredModule(InterpreterModule):
    """One that takes and gives what the module it was made from did.

    path        of the module
    arguments   the structure of (args, kwargs)
    places      which of the tensors in them the graph takes
    results     the structure of what it gives
    """

    path: str
    arguments: dict
    places: tuple
    results: dict

    def recompile(self):
        """Makes the function of the graph anew; calls go through the structures."""
        made = super().recompile()
        kind: Any = type(self)
        kind.run_flat, kind.forward = kind.forward, kind.run_structured
        return made

    def run_structured(self, *args, **kwargs):
        """A call."""
        tensors = self.tensors_of(args, kwargs)
        found = self.run_flat(*[treespec.as_tensor(tensors[i]) for i in self.places])     # type: ignore[attr-defined]
        return treespec.rebuild(self.results, found)

    def tensors_of(self, args, kwargs) -> list:
        """The tensors of a call, in order."""
        tensors: list = []
        if treespec.describe((args, kwargs), tensors, []) != self.arguments:
            raise DTypeError(f"the module {self.path} takes arguments of the structure that it was exported with")
        return tensors


class UnflattenedModule(StructuredModule):
    """A program as modules. Replace one whose signature was kept by any other of the same signature."""

    tensors_of: Any


def unflattened(model, tensors_of) -> UnflattenedModule:
    """A program as modules, with copies of its weights; `tensors_of(args, kwargs)` gives the tensors in arguments, in order."""
    whole, kinds = AsFx(model), model.kinds
    names = dict.fromkeys((*kinds, *whole.weights.values(), *whole.state.values()))
    tensors = {name: _copied(model.weights[name], kinds.get(name)) for name in names}
    passing = frozenset([name for name in tensors if kinds.get(name) not in ("parameter", "buffer")])
    return Unflattening(whole, tensors, passing).root(tensors_of)


def _copied(t, kind):
    made = t.detach().clone()
    return Parameter(made, requires_grad=made.dtype.is_inexact) if kind == "parameter" else made


class Part:
    """A call of a module: its name, and nodes and parts within, in order."""

    def __init__(self, name: str, path: str):
        self.name, self.path, self.items = name, path, []      # type: ignore[var-annotated]
        self.nodes: set = set()          # all that it makes, in parts within as well

    def reaches(self, path: str) -> bool:
        """Whether something at a path lies below the module."""
        return not self.path or path.startswith(self.path + ".")

    def within(self, path: str) -> str:
        """A path below it, from there."""
        return path[len(self.path) + 1:] if self.path else path


class Unflattening:
    """The work on one program. `passing` are the names of tensors that are in no state_dict."""

    def __init__(self, whole: AsFx, tensors: dict, passing: frozenset):
        self.whole, self.recorded, self.tensors, self.passing = whole, whole.recorded, tensors, passing
        self.named = {**whole.weights, **whole.state}
        self.made: dict = {}              # path -> [(what its graph does, the module)]
        self.top = self._parts()
        whole.graph.output(tuple(whole.results))

    def root(self, tensors_of) -> UnflattenedModule:
        """The program."""
        signature, count = self.whole.signature, len(self.whole.results) - len(self.whole.signature.state)
        graph, env, targets = self._filled(self.top, self.whole.arguments)
        for name, value in zip(signature.state, self.whole.results[count:]):
            targets[name] = self.tensors[name]
            graph.call_function(write_buffer, (graph.get_attr(name), env(value)))
        graph.output([env(n) for n in self.whole.results[:count]])
        made = UnflattenedModule.__new__(UnflattenedModule)
        made.__dict__.update(path="", arguments=signature.arguments, places=tuple(range(len(self.whole.arguments))),
                             results=signature.results, tensors_of=tensors_of)
        fields = dict(made.__dict__)
        GraphModule.__init__(made, targets, graph, "UnflattenedModule")
        made.__dict__.update(fields)
        self._add_others(made)
        return made

    # Sharing out.

    def _parts(self) -> Part:
        """The calls, as the order of nodes has them: what belongs to one that is over belongs to the one under way."""
        open_, closed = [Part("", "")], set()
        for node in self.whole.graph.nodes:
            if node.op == "placeholder":
                continue
            around = [name for name in self.recorded.around(self.whole.calls.get(node, "")) if self.recorded.calls[name].path]
            if not closed.intersection(around):
                same = 0
                while same < min(len(around), len(open_) - 1) and open_[same + 1].name == around[same]:
                    same += 1
                closed |= {part.name for part in open_[same + 1:]}
                del open_[same + 1:]
                for name in around[same:]:
                    part = Part(name, self.recorded.calls[name].path)
                    open_[-1].items.append(part)
                    open_.append(part)
            open_[-1].items.append(node)
            for part in open_:
                part.nodes.add(node)
        return open_[0]

    def _weight(self, node, part: Part):
        """The path below a part's module of the weight that a node stands for, or None."""
        name = self.named.get(node)
        found = None if name is None else path_with(self.recorded.aliases, name, part.reaches)
        return None if found is None else part.within(found)

    def _inputs(self, part: Part) -> list:
        """What a part reads that is neither made nor kept in it, in order."""
        found: dict = {}
        for item in part.items:
            read = self._inputs(item) if isinstance(item, Part) else item.all_input_nodes
            found.update(dict.fromkeys([n for n in read if n not in part.nodes and self._weight(n, part) is None]))
        return list(found)

    @staticmethod
    def _outputs(part: Part) -> list:
        """What others read of what a part makes."""
        return [n for n in next(iter(part.nodes)).graph.nodes if n in part.nodes and any(u not in part.nodes for u in n.users)]

    # Making.

    def _filled(self, part: Part, inputs, sizes=None) -> tuple:
        """(a graph with the steps of a part, what gives its node for one of the whole graph, {target in it: what is there})"""
        graph, nodes, targets = Graph(), {}, {}     # type: ignore[var-annotated]
        for n in inputs:
            nodes[n] = graph.placeholder(n.name)
            nodes[n].meta = dict(n.meta)
        for n, (t, *place) in (sizes or {}).items():
            nodes[n] = graph.call_function(named_size, (nodes[t], *place), name=n.name)

        def env(n):
            if n not in nodes:
                target = self._weight(n, part)
                targets[target] = self.tensors[self.named[n]]
                nodes[n] = graph.get_attr(target)
                nodes[n].meta = dict(n.meta)
            return nodes[n]

        for item in part.items:
            if isinstance(item, Part):
                self._call(graph, part, item, env, nodes, targets)
            else:
                nodes[item] = graph.node_copy(item, env)
        return graph, env, targets

    def _call(self, graph, part, inner, env, nodes, targets):
        """Adds the call of a part's module to the graph of the one around it."""
        kept = self.recorded.signatures.get(inner.name)
        module = self._module(inner) if kept is None else self._structured(inner, kept)
        target = self._target(part, inner, module, targets)
        outputs = self._outputs(inner)
        if kept is not None:
            args, kwargs = treespec.rebuild(kept.arguments, [env(self.whole.nodes[v]) for v in kept.takes])
            made = graph.call_module(target, args, kwargs)
            gives = [self.whole.nodes[v] for v in kept.gives]
            whole = graph.call_function(leaves_of, (made,))
            nodes.update({n: graph.call_function(operator.getitem, (whole, gives.index(n))) for n in outputs})
            return
        made = graph.call_module(target, tuple(map(env, self._inputs(inner))))
        if len(outputs) == 1:
            nodes[outputs[0]] = made
        else:
            nodes.update({n: graph.call_function(operator.getitem, (made, i)) for i, n in enumerate(outputs)})

    def _module(self, part: Part) -> InterpreterModule:
        """A module that takes and gives what passes between it and others; the one that was made for another call, where it
        does the same."""
        graph, env, targets = self._filled(part, self._inputs(part))
        outputs = [env(n) for n in self._outputs(part)]
        graph.output(outputs[0] if len(outputs) == 1 else tuple(outputs))
        return self._once(part, graph, targets, lambda: InterpreterModule(targets, graph, "InterpreterModule"))

    def _structured(self, part: Part, kept) -> InterpreterModule:
        """A module with the signature that was kept."""
        takes, gives = ([self.whole.nodes[v] for v in values] for values in (kept.takes, kept.gives))
        read = self._inputs(part)
        sizes = {n: place for n in read if n not in takes and (place := self._size_in(n, kept.takes)) is not None}
        inputs = list(dict.fromkeys([*[n for n in read if n not in sizes], *[t for t, *_ in sizes.values()]]))
        hidden = [n for n in inputs if n not in takes]
        if hidden:
            raise ArgumentError(f"the module {part.path} reads {hidden[0]}, which it does not take as an argument: its "
                                "signature cannot be kept")
        if not set(self._outputs(part)) <= set(gives):
            raise ArgumentError(f"what the module {part.path} makes is read otherwise than by its result (it writes to what it "
                                "is given, or keeps it): its signature cannot be kept")
        inputs += [n for n in gives if n in takes and n not in inputs and n not in part.nodes]
        graph, env, targets = self._filled(part, inputs, sizes)
        if not set(gives) <= {*part.nodes, *takes}:
            raise ArgumentError(f"the module {part.path} gives a tensor that it has neither made nor taken: its signature "
                                "cannot be kept")
        graph.output([env(n) for n in gives])
        made = StructuredModule.__new__(StructuredModule)
        fields = {"path": part.path, "arguments": kept.arguments, "places": tuple(map(takes.index, inputs)),
                  "results": kept.results}

        def make():
            made.__dict__.update(fields)
            GraphModule.__init__(made, targets, graph, "InterpreterModule")
            made.__dict__.update(fields)
            return made

        found = self._once(part, graph, targets, make)
        if {name: getattr(found, name) for name in fields} != fields or len(self.made[part.path]) > 1:
            raise ArgumentError(f"the module {part.path} is called in several ways: its signature cannot be kept")
        return found

    def _size_in(self, node, values):
        """(the node of one of some values, dim, how it follows) where that says how large the named size of a node is."""
        if node.target is named_size:
            name = extent_of(node.args[2]).name
            for v in values:
                for dim, n in enumerate(v.aval.shape):
                    said = parsed(n.text) if is_symbol(n) else None
                    if said is not None and said.name == name:
                        return self.whole.nodes[v], dim, n.text
        return None

    def _once(self, part, graph, targets, make):
        """The module for a part: one for all calls that do the same with the same tensors."""
        key = _key(graph, targets)
        known = self.made.setdefault(part.path, [])
        found = next((module for other, module in known if other == key), None)
        if found is None:
            found = make()
            self._mark_passing(found)
            known.append((key, found))
        return found

    def _target(self, part, inner, module, targets) -> str:
        """Where a module lies below the one around it: at its path, others for later calls with their number behind."""
        path = path_with(self.recorded.aliases, inner.path, part.reaches)
        number = [m for _, m in self.made[inner.path]].index(module)
        target = (part.within(path) if path is not None else inner.path.replace(".", "_")) + (f"@{number}" if number else "")
        targets[target] = module
        return target

    # What the graph does not name.

    def _mark_passing(self, module):
        """Buffers that are in no state_dict."""
        names = {id(self.tensors[name]) for name in self.passing}
        for m in module.modules():
            m._non_persistent_buffers_set.update([key for key, t in m._buffers.items() if id(t) in names])

    def _add_others(self, root):
        """The other names of tensors and modules, and tensors that nothing reads where they lie."""
        for name in self.tensors:
            _put(root, name, self.tensors[name])
        for alias, name in self.recorded.aliases.items():
            found = self.tensors.get(name)
            found = found if found is not None else next((m for p, m in root.named_modules() if p == name), None)
            if found is not None:
                _put(root, alias, found)
        self._mark_passing(root)
        self._in_order(root, "")

    def _in_order(self, module, path):
        """Puts modules in the order in which their parameters were, those without last."""
        for name, child in module._modules.items():
            self._in_order(child, f"{path}{name}.")
        names = [*self.tensors]
        first = lambda pair: next((i for i, name in enumerate(names) if name.startswith(f"{path}{pair[0]}.")), len(names))
        children = sorted(module._modules.items(), key=first)
        module._modules.clear()
        module._modules.update(children)


def _put(root, path, thing):
    """Enters a tensor or a module at a path, unless something is there."""
    *way, name = path.split(".")
    module = root
    for part in way:
        if part not in module._modules:
            module.add_module(part, Module())
        module = module._modules[part]
    if name in module._modules or name in module._parameters or name in module._buffers:
        return
    if isinstance(thing, (Module, Parameter)):
        setattr(module, name, thing)
    else:
        module.register_buffer(name, thing)


def _key(graph, targets) -> tuple:
    """What a graph does, to compare."""
    number = {n: i for i, n in enumerate(graph.nodes)}
    refer = lambda n: ("node", number[n])
    rows = []
    for n in graph.nodes:
        target = id(targets[n.target]) if n.op in ("get_attr", "call_module") else n.op if n.op == "placeholder" else n.target
        rows.append((n.op, target if isinstance(target, (int, str, Formula)) else id(target),
                     repr(map_arg((n.args, n.kwargs), refer))))
    return tuple(rows)
