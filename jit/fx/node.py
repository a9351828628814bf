"""Nodes of fx graphs: target, arguments, users."""

import builtins
import keyword
import operator
import sys
from collections.abc import Callable
from typing import Any

from ...ir.errors import ArgumentError
from ...runtime.api.register.register import FUNCTIONS
from .immutable_collections import immutable_dict, immutable_list

__all__ = ["Argument", "Node", "Target", "has_side_effect", "map_aggregate", "map_arg"]

Target = Callable | str
Argument = Any
OPS = ("placeholder", "get_attr", "call_function", "call_method", "call_module", "output")
RANDOM = ("bernoulli", "dropout", "multinomial", "normal", "poisson", "rand", "rand_like", "randint", "randint_like", "randn",
          "randn_like", "randperm")
FACE = __name__.removesuffix(".jit.fx.node")
_SPACES = ("", "nn.functional", "linalg", "special", "fft")
_WRITERS = frozenset([getattr(operator, f"i{name}") for name in (
    "add", "and", "concat", "floordiv", "lshift", "matmul", "mod", "mul", "or", "pow", "rshift", "sub", "truediv", "xor")] +
    [operator.setitem, operator.delitem])
_effects: set = {builtins.setattr, builtins.print}


def has_side_effect(fn: Callable) -> Callable:
    """Mark a function whose calls must stay without users; also a decorator."""
    _effects.add(fn)
    return fn


def map_aggregate(a, fn):
    """Apply `fn` to all leaves of nested tuples, lists, dictionaries and slices."""
    if isinstance(a, tuple):
        parts = [map_aggregate(x, fn) for x in a]
        return type(a)(*parts) if hasattr(a, "_fields") else tuple(parts)
    if isinstance(a, list):
        return immutable_list([map_aggregate(x, fn) for x in a])
    if isinstance(a, dict):
        return immutable_dict({k: map_aggregate(v, fn) for k, v in a.items()})
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


def map_arg(a, fn):
    """Apply `fn` to the nodes in an argument."""
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def public_path(thing) -> str | None:
    """Return the public path of an object (`ingot.relu`), or None."""
    name = getattr(thing, "__name__", None) or str(thing).rpartition(".")[2]
    if not isinstance(name, str) or not is_name(name):
        return None
    for space in _SPACES:
        module = sys.modules.get(f"{FACE}.{space}" if space else FACE)
        names = FUNCTIONS if not space else vars(module) if module is not None else {}
        if names.get(name) is thing or (not space and vars(module).get(name) is thing):
            return ".".join(filter(None, (FACE, space, name)))
    return None


def is_name(text) -> bool:
    """Return whether a text is a valid variable name."""
    return text.isidentifier() and not keyword.iskeyword(text)


def name_of(target) -> str:
    """Return the name of a target in listings; functions with their module."""
    if isinstance(target, str):
        return target
    place = getattr(target, "__module__", None) or ""
    name = getattr(target, "__name__", None) or type(target).__name__
    return public_path(target) or f"{place.replace('_operator', 'operator')}.{name}"


