"""Writes to Python state that outlives the call: `self.step += 1`, `global n`, a new attribute of an object from outside.

The log holds each location with its value from before. At the end of the call both are compared: what is different is a side
effect of the recording.
"""

import types
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np

from ...ir.source_location import place_text
from ...ir.symbols.symbolic import hint, is_symbol
from ...runtime.core.tensor import Tensor
from ...runtime.nn.base.module import TABLES, Module
from ...runtime.nn.utils.parametrize import ParametrizedTensor
from ..bytecode.reads import GLOBAL, MISSING, VIEWED, static_attribute
from ..bytecode.user_code import attributes_of_module, dict_of, entries_of, is_a, is_user_defined, modules_below
from ..errors.errors import REFUSED, FirstTimeError, RanMoreError, RecordingStatus, TraceError, UnrepeatableError
from ..guards.arg_pytree import ByIdentity, ContainerTable, flatten
from ..guards.exact_values import number_bits
from ..guards.frames import RunningFunctions, cells_of
from ..guards.known_objects import KnownObjects
from ..guards.locations import EXTEND, GONE, STATE, WHOLE, StateInputs, load
from ..guards.snapshot import base_of, is_container, is_plain, snapshot
from ..proxies.lazy_scalars import LazyScalar
from ..proxies.new_objects import NewObjects
from ..proxies.numpy_scalars import fixed
from ..proxies.plain_values import leave_plain, put_plain
from ..proxies.set_layout import SetContent, content_of_set
from ..proxies.threads import mapped
from .contents import ContainerLog
from .effects import Target


