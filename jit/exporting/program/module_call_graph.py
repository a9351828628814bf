"""The modules that a program was made of: which of them it called, how, and the program as modules again."""

from dataclasses import dataclass
from typing import Any

from ....ir.errors import ArgumentError, DTypeError
from ....ir.graph.printer import value_names
from ....runtime.nn.base.module import Module
from ....runtime.pytree.pytree import tree_flatten, tree_structure
from ....runtime.pytree.treespec import TreeSpec
from ..capture import treespec
from .graph_signature import ConstantArgument, TensorArgument
from .graph_signature import leaves as leaves_in
from .unflatten import InterpreterModule, UnflattenedModule, unflattened

__all__ = ["FlatArgsAdapter", "InterpreterModule", "ModuleCallEntry", "ModuleCallSignature", "UnflattenedModule", "unflatten"]


@dataclass
class ModuleCallSignature:
    """What a module takes and gives: tensors by their names in the graph, and the structures around them."""

    inputs: list
    outputs: list
    in_spec: TreeSpec
    out_spec: TreeSpec
    forward_arg_names: list | None = None

    def replace_all_uses_with(self, original_node, new_node):
        """Another node takes the place of one in a graph, under its own name."""
        for arguments in (self.inputs, self.outputs):
            arguments[:] = [type(x)(new_node.name) if isinstance(x, TensorArgument) and x.name == original_node.name else x
                            for x in arguments]


@dataclass
class ModuleCallEntry:
    """A module that was called, by its path; with a signature, if that was kept."""

    fqn: str
    signature: ModuleCallSignature | None = None


class FlatArgsAdapter:
    """Derive from it: what an unflattened program does with arguments of another structure than those of the export."""

    def adapt(self, target_spec: TreeSpec, input_spec: TreeSpec, input_args: list, metadata: dict | None = None,
              obj: Any = None) -> list:
        """The leaves of (args, kwargs) as the program takes them, made of those that were given."""
        raise NotImplementedError(f"{type(self).__name__} does not define adapt()")


def call_spec(known) -> tuple:
    """(the structure of arguments, that of results) of a signature, as trees."""
    arguments = treespec.rebuild(known.arguments, list(range(len(known.inputs))))
    return tree_structure(arguments), tree_structure(treespec.rebuild(known.results, list(range(len(known.outputs)))))


def module_calls(model) -> list:
    """The modules that a program called, each once, in order; the whole program first."""
    recorded, known = model.recorded, model.signature
    names = value_names(recorded.graph)
    ins, outs = call_spec(known)
    whole = ModuleCallSignature(leaves_in(known.arguments, known.inputs), leaves_in(known.results, known.outputs), ins, outs,
                                list(known.parameters))
    entries = {"": ModuleCallEntry("", whole)}
    for name, call in recorded.calls.items():
        kept = recorded.signatures.get(name)
        if call.path not in entries:
            entries[call.path] = ModuleCallEntry(call.path, None if kept is None else _signature(kept, names))
    return list(entries.values())


def _signature(kept, names) -> ModuleCallSignature:
    taken, given = ([TensorArgument(names[v].removeprefix("%")) for v in values] for values in (kept.takes, kept.gives))
    (inputs, in_spec), (outputs, out_spec) = _leaves(kept.arguments, taken), _leaves(kept.results, given)
    return ModuleCallSignature(inputs, outputs, in_spec, out_spec)


def _leaves(shape, tensors) -> tuple:
    found, spec = tree_flatten(treespec.rebuild(shape, tensors))
    return [x if isinstance(x, TensorArgument) else ConstantArgument("", x) for x in found], spec


def unflatten(module, flat_args_adapter: FlatArgsAdapter | None = None) -> UnflattenedModule:
    """A program as a hierarchy of modules: they have the paths of those that were exported, with copies of their parameters and
    buffers (those that the program reads), and share what these shared. A module that is called in several ways is there
    several times (`block@1`).

    A module at a path in `export(..., preserve_module_call_signature=...)` takes and gives what the original one did, so that
    any other with that signature may take its place: `unflatten(program).set_submodule("encoder", other)`. What a module hands
    on as it came is read from where it came.
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
    """A program as modules, with others at some paths, whose signatures were kept."""
    made = unflatten(ep)
    kept = {entry.fqn for entry in module_calls(ep._model) if entry.signature is not None} - {""}
    for path, module in modules_to_swap.items():
        if path not in kept:
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
