"""Writes to Python state that outlives the call: values from before, compared at the end."""

import inspect
import types
from dataclasses import replace
from typing import Any

from ...runtime.core.tensor import Tensor
from ...runtime.nn.base.module import Module
from ..bytecode.reads import ARGUMENT, FREE, GLOBAL, MISSING, VIEWED, Chain, follow
from ..errors.errors import FirstTimeError, TraceError
from ..guards.frames import cells_of
from ..guards.guards import Guard
from ..guards.instances import is_users
from ..guards.locations import DICTS, EXTEND, GONE, RESTORED, WHOLE
from ..guards.snapshot import photograph
from ..proxies.numpy_scalars import now
from ..proxies.thread_overlay import mapped
from .effects import Target, is_repeatable


class Stores:
    """The part of a watch that keeps `stored`: the `Target`s."""

    def _note_store(self: Any, chain, base):
        """An attribute is assigned to: that of an object that was there before must be as it was in the end."""
        target = follow(base, chain.steps[:-1])
        if id(target) in self.made:
            return
        if isinstance(target, Tensor) and not hasattr(type(target), chain.steps[-1][1]):
            self._note_own_write(target, chain.steps[-1][1], f"{chain}")
        elif isinstance(target, Module) or (id(target) in self.outside and not isinstance(target, Tensor)):
            self._note_target(target, chain.steps[-1][1], "attr", follow(target, chain.steps[-1:]), f"{chain}")

    def _note_variable(self: Any, write, frame):
        """A global or a variable of an enclosing function is assigned to."""
        if write.root == GLOBAL:
            space = frame.f_globals
            self._note_target(space, write.name, "item", space.get(write.name, MISSING), f"{write}")
            return
        value = frame.f_locals.get(write.name, MISSING)
        cells = cells_of(self._functions_of(frame), frame.f_code, write.name, value)
        if len(cells) != 1:
            self._refuse(f"it writes {write} at {frame.f_code.co_filename}:{write.line}, which a trace could not repeat; "
                         "return the value instead, or keep it in a tensor that is updated in place")
        else:
            self._note_target(cells[0], "", "cell", value, f"{write}")

    def _note_target(self: Any, owner, key, kind, before, text):
        if kind == "attr" and _has_setter(owner, key):
            return
        if kind == "attr" and self._had_not(owner, key):
            before = MISSING
        elif (id(owner), key) in VIEWED:
            before = VIEWED[id(owner), key].seen(owner)
        target = Target(owner, key, kind, before, photograph(before, self.held), f"{text} (in {self._reader})")
        if self.stored.setdefault(target.place, target) is target and kind == "attr" and before is not MISSING:
            self.held.show(owner, key)

    def _is_unread(self: Any, t) -> bool:
        """Whether the function wrote something without having read it."""
        return not self.reads_by_name and (t.place in self.module_writes.unread or t.place not in self.module_reads)

    def effects(self: Any) -> list:
        """The `Target`s that hold something else than before, if that can be repeated; else raises."""
        lay = self.casts.lift()
        self._note_new()
        self.casts.lay(lay)
        others = {t.place: t for t in self.module_writes.targets(self.stored) if id(t.owner) not in self.made}
        self.stored |= others
        self.module_reads |= others.keys()
        found = self.contents.targets() + [t for t in self.stored.values() if self._is_changed(t)] + self._context_targets()
        self._check_what_was_put(found)
        return [t for t in found if self._is_repeated(t)]

    def _is_changed(self: Any, t) -> bool:
        """Whether something else is in a place than before: a list or dictionary that the function has made is another one,
        also if it holds the same."""
        now = t.value()
        return t.is_changed or (type(now) in RESTORED and now is not t.was and is_repeatable(now, self.contents))

    def _check_what_was_put(self: Any, found):
        """Raises where the call puts a container in an empty place and takes something out of it: the next one finds it."""
        put = {id(t.value()) for t in found if t.was is MISSING}
        for t in found:
            if t.kind in (WHOLE, GONE) and id(t.owner) in put:
                raise FirstTimeError(f"{t.text} was put there, and something taken out of it, which later calls don't repeat")

    def written(self: Any) -> list:
        """What the run has written so far, to be compared: (text, place, the objects there)."""
        changed = [t for t in self.stored.values() if self._is_changed(t)] + self.contents.targets()
        return [(t.text, t.place, [*map(id, t.value())] if t.kind in (EXTEND, WHOLE) else id(t.value())) for t in changed]

    def check_still_written(self: Any, before):
        """Raises if the run has written more than `before`: the backward that comes after the call did so, which is recorded
        with it and runs no hooks."""
        now = self.written()
        if now != before:
            text = next((text for text, *written in now if (text, *written) not in before), "what it had written")
            raise TraceError(f"this function cannot be traced: a hook that runs when backward() comes, after the call, writes "
                             f"to {text}; call backward() inside of the traced function")

    def _is_repeated(self: Any, t) -> bool:
        """Whether a write is one that every call makes; raises if it cannot be repeated. What a cache is filled with, or a
        variable is set to now and then, may be anything: it is there when the next call is recorded."""
        is_identical = id(t.owner) not in self.given or isinstance(t.owner, Module) or type(t.owner).__eq__ is object.__eq__
        is_simple = is_identical and t.is_plain
        if is_simple and is_repeatable(t.value(), self.contents):
            return True
        what = "what a trace could not make again (numbers, tensors, and containers of them it can)"
        instead = "return the value instead, or keep it in a tensor that is updated in place"
        if t.kind not in (EXTEND, WHOLE) and (t.was is MISSING or t.was is None):
            self.filled = f"the call put into {t.text} {what}, as caches do; where every call does so, {instead}"
            return False
        if is_simple and t.kind in ("attr", "cell", "item") and _holds_attributes(t.value()):
            self.replaced = f"it puts another {type(t.value()).__name__} into {t.text}"
            return False
        raise TraceError(f"this function cannot be traced: it assigns to {t.text} {what}; {instead}")

    def guard_what_stayed(self: Any, written):
        """Guards what the function may have assigned to, and nobody else guards, if it holds what it held: calls that find
        something else there may have to write."""
        for at, g in self.guards.items():       # read for the first time after it was assigned to, and put back since
            t = self.stored.get(g.places_on_the_way()[-1])
            if t is not None and t.place not in written and not t.is_changed and not self.contents.was(g.value(), g.expected):
                self.guards[at] = replace(g, expected=t.before)
        known = {place for g in self.guards.values() for place in g.places_on_the_way()}
        for t in self.stored.values():
            if t.place in known or t.place in written or t.was is MISSING or isinstance(t.owner, Module):
                continue
            name, _, where = t.text.rstrip(")").partition(" (in ")
            chain = {"attr": Chain(ARGUMENT, name.rpartition(".")[0], (("attr", t.key),)), "cell": Chain(FREE, name, ()),
                     "item": Chain(GLOBAL, t.key, ())}[t.kind]
            self.guards[id(t.owner), chain] = Guard(chain, t.owner, t.before, where)

    def settle(self: Any):
        """Leaves plain numbers where the function has written symbolic ones."""
        for t in self.stored.values():
            t.settle()
            if self.replaced and t.is_changed:
                self._settle_object(t.value())
        self.contents.settle()

    def _settle_object(self: Any, x):
        """The same in an object that the function has made, and in what it has put there."""
        stack, seen = [x], dict(self.outside)
        while stack:
            x = stack.pop()
            if id(x) in seen or isinstance(x, Module):
                continue
            seen[id(x)] = x
            if _holds_attributes(x):
                items, put = vars(x), vars(x).__setitem__
            elif type(x) in RESTORED:
                items, put = x if type(x) in DICTS else dict(enumerate(x)), x.__setitem__
            else:
                stack += x if isinstance(x, tuple) else ()
                continue
            for key, v in list(items.items()):
                if mapped(v, now) is not v:
                    put(key, mapped(v, now))
                stack.append(items[key])


def _holds_attributes(x) -> bool:
    """Whether something is an object whose attributes are all that it holds, as far as anybody sees."""
    return type(getattr(x, "__dict__", None)) is dict and not isinstance(
        x, (type, types.FunctionType, types.ModuleType, Module, Tensor, dict, list, set, tuple, BaseException))


def _has_setter(owner, name) -> bool:
    """Whether assigning to an attribute calls a function of the user's, who is watched like others."""
    found = inspect.getattr_static(type(owner), str(name), None)
    return isinstance(found, property) and type(found.fset) is types.FunctionType and is_users(found.fset)