class WriteLog:
    """Locations that user code assigns to, and copies of containers and namespaces that it may change."""

    def __init__(self, status: RecordingStatus, known: KnownObjects, inputs: StateInputs, contents: ContainerLog,
                 functions: RunningFunctions):
        self.status, self._known, self._inputs, self._contents, self._functions = status, known, inputs, contents, functions
        self.targets: dict = {}         # {place: `Target`} of assignments that bytecode shows
        self.modules = ModuleWrites()
        self.copies: dict = {}          # by id: (container of a user class, copy of its items or None, its name)
        self.namespaces: dict = {}      # by id: (namespace that code gets by `globals()`, copy)
        self.reader = ""                # function whose code is looked at, as file:line

    # Assignments.

    def add_variable(self, write, frame):
        """Note an assignment to a global variable, or to one of an enclosing function."""
        if write.root == GLOBAL:
            space = frame.f_globals
            self.add(space, write.name, "item", space.get(write.name, MISSING), f"{write}")
            return
        value = frame.f_locals.get(write.name, MISSING)
        cells = cells_of(self._functions.of(frame), frame.f_code, write.name, value)
        if len(cells) != 1:
            place = place_text((frame.f_code.co_filename, write.line))
            self.status.refuse(f"it writes {write} at {place}, which a trace could not repeat; return the value instead, or "
                               "keep it in a tensor that is updated in place")
        else:
            self.add(cells[0], "", "cell", value, f"{write}")

    def add(self, owner, key, kind, before, text, was_of_class=False):
        """Note a location that code may assign to; `kind` says how it is stored, as in `locations.kept`. Code that has done so
        has hidden a value that `was_of_class`."""
        if kind == "attr" and (key == "__class__" or _has_setter(owner, key)):       # (calls that change a class are not kept)
            return
        if kind == "attr" and self._known.lacked(owner, key):
            before = MISSING
        elif (id(owner), key) in VIEWED:
            before = VIEWED[id(owner), key].current(owner)
        of_class = was_of_class or (kind == "attr" and before is not MISSING and load(owner, key, kind) is MISSING)
        target = Target(owner, key, kind, before, snapshot(before, self._inputs), f"{text} (in {self.reader})", of_class)
        if self.targets.setdefault(target.place, target) is target and kind == "attr" and before is not MISSING:
            self._inputs.show(owner, key)

    def at(self, owner, key) -> Target | None:
        return self.targets.get((id(owner), key))

    def fix_numbers(self):
        """Make symbolic numbers constants of this recording: others could see them, or code reads past the proxies."""
        self._inputs.fix()
        for t in self.targets.values():
            t.fix(fixed, put_plain)       # (others may hold the same list)

    # Containers and namespaces that must not change.

    def copy_container(self, container, text):
        """Remember the items of a list, dict or set that may be of a user class."""
        if is_a(container, (list, dict, set)):
            self.copies.setdefault(id(container), (container, _plain_copy(container), text))

    def check_copies(self):
        """Raise if the function changed such a container or namespace: a replay could not repeat it."""
        for container, copy, text in self.copies.values():
            if copy is not None and _items(copy) != _items(container):
                raise TraceError(f"this function cannot be traced: it changes {text}, a {type(container).__name__} that lives "
                                 "outside of it; return the value instead, or use a plain list or dict")
        for space, copy in self.namespaces.values():
            names = [n for n in {**copy, **space} if not _is_still(copy.get(n, MISSING), space.get(n, MISSING))]
            if names:
                raise TraceError(f"this function cannot be traced: it writes {names[0]} through globals(); say "
                                 f"`global {names[0]}`, or return the value instead")

    # The end of the call.

    def add_modules(self) -> list:
        """Add the attributes of modules that were written past all chains; return their locations."""
        others = {t.place: t for t in self.modules.targets(self.targets) if id(t.owner) not in self._known.own}
        self.targets |= others
        return [*others]

    def is_changed(self, t) -> bool:
        """Return whether a location holds another value than before; another container counts as one, whatever it holds."""
        return t.is_changed or _is_another(t.value(), t.was)

    def has_set(self, owner, name) -> bool:
        """Return whether the run has put another value into an attribute so far, and not only into its owner's class."""
        target = self.targets.get((id(owner), name))
        if target is None or target.kind != "attr" or not self.is_changed(target):
            return False
        return not (target.of_class and target.value() is MISSING)

    def has_left(self, place) -> bool:
        """Return whether the run has put another object into a location so far, whatever that holds."""
        target = self.targets.get(place)
        return target is not None and target.value() is not target.was

    def changed(self) -> list:
        return [t for t in self.targets.values() if self.is_changed(t)]

    def repeated(self, targets, made: NewObjects) -> list:
        """Return those of the changed targets that each call writes; raise if one cannot be repeated. `made` decides what the
        run has made."""
        put = {id(t.value()) for t in targets if t.was is MISSING}
        for t in targets:
            if t.kind in (WHOLE, GONE) and id(t.owner) in put:      # the next call finds a container in the empty place
                raise FirstTimeError(f"it puts {t.text} into an empty place and takes something out of it, which a "
                                     "recording cannot repeat")
        return [t for t in targets if self._is_repeated(t, made)]

    def _is_repeated(self, t, made) -> bool:
        """Return whether each call makes this write; raise if it cannot be repeated. Caches, and variables that are set now
        and then, may get any value: the next recording finds it there."""
        is_identical = (id(t.owner) not in self._known.received or is_a(t.owner, Module)
                        or type(t.owner).__eq__ is object.__eq__)
        if not (is_identical and t.is_plain):
            what = ("an attribute of an argument that is compared by value, or one that code of its class stores; return the "
                    "value instead" if t.kind == "attr" else
                    "a container that is an argument, and that it reaches in another way, too; let it use one of the two")
            raise TraceError(f"this function cannot be traced: it assigns to {t.text}, {what}")
        if t.value() is MISSING:
            self.status.replaced = f"it deletes {t.text}; set that to None instead, or delete it outside"
            return False
        known = {id(c): ByIdentity(c) for c in self._contents.containers()}
        try:
            flatten(t.value(), [], None, made, None, ContainerTable(known))
        except UnrepeatableError as error:
            self.status.replaced = (f"it puts {error.what} into {t.text}, which a trace could not make again; make it outside, "
                                    "or put tensors, numbers, containers or plain objects of these there")
            return False
        return True

    def values(self) -> list:
        """Return the ids of what lies in all locations that code may assign to, attributes of modules among them."""
        return [*[id(t.value()) for t in self.targets.values()], *self.modules.values()]

    def state(self) -> list:
        """Return what has been written so far, for comparison: (text, place, ids of the values)."""
        changed = self.changed() + self._contents.targets()
        return [(t.text, t.place, _mark(t)) for t in changed]

    def check_still(self, before):
        """Raise if more was written than the `state` from before: a hook did so, in a backward pass that is recorded with the
        call although it runs later. Replays run no hooks there."""
        now = self.state()
        if now != before:
            text = next((text for text, *written in now if (text, *written) not in before), "what it had written")
            raise RanMoreError(f"{REFUSED}a hook that runs when backward() comes, after the call, writes to "
                               f"{text}; call backward() inside of the traced function")

    def settle(self, left: list):
        """Leave plain numbers where the function has written symbolic ones, and in all that is `left` of a call that is not
        recorded."""
        if left or self.status.replaced:
            changed = [t for t in self.targets.values() if self.is_changed(t)]
            values = [t.value() for t in changed]
            before = values.copy()
            leave_plain([values, left, self._contents.changed_ones()], self._known.outside)
            for t, value, was in zip(changed, values, before):
                if value is not was:
                    t.rewrite(value)
        for t in self.targets.values():
            t.settle()
        self._contents.settle()

    def settle_all(self):
        self.settle([])

    def close(self):
        self.copies, self.targets = {}, {}


