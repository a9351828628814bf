"""Attribute reads of a frame, turned into guards of a recorded call."""

import sys
from collections import deque
from dataclasses import replace
from typing import Any

import numpy as np

from ...runtime.core.tensor import Tensor
from ...runtime.nn.base.module import Module
from ..bytecode.reads import ARGUMENT, FREE, LENGTH_OF, MISSING, Chain, computed_at, counts_back, follow, is_length
from ..bytecode.uses import CONTAINED, SINGLE
from ..guards.frames import cells_of
from ..guards.guards import Guard
from ..guards.instances import is_instance
from ..guards.locations import RESTORED, read
from ..guards.snapshot import PLAIN_CONTAINERS, is_changeable, is_container, is_item, is_plain, looks_like, photograph
from ..proxies.symbolic_tables import real_table
from ..side_effects.contents import item_of
from ..side_effects.effects import is_repeatable
from .implicit_reads import known_in_class
from .patched_builtins import real


class Noted:
    """The part of a watch that keeps `guards`."""

    def _note_local(self: Any, chain, frame, value):
        if chain.root == FREE:
            for cell in cells_of(self._functions_of(frame), frame.f_code, chain.name, value) or [{chain.name: value}]:
                self._note(chain, cell, value)
        elif isinstance(value, Tensor):
            is_others = id(value) in self.passed or id(value) in self.tensors
            if is_others and chain.steps and chain.steps[0][1] in value.__dict__:
                self._note_own(value, chain.steps[0][1])
        elif id(value) not in self.made:
            chain, value = self._past_containers(chain, value)
            if chain.steps or not is_container(value):
                self._note(chain, value, value)

    def _past_containers(self: Any, chain, value):
        """(chain, where it begins) from the first object on the way that is no container: what containers hold is watched where
        they come from, and nobody else sees those that the function has made."""
        at, steps = value, chain.steps
        while steps and is_item(at, *steps[0]):
            at, steps = follow(at, steps[:1]), steps[1:]
        if at is value and not is_container(at):
            return chain, value
        found = follow(at, steps)
        if id(found) in self.copies:
            self._note_use(chain, value, found, self._uses.get(chain), self._calls.get(chain, ()))
        if not steps or type(at) in PLAIN_CONTAINERS:
            return Chain(ARGUMENT, chain.name, ()), ()
        return Chain(ARGUMENT, str(replace(chain, steps=chain.steps[: len(chain.steps) - len(steps)])), steps), at

    def _note(self: Any, chain, root, base):
        how, calls = self._uses.get(chain), self._calls.get(chain, ())
        only_asks = how in (CONTAINED, *SINGLE) and not calls
        if self._unwalked and not only_asks:
            late = self._unwalked.pop(id(follow(base, chain.steps)), None)
            if late is not None:
                self._walk(*late)
        at = computed_at(base, chain.steps)
        if at is not None:
            self._note_computed(follow(base, chain.steps[:at]), *chain.steps[at])
            chain = replace(chain, steps=chain.steps[:at])
        past = self._past_modules(chain, root, base)
        if past is None and real_table(follow(base, chain.steps)).__class__ is tuple:
            self._note_use(chain, base, follow(base, chain.steps), how, calls)
        if past is None or (base is None and chain.root == ARGUMENT):
            return
        chain, root, base = past
        found = follow(base, chain.steps)
        self._note_cache(found)
        self._note_use(chain, base, found, how, calls)
        key = (id(root), chain)
        self.order.reads(key, real_table(found), how, bool(calls))
        if key in self.guards or self._through_tensor(base, chain.steps) or self._is_beside(base, chain.steps):
            return
        value = self._first_at(base, chain.steps)
        if value is sys.modules:        # any import adds to it, those within ingot, too
            return
        if chain.root == ARGUMENT and self.parts.leads_to(base, chain.steps, value):
            return
        if self._is_own_item(base, chain.steps, value):
            return
        kind = self.parts.class_with(base, chain.steps, value)
        if kind is not None:
            self._note(Chain(ARGUMENT, kind.__name__, chain.steps[-1:]), kind, kind)
            return
        self._keep.append(root)
        if not (value is MISSING or is_plain(value) or looks_like(read(base, chain.steps), value)):
            return
        value = real_table(real(value))
        if chain.root != ARGUMENT or id(base) in self.outside:
            self._note_tensor(value)
            self._note_library(str(chain), value)
        self.guards[key] = Guard(chain, root, photograph(value, self.held), self._reader)
        self._note_hidden(value)
        self._note_generator(value)
        self._keep_outside(chain, value, only_asks)

    def _is_beside(self: Any, base, steps) -> bool:
        """Whether a chain leads to the length, or items at the end, of something of which all counts, or to what a list or
        dictionary holds that the function has made."""
        owner = follow(base, steps[:-1])
        if steps and steps[-1][0] != "attr" and type(owner) in RESTORED and not self.contents.has_seen(owner):
            return not self.parts.leads_to(base, steps[:-1], owner)
        return (is_length(steps) and type(owner) is not list) or (counts_back(steps) and isinstance(owner, np.ndarray))

    def _first_at(self: Any, base, steps):
        """What a chain leads to. The length of a list, items at its end, and that it has none of some number are as they were
        before the function has appended to it."""
        if is_length(steps):
            values = follow(base, steps[:-1])
            before = self.contents.before(values)
            return self.held.first_length(before, values) if steps[-1:] == LENGTH_OF else bool(before)
        owner = follow(base, steps[:-1]) if counts_back(steps) or self._is_appended(base, steps) else None
        return item_of(self.contents.before(owner), steps[-1][1]) if type(owner) in (list, deque) else read(base, steps)

    def _is_appended(self: Any, base, steps) -> bool:
        """Whether a chain leads to an item of a list that was not there before."""
        owner, (kind, key) = follow(base, steps[:-1]), steps[-1] if steps else ("", "")
        return kind == "item" and type(owner) is list and type(key) is int and key >= len(self.contents.before(owner))

    def _is_own_item(self: Any, base, steps, value) -> bool:
        """Whether a chain leads to an item or attribute that the function has set, of which is watched where that came from, or
        to what its schedules of learning rates have set."""
        if steps and self.scheduled and (id(follow(base, steps[:-1])), steps[-1][1]) in self.scheduled:
            return True
        if not steps or not is_repeatable(value, self.contents):
            return False
        if steps[-1][0] == "attr":
            target = self.stored.get((id(follow(base, steps[:-1])), steps[-1][1]))
            return target is not None and target.kind == "attr" and self._is_changed(target)
        if counts_back(steps) or is_length(steps) or self._is_appended(base, steps):     # it counts what was before
            return False
        return self.contents.is_written(follow(base, steps[:-1]), steps[-1][1])

    def _note_computed(self: Any, owner, step, name):
        """Code of the user's gives an attribute or item of an object: that it is this code which does so is noted."""
        kind, text = type(owner), type(owner).__qualname__
        if step == "attr" and known_in_class(kind, name):
            self._note_attributes(text, kind, (name,))
        elif step == "attr":
            self._note_attributes(text, kind, ("__getattr__",))
            self._note_lack(text, owner, {name})
            self._note_lack(text, kind, {name})
        else:
            self._note_attributes(text, kind, ("__getitem__",))

    def _note_use(self: Any, chain, base, value, how, calls):
        """Looks at a list or dictionary before anything changes in it, and notes what is done with it."""
        value = self.held.given(value, how, calls)
        is_given = chain.root == ARGUMENT and self.parts.leads_to(base, chain.steps, value)
        if type(value) in RESTORED and not is_given and not self._is_own_item(base, chain.steps, value):
            self.contents.see(value, str(chain), self.held)
            self.contents.used(value, how, calls)
        elif type(value) in (tuple, np.ndarray):
            self.contents.used(value, how, calls)

    def _past_modules(self: Any, chain, root, base):
        """(chain, root, base) from the first object on a chain that is no module; modules on the way are watched as a whole.
        None where there is no more to it."""
        steps, value, owner, first = chain.steps, base, base, ()
        while isinstance(value, Module) and steps:
            self._see_module(value)
            self.module_reads.add((id(value), steps[0][1]))
            self.order.reads((id(value), steps[0][1]))
            if steps[0][0] == "attr":
                self._see_in_class(value, steps[0][1])
            owner, first = value, steps[:1]
            value, steps = follow(value, steps[:1]), steps[1:]
        if isinstance(value, Module):
            self._see_module(value)
        elif value is not base:
            self._note_cache(value)
            self._see_held(chain, len(chain.steps) - len(steps), value)
        if value is base:
            return chain, root, base
        if value is None or value is MISSING or not (steps or is_changeable(value)):
            return None
        text = str(Chain(chain.root, chain.name, chain.steps[: len(chain.steps) - len(steps) - 1]))
        return Chain(ARGUMENT, text, (*first, *steps)), owner, owner

    def _see_held(self: Any, chain, depth, value):
        """Takes in an object that is an attribute of a module: `depth` steps of the chain lead there."""
        text = str(Chain(chain.root, chain.name, chain.steps[:depth]))
        if is_instance(value) and id(value) not in self.outside and id(value) not in self.made:
            self._walk(text, value)
        self._note_library(text, value)
