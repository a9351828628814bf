"""Guards compiled to one function, which compares objects by identity.

    check = quick_check(guards)
    if check(): ...          # all hold; False only means "look closer"

The prefix of a chain has a guard of its own, so each line starts from the object that its prefix is known to be.
"""

import builtins
import inspect
import keyword
import types
from functools import cached_property, partial
from typing import Any

from ...runtime.state.structure import Structure
from ..bytecode.reads import ARGUMENT, LENGTH, MISSING, follow, is_user_function
from ..bytecode.user_code import dict_of, has_dict
from .absence import AbsentNames
from .class_entries import ClassTests, check_of
from .expectation import is_expectation
from .guards import FunctionGuard, Guard, StructureCondition, StructureTests
from .locations import SameAs, is_slot
from .references import Reference, is_passed, plain_module
from .snapshot import Snapshot


def quick_check(guards):
    """Compile guards to a function that returns True only if all hold."""
    names: dict[str, Any] = {"__name__": __name__, "Structure": Structure}
    return check_of(tests_of(guards, names), names)


def tests_of(guards, names: dict) -> list:
    """Return the guards as expressions over `names`, and add the objects that they need."""
    names["builtins"] = builtins
    lines, known, classes, counted = [], {}, ClassTests(), []
    name = partial(_name, names, {})
    for g in sorted(filter(_may_fail, guards), key=lambda g: len(g.chain.steps) if type(g) is Guard else 0):
        if classes.take(g):
            continue
        line = _line(g, name, known) if type(g) is Guard else None
        if type(g) is FunctionGuard and not g.named:
            f, parts = name(g.function), [name(x) for x in g.parts]
            line = f"{f}.__code__ is {parts[0]} and {f}.__defaults__ is {parts[1]} and {f}.__kwdefaults__ is {parts[2]}"
        if type(g) is AbsentNames:
            line = _absence_test(g, name)
        tests = g.tests(name) if isinstance(g, StructureCondition) else None
        if tests is not None:
            counted.append(g)
            lines += [f"({' and '.join(tests)} or {name(g)}.holds())"] if tests else []
            continue
        lines.append(line or f"{name(g)}.holds()")
    return [*classes.lines(name), *_test_of_structures(counted, name), *lines]


def _test_of_structures(conditions, name) -> list:
    if not conditions:
        return []
    all_of_them = name(StructureTests(conditions))
    return [f"({all_of_them}.version == Structure.version or {all_of_them}.holds())"]


def _may_fail(guard) -> bool:
    expected = guard.expected if type(guard) is Guard else None
    return type(expected) is not SameAs or guard.identity != expected.place.identity


def _line(guard, name, known):
    """Return one comparison by identity or of content, or None if the guard needs more."""
    place = id(guard.root), guard.chain.root, guard.chain.name
    known[place, guard.chain.steps] = guard
    itself = guard.expected.itself if type(guard.expected) is Snapshot else None
    expected = guard.expected if itself is None else itself
    is_demand = is_expectation(expected)
    if (guard.value() is not expected and not is_demand) or expected is MISSING:
        return None
    start, steps = _start(guard, name, known, place)
    if start is None:
        return None
    is_method = guard.method() is not None
    done = len(guard.chain.steps) - len(steps)
    for n, (kind, key) in enumerate(steps, 1):
        if not isinstance(key, (str, int)):
            return None
        owner = follow(guard.start(), guard.chain.steps[:done + n - 1]) if kind == "attr" else None
        if kind == "attr" and _is_looked_up_by_code(owner, key):
            return None
        if kind == "attr" and _may_run_code(owner, key):
            start = f"{start}.__dict__[{key!r}]"
            continue
        if is_method and n == len(steps):       # its object is not named here: another call may make another one
            start = f"(_owner := {start})"
        if kind == LENGTH:
            start = f"{'len' if key == LENGTH else 'bool'}({start})"
        else:
            start = f"{start}[{key!r}]" if kind == "item" else _attribute(start, str(key))
    if is_method:
        return f"(_method := {start}).__func__ is {name(guard.expected)} and _method.__self__ is _owner"
    if is_demand:
        return expected.test(start, name)
    same = f"{start} is {name(expected)}"
    return same if itself is None else f"({same} or {name(guard)}.holds())"


def _is_looked_up_by_code(owner, name) -> bool:
    """Return whether code of the user's runs for each attribute of an object, even its `__dict__`, or once a slot is empty."""
    kind: Any = type(owner)
    return is_user_function(getattr(kind, "__getattribute__", None)) or (
        is_user_function(getattr(kind, "__getattr__", None)) and is_slot(owner, name))


def _may_run_code(owner, name) -> bool:
    """Return whether code of the user's would answer for an attribute that an object has now, once the object loses it."""
    kind: Any = type(owner)
    is_class = issubclass(kind, type)         # (`isinstance` may run that code)
    if name not in dict_of(owner) or (is_class and hasattr(type(dict_of(owner)[name]), "__get__")):
        return False
    behind = None if is_class else inspect.getattr_static(kind, name, None)
    return (is_user_function(getattr(kind, "__getattr__", None)) or type(behind) is cached_property
            or is_user_function(getattr(type(behind), "__get__", None)))


def _absence_test(guard, name):
    if not has_dict(guard.owner) or is_user_function(getattr(type(guard.owner), "__getattribute__", None)):
        return None
    return f"{name(guard.owner)}.__dict__.keys().isdisjoint({name(guard.names)})"


def _start(guard, name_of, known, place):
    """Return (expression, remaining steps) from the longest guarded prefix of a chain, or from its root."""
    steps = guard.chain.steps
    for n in range(len(steps) - 1, -1, -1):
        prefix = known.get((place, steps[:n]))
        if prefix is not None and type(prefix.expected) is not types.FunctionType and prefix.value() is prefix.expected:
            return name_of(prefix.expected), steps[n:]
    root, name = guard.root, guard.chain.name
    if guard.chain.root == ARGUMENT:
        return name_of(root), steps
    if isinstance(root, types.CellType):
        return f"{name_of(root)}.cell_contents", steps
    if name in root:
        return f"{name_of(root)}[{name!r}]", steps
    return f"{name!r} not in {name_of(root)} and builtins.{name}", steps


def _attribute(start: str, key: str) -> str:
    """Return code that reads an attribute; `setattr` takes names that are no identifiers."""
    return f"{start}.{key}" if key.isidentifier() and not keyword.iskeyword(key) else f"getattr({start}, {key!r})"


def _name(names, known, value) -> str:
    """Return an expression for an object, which `known` has by its id; guards of one structure get the same ones."""
    name = known.get(id(value))
    if name is None:
        name = known[id(value)] = f"o{len(names)}"
        if is_passed(value):
            names[name], known[id(value)] = Reference(value).of, f"{name}()"
        else:
            names[name] = plain_module(value)       # (a traced module holds this code)
    return known[id(value)]