def _is_another(now, was) -> bool:
    """Return whether a value is another container than before, or a tuple with another container or object in it."""
    if isinstance(now, tuple):
        return isinstance(was, tuple) and any(a is not b and (_is_another(a, b) if isinstance(a, tuple) else not is_plain(a))
                                              for a, b in zip(now, was))
    return now is not was and (is_container(now) or type(now) is np.ndarray)


def _mark(target):
    """Return what tells the value of a target from others. A number of a schedule is a lazy scalar until the recording ends."""
    value = target.value()
    if target.kind in (EXTEND, WHOLE):
        return [*map(id, value)]
    return mapped(value, _mark_of_content) if target.kind == STATE else _mark_of(value)


def _mark_of(value):
    plain = value.hint if type(value) is LazyScalar else value
    return number_bits(plain) if type(plain) is float else id(plain)


def _mark_of_content(value):
    """Likewise for a value in a content, which each look at the object makes anew."""
    return value if is_plain(value) and type(value) is not float else _mark_of(value)


def _plain_copy(container):
    """Return a copy of a container of a user class, past its methods; None for containers that `ContainerLog` tracks."""
    base = base_of(type(container))
    if base is type(container):
        return None
    if base is set:
        return content_of_set(container)
    return base(entries_of(container) if issubclass(base, dict) else base.__iter__(container))


def _items(container) -> list:
    if issubclass(type(container), (set, SetContent)):
        elements, layout = content_of_set(container) if issubclass(type(container), set) else container
        return [layout, *map(id, elements)]
    base = base_of(type(container))
    if issubclass(base, dict):
        return [tuple(map(id, item)) for item in entries_of(container)]
    return list(map(id, base.__iter__(container)))


def _is_still(before, now) -> bool:
    """Return whether a variable holds the same object; a number that was symbolic meanwhile is equal."""
    return before is now or (is_symbol(before) and hint(before) == now)


def _has_setter(owner, name) -> bool:
    """Return whether assigning to an attribute calls a function that is tracked itself: one of user code, one of a tensor, or
    one that writes to the tensors of a parametrisation."""
    found = static_attribute(type(owner), name)
    return (isinstance(found, property) and type(found.fset) is types.FunctionType
            and (isinstance(owner, Tensor) or is_user_defined(found.fset) or isinstance(found, ParametrizedTensor)))


_SETS_MODE = Module.train.__code__
_MODE = "training"


