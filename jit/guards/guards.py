"""Guards: conditions on state outside of a recording. Guards on values of Python state, on modules and on functions."""

import types
from collections.abc import Callable
from dataclasses import dataclass
from operator import is_not
from typing import Any

from ...runtime.core.composite_tensors import PARTS, values_in
from ...runtime.core.tensor import Tensor
from ...runtime.nn.base.hooks import GLOBAL
from ...runtime.nn.base.module import TABLES
from ...runtime.state.structure import Structure, replaced_functions
from ..bytecode.reads import ARGUMENT, MISSING, Chain, is_user_function
from ..bytecode.user_code import attributes_of_module, dict_of, is_a, is_user_defined
from ..proxies.numpy_scalars import NUMBERS
from .expectation import PartsExpectation
from .locations import ChangedValue, Location
from .references import Held, Reference, reference_to
from .snapshot import Exactly, Snapshot, change_in_words, demand_alike, first_change, looks_like, snapshot

_MOST_INLINE = 64       # modules whose tests stand in the code of a check
UNREAD = object()       # value of an attribute that the function writes without reading it


class Condition:
    """Condition that a recording relies on. Its `str` says what is different now, and `way_out` what to do where that makes
    too many recordings."""

    way_out = "leave it as it is between calls, or trace a function for each case"

    def holds(self) -> bool:
        raise NotImplementedError

    def changed_values(self) -> list:
        """Return the numbers and tensors that could be looked up at each call instead, if nothing else differs."""
        return []

    def tensors(self) -> dict:
        """Return the tensors, by id, that the function reaches through the guarded state."""
        return {}

    def covers(self, other) -> bool:
        """Return whether another condition of the same identity holds wherever this one does. Another path of a recording may
        use a container in more ways, and expect more of it."""
        return not hasattr(self, "expected") or demand_alike(self.expected, other.expected)


class StructureCondition(Condition):
    """Condition that can only fail after a module, optimizer or hook of the process has changed."""

    version: int | None
    is_counted = True       # whether all guarded objects count their changes

    def __init__(self):
        self.version = Structure.version

    def is_as_before(self) -> bool:
        """Compare the state itself."""
        raise NotImplementedError

    def tests(self, name_of) -> list | None:
        """Return expressions, over what `name_of` names, that the condition needs while no structure changes; None where only
        `holds` can tell."""
        return [] if self.is_counted else None

    def holds(self) -> bool:
        """Compare the state if any structure has changed since the last time."""
        now = Structure.version
        if now != self.version:
            if not self.is_as_before():
                return False
            self.version = now
        return True


@dataclass(frozen=True, eq=False)
class Guard(Location, Condition):
    """Following a chain from a root leads to the same value as when the trace was recorded."""

    expected: object     # as `snapshot` gives it
    where: str = ""      # the function that read it, as file:line
    is_method: bool | None = None       # whether the expected function is a method there, bound to the object on the way

    def __post_init__(self):
        if self.is_method is None:
            object.__setattr__(self, "is_method", self._has_method())

    def _has_method(self) -> bool:
        return type(self.expected) is types.FunctionType and self.method() is not None

    def holds(self) -> bool:
        return looks_like(self.value(), self.expected) and self._has_method() is self.is_method

    def covers(self, other) -> bool:
        return self.is_method is other.is_method and super().covers(other)

    def changed_values(self) -> list:
        return changed_values_in(self.along(self.chain.steps), self.expected, self.value())

    def __str__(self):
        where = f" (read in {self.where})" if self.where else ""
        if looks_like(self.value(), self.expected) and not self.holds():
            kinds = ("a method of its owner", "a function that takes no owner")
            was, now = kinds if self.is_method else kinds[::-1]
            return f"{self.chain} was {was}, is {now}{where}"
        path, before, now = first_change(self.value(), self.expected)
        return change_in_words(f"{self.chain}{path}", before, now) + where


Guard.expected = Held("expected")       # type: ignore[assignment]


