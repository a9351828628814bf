"""`export.unflatten`: rebuild a hierarchy of modules from a program, and list its module calls.

The recorded graph is divided among its module calls: each module gets its own operators and calls the modules below it. Values
that one makes and another reads become arguments and results. A preserved signature fixes both instead.
"""

import operator
from dataclasses import dataclass
from typing import Any

from ....ir.errors import ArgumentError, DTypeError
from ....ir.graph.printer import value_names
from ....ir.symbols.symbolic import is_symbol
from ....runtime.autograd.grad_mode import no_grad
from ....runtime.nn.base.module import Module
from ....runtime.nn.base.parameter import Parameter
from ....runtime.pytree.pytree import tree_flatten, tree_structure
from ....runtime.pytree.treespec import TreeSpec
from ...errors.extents import extent_of, parsed
from ...fx.graph import Graph
from ...fx.graph_module import GraphModule
from ...fx.node import has_side_effect, map_arg
from ..capture import treespec
from ..capture.module_calls import path_with
from .fx_graph import AsFx, Formula, named_size
from .graph_signature import ConstantArgument, TensorArgument
from .graph_signature import leaves as leaves_in


@has_side_effect
def write_buffer(buffer, value):
    """Write a buffer's next value."""
    with no_grad():
        buffer.copy_(value)


def leaves_of(result) -> list:
    """Return the tensors in a module's result, in order."""
    tensors: list = []
    treespec.describe(result, tensors, [])
    return tensors


class InterpreterModule(GraphModule):
    """A module of an unflattened program: its graph calls operators and the modules below it."""

    @property
    def graph_module(self) -> GraphModule:
        return self


class StructuredModule(InterpreterModule):
    """A module with the arguments and results of the original one.

    path        of the module
    arguments   structure of (args, kwargs)
    positions   numbers of their tensors that the graph takes
    results     structure of the result
    """

    path: str
    arguments: dict
    positions: tuple
    results: dict

    def recompile(self):
        """Compile the function of the graph; calls pass through the structures."""
        made = super().recompile()
        kind: Any = type(self)
        kind.run_flat, kind.forward = kind.forward, kind.run_structured
        return made

    def run_structured(self, *args, **kwargs):
        tensors = self.tensors_of(args, kwargs)
        found = self.run_flat(*[treespec.as_tensor(tensors[i]) for i in self.positions])     # type: ignore[attr-defined]
        return treespec.rebuild(self.results, found)

    def tensors_of(self, args, kwargs) -> list:
        tensors: list = []
        if treespec.describe((args, kwargs), tensors, []) != self.arguments:
            raise DTypeError(f"the module {self.path} takes arguments of the structure that it was exported with")
        return tensors


class UnflattenedModule(StructuredModule):
    """A program as modules. A module with a preserved signature may be replaced by another of the same signature."""

    tensors_of: Any


def unflattened(model, tensors_of) -> UnflattenedModule:
    """Return a program as modules, with copies of its weights.

    `tensors_of(args, kwargs)` returns the tensors in arguments, in order.
    """
    whole, kinds = AsFx(model), model.kinds
    names = dict.fromkeys((*kinds, *whole.weights.values(), *whole.state.values()))
    tensors = {name: _copied(model.weights[name], kinds.get(name)) for name in names}
    passing = frozenset([name for name in tensors if kinds.get(name) not in ("parameter", "buffer")])
    return Unflattening(whole, tensors, passing).root(tensors_of)


def _copied(t, kind):
    made = t.detach().clone()
    return Parameter(made, requires_grad=made.dtype.is_inexact) if kind == "parameter" else made


class Part:
    """A module call: its name, and its nodes and inner parts, in order."""

    def __init__(self, name: str, path: str):
        self.name, self.path, self.items = name, path, []      # type: ignore[var-annotated]
        self.nodes: set = set()          # all nodes, including those of inner parts

    def reaches(self, path: str) -> bool:
        """Return whether something at a path lies below the module."""
        return not self.path or path.startswith(self.path + ".")

    def within(self, path: str) -> str:
        return path[len(self.path) + 1:] if self.path else path


