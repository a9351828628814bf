"""Objects that were there before a recorded function was called, as far as it reaches them."""

import functools
import inspect
import io
import types
import weakref
from typing import Any

import numpy as np

from ...runtime.core.tensor import Tensor
from ...runtime.nn.base.module import Module
from ..bytecode.attribute_queries import NOTHING
from ..bytecode.reads import ARGUMENT, MISSING, Chain, key_text
from ..bytecode.uses import loose_uses
from ..guards.absence import Lack
from ..guards.arg_pytree import fields_of, is_structure
from ..guards.guards import Guard, Reading
from ..guards.instances import attributes_of, attributes_of_module, is_instance, is_users, is_users_space
from ..guards.locations import RESTORED, read
from ..guards.snapshot import CONTAINERS, is_changeable, is_container, is_plain, photograph
from ..proxies.symbolic_tables import real_table
from .implicit_reads import known_in_class, partial_reading, results_of

ANY = "*"           # in the place of a name: whatever attribute it is
_WEAK = (weakref.WeakKeyDictionary, weakref.WeakValueDictionary, weakref.WeakSet)


class Outside:
    """The part of a watch that goes through them."""

    def _keep_outside(self: Any, chain, value, only_asks):
        """Takes in an object that was there before, and what is reached from it; of a container of which code only asks what is
        in it, or reads single items, to which chains of their own lead, not before other code does more."""
        owner = getattr(value, "__self__", None) if isinstance(value, types.BuiltinMethodType) else value
        if type(owner) in CONTAINERS:
            self.containers.append(owner)
        if hasattr(type(value), "__next__") and not issubclass(type(value), (io.IOBase, Tensor, Module, *weakref.ProxyTypes)):
            self._refuse(f"it reads {chain}, an iterator that lives outside of it and moves on with each call; pass the value "
                         "as an argument")
        if only_asks and type(value) in CONTAINERS:
            self._unwalked[id(value)] = str(chain), value
        else:
            self._walk(str(chain), value)

    def _ask(self: Any, asked):
        """Takes in what the code that starts asks: of all objects that were reached, or will be, as functions hand them on."""
        self._asked, kind = asked, asked._replace(names=NOTHING.names, computes=False)
        known = self._questions.get(kind)
        if known is None or not asked.names <= known:
            self._questions[kind] = asked.names | (known or NOTHING.names)
            question = kind._replace(names=asked.names - (known or NOTHING.names))
            for value, text, _ in list(self.outside.values()):
                self._answer(question, text, value)
            self._ask_tensors(question)
            for cls in self.module_classes:
                self._answer_for_modules(cls, question.names)
            for m in self.module_writes.modules():
                self._answer_of_module(m, question.names)
        if asked.computes and kind not in self._computing:
            self._computing.append(kind)
            for value, text, _ in list(self.outside.values()):
                self._answer_all(kind, text, value)

    def _meet_class(self: Any, cls):
        """There is a module of some class, of which code may read what its class gives."""
        if is_users(cls) and cls not in self.module_classes:
            self.module_classes.append(cls)
            for names in self._questions.values():
                self._answer_for_modules(cls, names)

    def _answer_for_modules(self: Any, cls, names):
        """Guards what code asks of modules, and finds in a class of the user's."""
        own = set().union(*[vars(c).keys() for c in cls.__mro__ if is_users(c)])
        self._note_attributes(cls.__qualname__, cls, [name for name in names & own if known_in_class(cls, name)])

    def _answer_of_module(self: Any, m, names):
        """Guards what containers among the attributes of a module hold, and takes in objects: modules do not count that."""
        attributes = attributes_of_module(m)
        for name in names & attributes.keys():
            text, value = f"{type(m).__name__}.{name}", attributes[name]
            if is_changeable(value) or is_instance(value):
                self._walk(text, value)
            if is_changeable(value):
                self._note_attribute(type(m).__name__, m, name, value)

    def _uses_loosely(self: Any, code, asked, more):
        """Takes in what the code that starts does with attributes of objects that no chain leads to: of all that were reached,
        or will be. What it reads by names, `more` among them, may be used in any way."""
        known = loose_uses(code)
        uses = [(name, how, None if offset is None else (code, offset)) for name, how, offset in known]
        uses += [(name, None, None) for name in (asked.names - {name for name, *_ in known}) | more]
        uses += [(ANY, None, None)] if asked.computes else ()
        new: dict = {}
        for name, how, call in uses:
            if (how, call) not in self._loose.setdefault(name, {}):
                self._loose[name][how, call] = None
                new.setdefault(name, []).append((how, call))
        if new:
            for owner, *_ in list(self.outside.values()):
                self._used_loosely(attributes_of(owner), new)
            for m in self.module_writes.modules():
                self._used_loosely(attributes_of_module(m), new)

    def _used_loosely(self: Any, attributes, uses):
        """Notes for containers among the attributes of an object what code does with them; `uses` is {name: [(how, call)]}."""
        for name in attributes if ANY in uses else attributes.keys() & uses.keys():
            value = real_table(attributes[name])
            if type(value) in RESTORED or type(value) in (tuple, np.ndarray):
                for how, call in (*uses.get(name, ()), *uses.get(ANY, ())):
                    calls = () if call is None else (call,)
                    self.contents.used(self.held.given(attributes[name], how, calls), how, calls)

    def _answer_all(self: Any, question, text, value):
        """Guards all attributes of an object for code that computes the names of those that it reads (not a module's table of
        Python's own functions, in which stand-ins lie while a call is recorded)."""
        self._answer(question._replace(names=frozenset(attributes_of(value)) - {"__builtins__"}), text, value)

    def _walk(self: Any, text, value, is_given=False):
        """Notes the attributes of objects that are reached from a value, as far as code has such names, each once: what a hook
        or a container holds may lead back to where it lies. Containers that are arguments are looked at anew at every call."""
        stack, seen = [(text, value)], {}
        while stack:
            text, value = stack.pop()
            if id(value) in seen:
                continue
            seen[id(value)] = value
            if isinstance(value, Module):
                self._remember(value)
                below = Module.modules(value) if id(value) not in self.outside else ()
                stack += [(f"a hook of {type(m).__name__}", hook) for m in below for hook in m._hooks.objects()]
            if is_given and is_structure(value):
                self.parts.add(value)
                stack += [(f"{text}.{name}", getattr(value, name)) for name in fields_of(value)]
                continue
            if not is_given:
                self._see_contents(text, value)
            stack += self._items_of(text, value, is_given)
            if isinstance(value, Tensor):
                for kind, names in self._questions.items():
                    self._answer_tensor(kind._replace(names=names), text, value)
            elif is_instance(value):
                for name, v in () if is_given or id(value) in self.outside else attributes_of(value).items():
                    self._see_contents(f"{text}.{name}", v)
                stack += self._reach(text, value)
            elif is_users_space(value):
                self._reach(text, value)

    def meets(self: Any, text, value):
        """Something of the user's is about to run that no chain leads to."""
        lay = self.casts.lift()
        self._walk(text, value)
        self.casts.lay(lay)

    def _reach(self: Any, text, value) -> list:
        """Notes an object; gives (text, value) of what it consists of."""
        if id(value) in self.outside:
            return []
        self.outside[id(value)] = value, text, tuple(attributes_of(value))
        self._used_loosely(attributes_of(value), self._loose)
        for kind, names in self._questions.items():
            self._answer(kind._replace(names=names), text, value)
        for kind in self._computing:
            self._answer_all(kind, text, value)
        found = []
        for name, v in list(attributes_of(value).items()):
            if not is_plain(v):
                found.append((f"{text}.{name}", v))
                self._note_tensor(v)
        return found

    def _see_contents(self: Any, text, value):
        """Remembers what a container, or an optimizer's parameter groups, hold."""
        self.contents.see(value, text, self.held)
        groups = getattr(value, "__dict__", {}).get("param_groups")
        for i, group in enumerate(groups if type(groups) is list else ()):
            self.contents.see(group, f"{text}.param_groups[{i}]", self.held)
        if isinstance(value, (list, dict, set)):
            self.copies.setdefault(id(value), (value, shallow(value), text))

    def _items_of(self: Any, text, value, is_given) -> list:
        """(text, value) of what a container, a partial or cached function, a method or a reference leads to."""
        if type(value) in CONTAINERS or isinstance(value, tuple):
            items = value.items() if hasattr(value, "items") else enumerate(value)
            found = [(f"{text}[{key_text(k)}]", v) for k, v in items if not is_plain(v)]
            if is_given:
                self.parts.add(value)
            else:
                for name, v in found:
                    self._note_tensor(v)
                    self._note_library(name, v)
            return found
        if type(value) is functools.partial:
            self.readings.setdefault(("partial", id(value)), partial_reading(value, text, self.held))
            return [(text, v) for v in (value.func, *value.args, *value.keywords.values())]
        if type(value) in (types.BuiltinMethodType, types.MethodType) and not isinstance(value.__self__, Module):
            return [(text, value.__self__)]
        if type(value) is types.MethodType and isinstance(value.__self__, Module):
            for t in (*value.__self__.parameters(), *value.__self__.buffers()):
                self._note_tensor(t)        # the method may hand them out
            return []
        if type(value) is functools._lru_cache_wrapper:
            return [(f"{text}()", v) for v in results_of(value) if not is_plain(v)]
        if isinstance(value, _WEAK):
            held: Any = vars(value)["data"]
            self._note_reading(Reading(("weak", id(value)), lambda: held, photograph(held, self.held), f"what {text} holds"))
            return [(f"{text}[...]", ref()) for ref in held if isinstance(ref, weakref.ref)]
        if type(value) in weakref.ProxyTypes:
            return [(text, value.__repr__.__self__)]
        return [(f"{text}()", value())] if isinstance(value, weakref.ref) else []

    def _answer(self: Any, question, text, value):
        """Guards what code asks of an object, a class or a module."""
        if isinstance(value, type):
            known, _ = self._answer_class(question, value)
            for name in (known if question.sets else known & question.assigned) & vars(value).keys():
                self._note_target(value, name, "attr", vars(value)[name], f"{text}.{name}")
            return
        attributes, kind = attributes_of(value), type(value)
        in_class, nowhere = self._answer_class(question, kind)
        lacking = in_class - attributes.keys()
        if question.by_name and hasattr(kind, "__getattr__"):
            self._note_attributes(text, value, nowhere - attributes.keys())
        elif question.by_name:
            lacking |= nowhere - attributes.keys()
        self._note_lack(text, value, lacking)
        if question.kinds:
            self._note_attributes(text, value, ("__class__",))
            if is_users_space(kind):
                self._reach(kind.__qualname__, kind)
        for name in question.names & attributes.keys():
            if question.sets or name in question.assigned:
                self._note_target(value, name, "attr", attributes[name], f"{text}.{name}")
            self._note_attribute(text, value, name, attributes[name])

    def _answer_class(self: Any, question, cls) -> tuple:
        """Guards what code asks of a class, or of its instances and finds there; gives `_names_in_class`."""
        in_class, nowhere = self._names_in_class(cls, question.names)
        self._note_attributes(cls.__qualname__, cls, in_class)
        if question.by_name:
            self._note_lack(cls.__qualname__, cls, nowhere)
        return in_class, nowhere

    def _names_in_class(self: Any, cls, names) -> tuple:
        """Which of some names a class knows (`known_in_class`), and which it has not."""
        if (cls, names) not in self._classes:
            nowhere = frozenset(name for name in names     # an enum's `name` is there, and only its members answer
                                if not hasattr(cls, name) and inspect.getattr_static(cls, name, MISSING) is MISSING)
            self._classes[cls, names] = frozenset(n for n in names - nowhere if known_in_class(cls, n)), nowhere
        return self._classes[cls, names]

    def _note_new(self: Any):
        """Notes the attributes that objects have got while the function ran."""
        names, by_any = NOTHING.names.union(*self._questions.values()), any(kind.sets for kind in self._computing)
        for owner, text, before in list(self.outside.values()):
            for name in attributes_of(owner).keys() - before:
                if (by_any or name in names) and self._had_not(owner, name):
                    self._note_target(owner, name, "attr", MISSING, f"{text}.{name}")

    def _had_not(self: Any, owner, name) -> bool:
        """Whether an object had no such attribute when it was reached, nor had its class."""
        return id(owner) in self.outside and name not in self.outside[id(owner)][2] and not hasattr(type(owner), name)

    def _note_lack(self: Any, text, owner, names):
        """Guards that an object, or a class with those above it, has no attributes of some names."""
        if names:
            place = "lack", id(owner)
            if place not in self.readings:
                self.readings[place] = Lack(owner, text)
            self.readings[place].names |= names

    def _note_attributes(self: Any, text, owner, names):
        """Guards attributes of an object, or that they are not there."""
        for name in names:
            self._note_attribute(text, owner, name, read(owner, (("attr", name),)))

    def _note_attribute(self: Any, text, owner, name, found):
        chain = Chain(ARGUMENT, text, (("attr", name),))
        self.order.lasts((id(owner), chain))
        if (id(owner), chain) not in self.guards:
            if isinstance(owner, type) and is_container(found):
                self._used_loosely({name: found}, self._loose)
                self._walk(f"{text}.{name}", found)
            self.guards[id(owner), chain] = Guard(
                chain, owner, self.held.same_as(found, owner, name) or photograph(found, self.held), self._reader)
            self._note_hidden(found.fget if type(found) is property else found)
            self._note_library(f"{text}.{name}", found)


def shallow(container):
    """A copy of a container that is of a class of the user's, whose methods are not asked; None for one that is watched in
    other ways."""
    if type(container) in CONTAINERS:
        return None
    if isinstance(container, dict):
        return dict(dict.items(container))
    return list(list.__iter__(container)) if isinstance(container, list) else set(set.__iter__(container))