def changed_values_in(place, expected, now) -> list:
    """Return `ChangedValue` for each number and tensor that differs from the expected one, if nothing else does."""
    if looks_like(now, expected):
        return []
    if is_a(expected, Exactly):
        return changed_values_in(place, expected.expected, now) if expected.is_it(now) else []
    is_snapshot = is_a(expected, Snapshot)
    if expected.base in (expected.kind, tuple) if is_snapshot else issubclass(type(expected), PartsExpectation):
        parts = [((*place.chain.steps, (expected.step, key)), before, v) for key, before, v in expected.differing(now)]
        return _changed_values_in_all([(place.along(steps), *both) for steps, *both in parts])
    is_number = type(now) is type(expected) and type(now) in NUMBERS
    is_tensor = is_a(now, Tensor) and type(now) is type(expected) and type(now) not in PARTS
    return [ChangedValue(place, expected)] if (is_number and place.is_settable) or is_tensor else []


def _changed_values_in_all(parts) -> list:
    """Return `changed_values_in` of all parts, or nothing if one of them differs in another way."""
    found = [changed_values_in(*part) for part in parts]
    return [x for inside in found for x in inside] if all(found) else []


class StructureTests:
    """Conditions that hold while no structure changes, by one comparison."""

    def __init__(self, conditions):
        self._conditions, self.version = conditions, None

    def holds(self) -> bool:
        now = Structure.version
        if not all([c.holds() for c in self._conditions]):  # noqa: C419
            return False
        self.version = now
        return True