class Unflattening:
    """Division of one program into modules. `passing` are the names of tensors that are in no state_dict."""

    def __init__(self, whole: AsFx, tensors: dict, passing: frozenset):
        self.whole, self.recorded, self.tensors, self.passing = whole, whole.recorded, tensors, passing
        self.named = {**whole.weights, **whole.state}
        self.modules: dict = {}              # path -> [(key of its graph, the module)]
        self.top = self._parts()
        whole.graph.output(tuple(whole.results))

    def root(self, tensors_of) -> UnflattenedModule:
        signature, count = self.whole.signature, len(self.whole.results) - len(self.whole.signature.state)
        graph, env, targets = self._filled(self.top, self.whole.arguments)
        for name, value in zip(signature.state, self.whole.results[count:]):
            targets[name] = self.tensors[name]
            graph.call_function(write_buffer, (graph.get_attr(name), env(value)))
        graph.output([env(n) for n in self.whole.results[:count]])
        made = UnflattenedModule.__new__(UnflattenedModule)
        made.__dict__.update(path="", arguments=signature.arguments, positions=tuple(range(len(self.whole.arguments))),
                             results=signature.results, tensors_of=tensors_of, __signature__=signature.of_python())
        fields = dict(made.__dict__)
        GraphModule.__init__(made, targets, graph, "UnflattenedModule")
        made.__dict__.update(fields)
        self._add_others(made)
        return made

    # Division into parts.

    def _parts(self) -> Part:
        """Return the tree of module calls in the order of nodes. Nodes of a call that has ended belong to the current one."""
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
        """Return the path, relative to a part's module, of the weight of a node, or None."""
        name = self.named.get(node)
        found = None if name is None else path_with(self.recorded.aliases, name, part.reaches)
        return None if found is None else part.within(found)

    def _inputs(self, part: Part) -> list:
        """Return the values that a part reads and neither makes nor holds, in order."""
        found: dict = {}
        for item in part.items:
            read = self._inputs(item) if isinstance(item, Part) else item.all_input_nodes
            found.update(dict.fromkeys([n for n in read if n not in part.nodes and self._weight(n, part) is None]))
        return list(found)

    @staticmethod
    def _outputs(part: Part) -> list:
        """Return the values of a part that others read."""
        return [n for n in next(iter(part.nodes)).graph.nodes if n in part.nodes and any(u not in part.nodes for u in n.users)]

    # Graphs and modules.

    def _filled(self, part: Part, inputs, sizes=None) -> tuple:
        """Return (a graph with the steps of a part, the map from nodes of the whole graph, {target: module or tensor})."""
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
        signature = self.recorded.signatures.get(inner.name)
        module = self._module(inner) if signature is None else self._structured(inner, signature)
        target = self._target(part, inner, module, targets)
        outputs = self._outputs(inner)
        if signature is not None:
            args, kwargs = treespec.rebuild(signature.arguments, [env(self.whole.nodes[v]) for v in signature.takes])
            made = graph.call_module(target, args, kwargs)
            gives = [self.whole.nodes[v] for v in signature.gives]
            whole = graph.call_function(leaves_of, (made,))
            nodes.update({n: graph.call_function(operator.getitem, (whole, gives.index(n))) for n in outputs})
            return
        made = graph.call_module(target, tuple(map(env, self._inputs(inner))))
        if len(outputs) == 1:
            nodes[outputs[0]] = made
        else:
            nodes.update({n: graph.call_function(operator.getitem, (made, i)) for i, n in enumerate(outputs)})

    def _module(self, part: Part) -> InterpreterModule:
        """Return a module whose arguments and results are the values it exchanges; calls that do the same share one module."""
        graph, env, targets = self._filled(part, self._inputs(part))
        outputs = [env(n) for n in self._outputs(part)]
        graph.output(outputs[0] if len(outputs) == 1 else tuple(outputs))
        return self._once(part, graph, targets, lambda: InterpreterModule(targets, graph, "InterpreterModule"))

    def _structured(self, part: Part, signature) -> InterpreterModule:
        takes, gives = ([self.whole.nodes[v] for v in values] for values in (signature.takes, signature.gives))
        read = self._inputs(part)
        sizes = {n: place for n in read if n not in takes and (place := self._size_in(n, signature.takes)) is not None}
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
        fields = {"path": part.path, "arguments": signature.arguments, "positions": tuple(map(takes.index, inputs)),
                  "results": signature.results}

        def make():
            made.__dict__.update(fields)
            GraphModule.__init__(made, targets, graph, "InterpreterModule")
            made.__dict__.update(fields)
            return made

        found = self._once(part, graph, targets, make)
        if {name: getattr(found, name) for name in fields} != fields or len(self.modules[part.path]) > 1:
            raise ArgumentError(f"the module {part.path} is called in several ways: its signature cannot be kept")
        return found

    def _size_in(self, node, values):
        """Return (node, dim, formula) of a value whose dim determines the named size of a node, or None."""
        if node.target is named_size:
            name = extent_of(node.args[2]).name
            for v in values:
                for dim, n in enumerate(v.aval.shape):
                    extent = parsed(n.text) if is_symbol(n) else None
                    if extent is not None and extent.name == name:
                        return self.whole.nodes[v], dim, n.text
        return None

    def _once(self, part, graph, targets, make):
        """Return the module of a part; calls that do the same with the same tensors share one."""
        key = _key(graph, targets)
        known = self.modules.setdefault(part.path, [])
        found = next((module for other, module in known if other == key), None)
        if found is None:
            found = make()
            self._mark_passing(found)
            known.append((key, found))
        return found

    def _target(self, part, inner, module, targets) -> str:
        """Return the name of a module in the enclosing one: its path, with a number for further modules at this path."""
        path = path_with(self.recorded.aliases, inner.path, part.reaches)
        number = [m for _, m in self.modules[inner.path]].index(module)
        target = (part.within(path) if path is not None else inner.path.replace(".", "_")) + (f"@{number}" if number else "")
        targets[target] = module
        return target

    # Names that the graph does not have.

    def _mark_passing(self, module):
        names = {id(self.tensors[name]) for name in self.passing}
        for m in module.modules():
            m._non_persistent_buffers_set.update([key for key, t in m._buffers.items() if id(t) in names])

    def _add_others(self, root):
        """Add the other names of tensors and modules, and tensors that nothing reads."""
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
        """Sort modules by the order of their parameters, those without parameters last."""
        for name, child in module._modules.items():
            self._in_order(child, f"{path}{name}.")
        names = [*self.tensors]
        first = lambda pair: next((i for i, name in enumerate(names) if name.startswith(f"{path}{pair[0]}.")), len(names))
        children = sorted(module._modules.items(), key=first)
        module._modules.clear()
        module._modules.update(children)