class Node:
    """One step of a `Graph`.

    op         "placeholder" (an argument), "get_attr" (a tensor of the module), "call_function", "call_method", "call_module"
               or "output"
    target     a function, the name of a method, the path of a module, or the name of an argument
    args, kwargs   arguments: nested containers with nodes in them
    users      the nodes with this one among their arguments
    meta       data of passes; "stack_trace" is the user's line
    """

    def __init__(self, graph, name, op, target, args, kwargs, return_type=None):
        if op == "call_function" and not callable(target):
            raise ArgumentError(f"a node that calls a function has the function as target, got {target!r}")
        if op in ("call_method", "call_module", "get_attr", "placeholder") and not isinstance(target, str):
            raise ArgumentError(f"the target of a node {op} is a string, got {target!r}")
        self.graph, self.name, self.op, self.target, self.type = graph, name, op, target, return_type
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._inputs: dict[Node, None] = {}
        self._args: tuple = ()
        self._kwargs: dict = {}
        self._prev = self._next = self
        self._erased = False
        self._take(args, kwargs)

    def __repr__(self):
        return self.name

    # Position.

    @property
    def next(self) -> "Node":
        return self._next

    @property
    def prev(self) -> "Node":
        return self._prev

    def prepend(self, x: "Node") -> None:
        """Move a node of the same graph before this one."""
        if x.graph is not self.graph:
            raise ArgumentError(f"{x} is a node of another graph; copy it with graph.node_copy")
        if x is self:
            return
        x._unlink()
        before = self._prev
        before._next, x._prev, x._next, self._prev = x, before, self, x

    def append(self, x: "Node") -> None:
        """Move a node of the same graph after this one."""
        self._next.prepend(x)

    def _unlink(self):
        self._prev._next, self._next._prev = self._next, self._prev

    # Arguments.

    @property
    def args(self) -> tuple:
        """Return the positional arguments."""
        return self._args

    @args.setter
    def args(self, args):
        self._take(args, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        """Return the keyword arguments."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs):
        self._take(self._args, kwargs)

    def _take(self, args, kwargs):
        before, self._inputs = self._inputs, {}

        def note(n):
            self._inputs.setdefault(n)
            n.users.setdefault(self)
            return n

        self._args, self._kwargs = map_arg(tuple(args), note), map_arg(dict(kwargs), note)
        for old in before:
            if old not in self._inputs:
                old.users.pop(self, None)

    @property
    def all_input_nodes(self) -> list["Node"]:
        """Return the nodes among the arguments, each once."""
        return list(self._inputs)

    def update_arg(self, idx: int, arg) -> None:
        """Replace a positional argument."""
        args = list(self._args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg) -> None:
        """Insert an argument before a position."""
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    def update_kwarg(self, key: str, arg) -> None:
        """Replace a keyword argument."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_input_with(self, old_input: "Node", new_input: "Node") -> None:
        """Replace one node among the arguments by another."""
        def other(n):
            return new_input if n is old_input else n

        self._take(map_arg(self._args, other), map_arg(self._kwargs, other))

    def replace_all_uses_with(self, replace_with: "Node", delete_user_cb: Callable = lambda user: True, *,
                              propagate_meta: bool = False) -> list["Node"]:
        """Replace this node in its users (for which `delete_user_cb` is true) by another one; return them."""
        if propagate_meta:
            replace_with.meta.update({k: v for k, v in self.meta.items() if k not in replace_with.meta})
        changed = [user for user in list(self.users) if delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    # Properties.

    @property
    def stack_trace(self) -> str | None:
        """Return the user's line of this node."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace):
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random: bool = True) -> bool:
        """Return whether a node has side effects: arguments, the output, in-place writes, random numbers (if
        `impure_random`), and functions marked by `has_side_effect`."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_module":
            module = None if self.graph.owning_module is None else self.graph.owning_module.get_submodule(self.target)
            return bool(getattr(module, "_is_impure", False))
        if self.op not in ("call_function", "call_method"):
            return False
        name = self.target if isinstance(self.target, str) else getattr(self.target, "__name__", "")
        random = impure_random and name in RANDOM and (self.op == "call_method" or hasattr(self.target, "__code__"))
        return writes(self.target) or random or self.target in _effects or self._kwargs.get("out") is not None

    def format_node(self) -> str:
        """Return the node as a line of a listing."""
        if self.op == "output":
            return f"return {self._args[0]}"
        kind = f" : {self.type}" if self.type is not None else ""
        head = f"%{self.name} : [num_users={len(self.users)}]{kind} = {self.op}[target={name_of(self.target)}]"
        if self.op == "placeholder":
            return head + (f"(default={self._args[0]})" if self._args else "")
        if self.op == "get_attr":
            return head
        return f"{head}(args = {_argument_text(self._args)}, kwargs = {_argument_text(self._kwargs)})"


def writes(target) -> bool:
    """Return whether a function or method writes into its first argument."""
    name = target if isinstance(target, str) else getattr(target, "__name__", "")
    return (name[-1:] == "_" and name[:2] != "__" and name not in ("and_", "or_", "not_", "is_")) or target in _WRITERS


def _argument_text(a) -> str:
    if isinstance(a, tuple):
        return f"({', '.join(map(_argument_text, a))}{',' * (len(a) == 1)})"
    if isinstance(a, list):
        return f"[{', '.join(map(_argument_text, a))}]"
    if isinstance(a, dict):
        return f"{{{', '.join([f'{k}: {_argument_text(v)}' for k, v in a.items()])}}}"
    return f"%{a}" if isinstance(a, Node) else str(a)