class ModulesGuard(StructureCondition):
    """State of the modules that ran, and the functions that they call by name. It is compared only after some module of the
    process has changed, or where one of them has another attribute: code may set it past its `__setattr__`, as
    `vars(m)["p"] = 2` does. The mode counts elsewhere."""

    def __init__(self, modules, inputs, written=None, toggled=(), may_read=lambda m, name: True):
        """`written` are attributes that the function writes itself: {(id of the module, name): value from before, or UNREAD}.
        `toggled` are ids of parameters that started or stopped requiring grad. `may_read` tells whether code may read an
        attribute of a module."""
        super().__init__()
        if written or toggled:
            self.version = None         # the modules are as the function left them, and not as they were
        self.written = written or {}
        states = [(m, self._state(m, self.written, toggled)) for m in modules]
        self._states = [(reference_to(m), {k: _expected(m, k, v, inputs) for k, v in state.items()}) for m, state in states]
        self.identity = tuple([id(m) for m, _ in self.states])
        self._replaced = replaced_functions()
        self._names = [[k for k in attributes_of_module(m) if k != "training" and (id(m), k) not in self.written and (
                        may_read(m, k) or hasattr(type(m), k))] for m, _ in states]      # (which may be a method)
        self._note_attributes()

    def _note_attributes(self):
        """Note the attributes. Of modules that the guard must not keep, ids stand for these."""
        held = [(m, names) for (m, _), (reference, _), names in zip(self.states, self._states, self._names)
                if type(reference) is not Reference]
        self._modules = [m for m, _ in held]
        self._read = [(dict_of(m), names) for m, names in held if names]
        self._tables = [dict_of(m) for m in self._modules if is_user_defined(type(m))]     # which may get methods
        self._sizes, self._values = list(map(len, self._tables)), self._values_now()
        self._others = [(reference, names) for (reference, _), names in zip(self._states, self._names)
                        if type(reference) is Reference]
        self._of_others = [_ids_in(reference(), names) for reference, names in self._others]

    def _values_now(self) -> list:
        """Return the attributes that code reads and does not write."""
        return [table.get(name, MISSING) for table, names in self._read for name in names]

    def tests(self, name_of) -> list | None:
        if len(self._modules) > _MOST_INLINE or sum([len(names) for _, names in self._others]) > _MOST_INLINE:
            return None
        tests = [f"len({name_of(table)}) == {len(table)}" for table in self._tables]
        tests += [f"{name_of(table)}[{k!r}] is {name_of(table.get(k, MISSING))}" for table, names in self._read for k in names]
        for (reference, names), ids in zip(self._others, self._of_others):
            if is_user_function(getattr(type(reference()), "__getattribute__", None)):
                return None
            if ids is not None:
                count, numbers = ids
                tests.append(f"len(_attributes := ({name_of(reference.of)}() or {name_of(self)}).__dict__) == {count}")
                tests += [f"id(_attributes.get({name!r})) == {number}" for name, number in zip(names, numbers)]
        return tests

    def _has_same_attributes(self) -> bool:
        if list(map(len, self._tables)) != self._sizes or any(map(is_not, self._values_now(), self._values)):
            return False
        others = zip(self._others, self._of_others)
        return all(_ids_in(reference(), names) in (ids, None) for (reference, names), ids in others)   # (None: it is gone)

    def holds(self) -> bool:
        now = Structure.version
        if now == self.version and self._has_same_attributes():
            return True
        if not self.is_as_before():
            return False
        self.version = now
        self._note_attributes()
        return True

    @property
    def states(self) -> list:
        """Pairs of a module, or None if it is gone, and its compared state."""
        return [(reference(), state) for reference, state in self._states]

    @property
    def _living(self) -> list:
        return [(m, state) for m, state in self.states if m is not None]

    def _state(self, m, written, toggled=()):
        """Return the compared state of a module; with `written` and `toggled`, that from before the function wrote."""
        state = module_state(m, toggled)
        if self.written:
            found = {k: (id(m), k) for k in state if (id(m), k) in self.written}
            state.update({k: written.get(at, state[k]) for k, at in found.items()})
            for k in [k for k, at in found.items() if self.written[at] is UNREAD or state[k] is MISSING]:
                del state[k]
        return state

    def is_as_before(self) -> bool:
        return self._has_same_functions() and all(
            m is not None and same_state(self._state(m, {}), state) for m, state in self.states)

    def _has_same_functions(self) -> bool:
        now = replaced_functions()
        return len(now) == len(self._replaced) and all(a[:2] == b[:2] and a[2] is b[2] for a, b in zip(now, self._replaced))

    def covers(self, other) -> bool:
        return demand_alike(self.written, other.written) and all(
            state.keys() == more.keys() and all(demand_alike(state[k], more[k]) for k in state)
            for (_, state), (_, more) in zip(self.states, other.states))

    def changed_values(self) -> list:
        parts = []
        for m, state in self._living:
            now = self._state(m, {})
            both = {k: (state.get(k, MISSING), now.get(k, MISSING)) for k in {**state, **now}}
            parts += [(Location(Chain(ARGUMENT, type(m).__name__, (("attr", k),)), Reference(m)), was, value)
                      for k, (was, value) in both.items() if not looks_like(value, was)]
        return _changed_values_in_all(parts)

    def __str__(self):
        if not self._has_same_functions():
            names = dict.fromkeys([f[1] for f in (*replaced_functions(), *self._replaced)])
            return f"functions that layers call were replaced in ingot.nn.functional ({', '.join(names)})"
        name = "a module that is gone"
        for m, state in self._living:
            now, name = self._state(m, {}), type(m).__name__
            for key in {**state, **now}:
                was, is_now = state.get(key, MISSING), now.get(key, MISSING)
                if not looks_like(is_now, was):
                    return _change_of_module(name, key, was, is_now)
        return f"the parameters, children or attributes of {name} are in another order"


def _ids_in(m, names) -> tuple | None:
    """Return how many attributes a module has, and the ids of some of them; None if it is gone."""
    return None if m is None else (len(dict_of(m)), [id(dict_of(m).get(name)) for name in names])


def _change_of_module(name, key, was, now) -> str:
    """Return in words what changed in the state of a module."""
    if not key:
        return f"the class or the hooks of {name}, or which of its parameters require grad, are others than before"
    if was is MISSING or now is MISSING:
        return f"{name}.{key} was {'removed' if now is MISSING else 'added'}"
    path, was, now = first_change(now, was)
    return change_in_words(f"{name}.{key}{path}", was, now)