class ModuleWrites:
    """Attributes of modules written past all chains: `model.eval()`, `for m in model.modules(): m.p = 0.1`."""

    def __init__(self):
        self._first: dict = {}       # by id: (module, its attributes and buffers)
        self._tables: dict = {}      # by id: (module, its parameters, children and hooks, and the names of its buffers)
        self._ran: set = set()       # ids of modules whose library code may have read the mode
        self._names: set = set()     # attributes of untracked objects that code reads or writes
        self.read: set = set()       # attributes of untracked objects that code reads
        self.unread: set = set()     # locations that the run wrote without having read them

    def remember(self, module) -> list:
        """Remember the state of a module and of those below it, unless known; return the new ones."""
        below = modules_below(module) if id(module) not in self._first else []
        new = [m for _, m in below if id(m) not in self._first]
        for m in new:
            self._first[id(m)] = m, _attributes(m)
            self._tables[id(m)] = m, _tables_of(m)
        return new

    def left_by_others(self, module, names):
        """Note that the current values of some attributes of a module are not the function's doing."""
        if id(module) in self._first:
            _, before = self._first[id(module)]
            now = _attributes(module)
            for name in names:
                before.pop(name, None)
                before.update({name: now[name]} if name in now else {})

    def values(self) -> map:
        """Return the ids of the attributes of all modules that are known."""
        return map(id, chain.from_iterable([dict_of(m).values() for m, _ in self._first.values()]))

    def modules(self) -> list:
        return [m for m, _ in self._first.values()]

    def ran(self, module):
        self._ran.add(id(module))

    def named(self, names):
        self._names |= names

    def sets_mode(self, code, module, reads) -> bool:
        """Return whether the code that starts is `Module.train`; `reads` are the locations that were read before."""
        if code is not _SETS_MODE:
            return False
        place = id(module), _MODE
        if id(module) not in self._ran and place not in reads and _MODE not in self._names:
            self.unread.add(place)
        return True

    def may_be_read(self, module, name) -> bool:
        """Return whether code may read an attribute of a module to which no chain leads, library code of its class included."""
        kind: Any = type(module)
        return name in self.read or (id(module) in self._ran and not _names_in_library(kind).isdisjoint((name, "getattr")))

    def targets(self, known) -> list:
        """Return `Target`s of the written attributes, except for `known` locations."""
        found = []
        for at, (m, before) in self._first.items():
            now = _attributes(m)
            for name in before.keys() | now.keys():
                was = before.get(name, MISSING)
                if (at, name) not in known and now.get(name, MISSING) is not was:
                    found.append(Target(m, name, "attr", was, snapshot(was), f"{type(m).__name__}.{name}"))
        return found

    def restructured(self, written):
        """Return a module whose parts have changed, other than by the `written` locations; or None."""
        for m, before in self._tables.values():
            if _besides(m, _tables_of(m), written) != _besides(m, before, written):
                return m
        return None

    def reached(self) -> list:
        """Return the modules of which such an attribute, parameter or child may have been read or written, whether or not they
        ran."""
        every = not self._names.isdisjoint(TABLES)
        return [m for m, before in self._first.values()
                if every or not self._names.isdisjoint(
                    {*before, *_attributes(m), *dict_of(m)["_parameters"], *dict_of(m)["_modules"]})]


_OUTSIDE_OF_CALLS = frozenset(("__init__", "extra_repr", "reset_parameters"))      # methods of layers


@lru_cache(maxsize=1024)
def _names_in_library(kind) -> frozenset:
    """Return the names in the code that calls of a library's layers run, among a class of modules and its bases."""
    layers = [c for c in kind.__mro__ if "forward" in vars(c) and c is not Module and not is_user_defined(c)]
    codes = [f.__code__ for c in layers for name, f in vars(c).items()
             if isinstance(f, types.FunctionType) and name not in _OUTSIDE_OF_CALLS]
    return frozenset([name for code in codes for name in code.co_names])


def _attributes(m) -> dict:
    return {**attributes_of_module(m), **dict_of(m)["_buffers"]}


def _tables_of(m) -> tuple:
    own = dict_of(m)
    parts = [(name, id(v)) for table in (own["_parameters"], own["_modules"]) for name, v in table.items()]
    return parts, [*own["_buffers"]], own["_hooks"].numbers()


def _besides(m, tables, written) -> tuple:
    parts, *rest = tables
    return [part for part in parts if (id(m), part[0]) not in written], *rest