def _put(root, path, thing):
    """Register a tensor or a module at a path, unless something is there."""
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
    number = {n: i for i, n in enumerate(graph.nodes)}
    refer = lambda n: ("node", number[n])
    rows = []
    for n in graph.nodes:
        target = id(targets[n.target]) if n.op in ("get_attr", "call_module") else n.op if n.op == "placeholder" else n.target
        rows.append((n.op, target if isinstance(target, (int, str, Formula)) else id(target),
                     repr(map_arg((n.args, n.kwargs), refer))))
    return tuple(rows)


__all__ = ["FlatArgsAdapter", "InterpreterModule", "ModuleCallEntry", "ModuleCallSignature", "UnflattenedModule", "unflatten"]


@dataclass
class ModuleCallSignature:
    """Arguments and results of a module: names of tensors in the graph, and the structures around them."""

    inputs: list
    outputs: list
    in_spec: TreeSpec
    out_spec: TreeSpec
    forward_arg_names: list | None = None

    def replace_all_uses_with(self, original_node, new_node):
        """Replace a node by another one, under the new name."""
        for arguments in (self.inputs, self.outputs):
            arguments[:] = [type(x)(new_node.name) if isinstance(x, TensorArgument) and x.name == original_node.name else x
                            for x in arguments]


@dataclass
class ModuleCallEntry:
    """A module that was called, by its path, with its signature if that was preserved."""

    fqn: str
    signature: ModuleCallSignature | None = None