def _expected(m, key, value, inputs):
    contents = None if inputs.contents is None else inputs.contents.expected(value)
    expected = contents or inputs.same_as(value, m, key) or snapshot(value, inputs)
    return expected if inputs.contents is None else inputs.contents.exact(expected, value)


def module_state(m, toggled=()) -> dict:
    """Return the parts of a module, one level deep, and under "" its class, the order of its tables, its hooks, and which
    parameters require grad, negated for ids in `toggled`."""
    state = attributes_of_module(m)
    own = dict_of(m)
    tables = _tables_of(own)
    for table in tables:
        state.update(table)
    asks = [p is not None and (values_in(p)._node is not None) != (id(p) in toggled)        # for gradients
            for p in own["_parameters"].values()]
    order = *map(tuple, tables), tuple(sorted(own["_non_persistent_buffers_set"]))
    state[""] = type(m), order, own["_hooks"].numbers(), GLOBAL.numbers(), tuple(asks)
    return state


def part_of(m, name):
    """Return an attribute, parameter, buffer or child of a module, or None."""
    own = dict_of(m)
    return next((table[name] for table in (*_tables_of(own), own) if name in table), None)


def _tables_of(own: dict) -> tuple:
    """Return the tables of parameters, buffers and children in the attributes of a module."""
    return own["_parameters"], own["_buffers"], own["_modules"]


def module_attribute(m, name):
    """Return an attribute, parameter, buffer or child of a module, or MISSING; a user's `__getattribute__` does not run."""
    if not is_user_function(getattr(type(m), "__getattribute__", None)):
        return getattr(m, name, MISSING)
    return part_of(m, name) if has_part(m, name) else MISSING


def has_part(m, name) -> bool:
    """Return whether a module has an attribute, parameter, buffer or child of a name."""
    own = dict_of(m)
    is_attribute = name in own and name not in TABLES
    return is_attribute or any(name in table for table in _tables_of(own))


def tensors_of(m) -> list:
    """Return the tensors among the parameters, buffers and attributes of a module."""
    parts = *attributes_of_module(m).values(), *dict_of(m)["_parameters"].values(), *dict_of(m)["_buffers"].values()
    return [x for x in parts if is_a(x, Tensor)]


def same_state(now, before) -> bool:
    """Return whether two states of a module agree."""
    return len(now) == len(before) and all(k in now and looks_like(now[k], v) for k, v in before.items())


@dataclass(frozen=True, eq=False)
class ReadCondition(Condition):
    """A function without arguments returns the same value as when the trace was recorded."""

    identity: tuple
    read: Callable
    expected: Any
    text: str

    @staticmethod
    def of(identity, read, text, expect=lambda value: value) -> "ReadCondition":
        """Return the condition that `read` goes on to return what it does now, as `expect` turns it into an expectation."""
        return ReadCondition(identity, read, expect(read()), text)

    def holds(self) -> bool:
        return looks_like(self.read(), self.expected)

    def __str__(self):
        return change_in_words(self.text, self.expected, self.read())


def same_namespace(attributes: dict, owner) -> ReadCondition:
    """Return the condition that an object has its attributes in the same dictionary."""
    return ReadCondition(("namespace", id(attributes)), lambda: dict_of(owner) is attributes, True,
                         f"whether a {type(owner).__name__} has the same __dict__ as before")


class FunctionGuard(Condition):
    """A function has the same code and defaults; reloading replaces them in the same object."""

    function = Held("function")

    def __init__(self, function):
        self.function, self.identity = function, ("function", id(function))
        self.parts = function.__code__, function.__defaults__, function.__kwdefaults__
        named = function.__kwdefaults__ or {}
        self.named = [(name, named[name]) for name in named]       # they may be set one by one

    def holds(self) -> bool:
        code, defaults, named = self.parts
        f = self.function
        return (f.__code__ is code and f.__defaults__ is defaults and f.__kwdefaults__ is named
                and all(named.get(name, MISSING) is value for name, value in self.named))

    def __str__(self):
        return f"the function {self.function.__qualname__} has other code or defaults"
