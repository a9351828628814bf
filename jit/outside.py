"""Objects that were there before a recorded function was called, as far as it reaches them."""

import functools
import io
import types
import weakref
from typing import Any

from ..runtime.nn.module import Module
from ..runtime.tensor import Tensor
from .frames import TRUSTED
from .guards import Guard
from .hidden_reads import known_in_class
from .photograph import CONTAINERS, is_plain, photograph
from .places import read
from .reads import ARGUMENT, MISSING, Chain
from .tree import fields_of, is_structure

MOST_OUTSIDE = 10000     # objects outside that are looked at


class Outside:
    """The part of a watch that goes through them."""

    def _keep_outside(self: Any, chain, value):
        """Takes in an object that was there before, and what is reached from it."""
        owner = getattr(value, "__self__", None) if isinstance(value, types.BuiltinMethodType) else value
        if type(owner) in CONTAINERS:
            self.containers.append(owner)
        if hasattr(type(value), "__next__") and not isinstance(value, (io.IOBase, Tensor, Module)):
            self._refuse(f"it reads {chain}, an iterator that lives outside of it and moves on with each call; pass the value "
                         "as an argument")
        self._walk(str(chain), value)

    def _note_tensor(self: Any, value):
        if isinstance(value, Tensor) and id(value) not in self.held.known:
            self.tensors[id(value)] = value

    def _walk(self: Any, text, value, is_given=False):
        """Notes the attributes of objects that are reached from a value, as far as the code that runs has such names.
        Containers that are arguments are looked at anew at every call."""
        stack = [(text, value)]
        while stack and len(self.outside) < MOST_OUTSIDE:
            text, value = stack.pop()
            if isinstance(value, Module):
                self.module_writes.remember(value)
            if not is_given:
                self.contents.see(value, text, self.held)
            groups = getattr(value, "__dict__", {}).get("param_groups")       # of an optimizer
            for i, group in enumerate(groups if type(groups) is list else ()):
                self.contents.see(group, f"{text}.param_groups[{i}]", self.held)
            if is_given and is_structure(value):
                self.parts.add(value)
                stack += [(f"{text}.{name}", getattr(value, name)) for name in fields_of(value)]
                continue
            if type(value) in CONTAINERS or isinstance(value, tuple):
                if is_given:
                    self.parts.add(value)
                items = value.items() if hasattr(value, "items") else enumerate(value)
                found = [(f"{text}[{k!r}]", v) for k, v in items if not is_plain(v)]
                stack += found
                for _, v in () if is_given else found:
                    self._note_tensor(v)
            if type(value) is functools.partial:
                stack += [(text, v) for v in (value.func, *value.args, *value.keywords.values())]
            if type(value) is types.BuiltinMethodType:
                stack.append((text, value.__self__))
            if isinstance(value, (list, dict, set)) and not is_given:
                self.copies.setdefault(id(value), (value, shallow(value), text))
            if isinstance(value, weakref.ref):
                stack.append((f"{text}()", value()))
            if isinstance(value, Tensor):
                self._note_attributes(text, value, value.__dict__.keys() & self._asked.names)
                for name in self._asked.names if self._asked.sets else ():
                    if not hasattr(Tensor, name):
                        self._note_target(value, name, "attr", value.__dict__.get(name, MISSING), f"{text}.{name}")
            if not is_instance(value) or (id(value), self._asked) in self._walked:
                continue
            self._walked.add((id(value), self._asked))
            self.outside[id(value)] = value
            if self._asked.kinds:
                self._note_attributes(text, value, ("__class__",))
            for name in self._asked.names:
                if name in value.__dict__:
                    continue
                if not hasattr(type(value), name):
                    self._note_target(value, name, "attr", MISSING, f"{text}.{name}")
                    if self._asked.by_name:
                        self._note_attributes(text, value, (name,))
                elif known_in_class(type(value), name):
                    self._note_attributes(text, value, (name,))
            for name, v in list(value.__dict__.items()):
                if self._asked.sets and (self._asked.computes or name in self._asked.names):
                    self._note_target(value, name, "attr", v, f"{text}.{name}")
                if self._asked.computes or name in self._asked.names:
                    self.guards.setdefault((id(value), Chain(ARGUMENT, text, (("attr", name),))), Guard(
                        Chain(ARGUMENT, text, (("attr", name),)), value,
                        self.held.same_as(v, value, name) or photograph(v, self.held), self._reader))
                if not is_plain(v):
                    stack.append((f"{text}.{name}", v))
                    self._note_tensor(v)

    def _note_attributes(self: Any, text, owner, names):
        """Guards attributes of an object, or that they are not there."""
        for name in names:
            chain = Chain(ARGUMENT, text, (("attr", name),))
            found = read(owner, chain.steps)
            self.guards.setdefault((id(owner), chain), Guard(
                chain, owner, self.held.same_as(found, owner, name) or photograph(found, self.held), self._reader))



def is_instance(value) -> bool:
    """Whether a value is an object of a class of the user's, with attributes of its own."""
    kind = type(value)
    return (isinstance(getattr(value, "__dict__", None), dict) and kind.__module__.partition(".")[0] not in TRUSTED
            and not isinstance(value, (type, types.ModuleType, types.FunctionType, Tensor, Module)))


def shallow(container):
    """A copy of a container that is of a class of the user's; None for one that is watched in other ways."""
    if type(container) in CONTAINERS:
        return None
    return next(kind(container) for kind in (dict, list, set) if isinstance(container, kind))  # type: ignore[call-overload]