class FlatArgsAdapter:
    """Base class of adapters for arguments whose structure differs from the export's."""

    def adapt(self, target_spec: TreeSpec, input_spec: TreeSpec, input_args: list, metadata: dict | None = None,
              obj: Any = None) -> list:
        """Return the leaves of (args, kwargs) that the program takes, made from the given ones."""
        raise NotImplementedError(f"{type(self).__name__} does not define adapt()")


def call_spec(known) -> tuple:
    """Return (the structure of arguments, that of results) of a signature, as treespecs."""
    arguments = treespec.rebuild(known.arguments, list(range(len(known.inputs))))
    return tree_structure(arguments), tree_structure(treespec.rebuild(known.results, list(range(len(known.outputs)))))


def module_calls(model) -> list:
    """Return the modules that a program called, each once, in order; the whole program first."""
    recorded, known = model.recorded, model.signature
    names = value_names(recorded.graph)
    ins, outs = call_spec(known)
    whole = ModuleCallSignature(leaves_in(known.arguments, known.inputs), leaves_in(known.results, known.outputs), ins, outs,
                                list(known.parameters))
    entries = {"": ModuleCallEntry("", whole)}
    for name, call in recorded.calls.items():
        signature = recorded.signatures.get(name)
        if call.path not in entries:
            entries[call.path] = ModuleCallEntry(call.path, None if signature is None else _signature(signature, names))
    return list(entries.values())


def _signature(signature, names) -> ModuleCallSignature:
    values = (signature.takes, signature.gives)
    taken, given = ([TensorArgument(names[v].removeprefix("%")) for v in side] for side in values)
    (inputs, in_spec), (outputs, out_spec) = _leaves(signature.arguments, taken), _leaves(signature.results, given)
    return ModuleCallSignature(inputs, outputs, in_spec, out_spec)


def _leaves(shape, tensors) -> tuple:
    found, spec = tree_flatten(treespec.rebuild(shape, tensors))
    return [x if isinstance(x, TensorArgument) else ConstantArgument("", x) for x in found], spec


def unflatten(module, flat_args_adapter: FlatArgsAdapter | None = None) -> UnflattenedModule:
    """Return a program as a hierarchy of modules at their original paths.

    They have copies of the parameters and buffers that the program reads, shared as before. A module that is called in several
    ways exists several times (`block@1`).

    A module at a path in `export(..., preserve_module_call_signature=...)` has the arguments and results of the original one,
    so another module with that signature may replace it: `unflatten(program).set_submodule("encoder", other)`. A tensor that a
    module passes on unchanged is read from its source.
    """
    model = module._model
    known = model.signature

    def tensors_of(args, kwargs):
        try:
            return known.arrays_of(args, kwargs)
        except DTypeError:
            if flat_args_adapter is None:
                raise
        target, (leaves, given) = call_spec(known)[0], tree_flatten((args, kwargs))
        adapted = flat_args_adapter.adapt(target, given, leaves)
        args, kwargs = target.unflatten(adapted)
        return known.arrays_of(args, kwargs)

    return unflattened(model, tensors_of)


def swap_modules(ep, modules_to_swap: dict) -> UnflattenedModule:
    """Return a program as modules, with replacements at paths whose signatures were preserved."""
    made = unflatten(ep)
    replaceable = {entry.fqn for entry in module_calls(ep._model) if entry.signature is not None} - {""}
    for path, module in modules_to_swap.items():
        if path not in replaceable:
            raise ArgumentError(f"the signature of {path!r} was not kept: name it in "
                                "export(..., preserve_module_call_signature=...)")
        if not isinstance(module, Module):
            raise ArgumentError(f"a module takes the place of {path!r}, got {type(module).__name__}")
        old = made.get_submodule(path)
        for owner in list(made.modules()):
            for name, child in owner._modules.items():
                if child is old:
                    setattr(owner, name, module)
    return made
