"""Reads and writes of Python state in bytecode: chains such as `cfg.scale`, `self.training` or `table["k"]`.

A trace is right only while all that it read from Python is as it was. The chains of a code object are found once. When a frame
of that code starts, they are followed, and their values become guards.
"""

import types
from dataclasses import dataclass
from functools import _lru_cache_wrapper, cached_property
from types import MemberDescriptorType, ModuleType
from typing import NamedTuple

from ...ir.interrupts import raise_interrupt
from ...ir.registry import Registry
from ...runtime.core.tensor import Tensor
from ...runtime.nn.utils.parametrize import ParametrizedTensor
from .stack import CONSTANTS, instructions_of, is_lookup, of_code, variables_of
from .user_code import dict_of, has_library_methods, in_slot, is_a, is_own, is_user_code

CACHED = _lru_cache_wrapper     # class of functions with a cache, which count their calls
GLOBAL, FREE, ARGUMENT = "global", "free", "argument"
LENGTH, ANY = "length", "any"       # steps to the length of a list, and to whether it has items
LENGTH_OF, ANY_OF = ((LENGTH, LENGTH),), ((LENGTH, ANY),)
MOST_LAST = 256         # items at the end of a list that have guards of their own


class Chain(NamedTuple):
    """One read: a root and the steps from it, each ("attr", name), ("item", constant) or (LENGTH, LENGTH or ANY)."""

    root: str
    name: str
    steps: tuple

    def __str__(self):
        if is_length(self.steps):
            return f"{'len' if self.steps[-1:] == LENGTH_OF else 'bool'}({Chain(self.root, self.name, self.steps[:-1])})"
        return self.name + "".join(f".{k}" if kind == "attr" else f"[{key_text(k)}]" for kind, k in self.steps)


def key_text(key) -> str:
    """Return the text of a dictionary key for messages. A tensor shows no values: a recorder would note that they are read."""
    return f"<{type(key).__name__} of shape {list(key._a.shape)}>" if isinstance(key, Tensor) else repr(key)


@dataclass(frozen=True)
class Write:
    """Write to a global variable or to one of an enclosing function."""

    root: str
    name: str
    line: int

    def __str__(self):
        return f"the global {self.name}" if self.root == GLOBAL else f"the enclosing function's variable {self.name}"


ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_STORES = ("STORE_ATTR", "DELETE_ATTR")
_LOADS = {"LOAD_GLOBAL": GLOBAL, "LOAD_NAME": GLOBAL, "LOAD_DEREF": FREE, "LOAD_CLASSDEREF": FREE,
          "LOAD_FROM_DICT_OR_DEREF": FREE, "LOAD_FROM_DICT_OR_GLOBALS": GLOBAL}


@of_code()
def reads_of(code) -> tuple:
    """Return all chains that a code object reads, with their prefixes."""
    return tuple(dict.fromkeys([chain for _, chain in reads_at(code)]))


@of_code()
def reads_at(code) -> tuple:
    """Return (offset of the instruction, chain that it reads) of all reads; the iterable of a loop is read at each turn."""
    found: dict[tuple, None] = {}
    instructions = instructions_in(code)
    for at, root, steps, end in chains_in(code):
        ways = [steps[:n] for n in range(len(steps) + 1)]
        ways += [(*steps, ("item", -n)) for n in range(1, last_items(instructions, end) + 1)]
        ways += [(*way[:-1], ("item", -n)) for way in ways if counts_back(way) for n in range(1, -way[-1][1])]
        ways += [steps + LENGTH_OF] if is_measured(instructions, at, end) else []
        ways += [steps + ANY_OF] if is_tested(instructions, end) else []
        loop = [ins.offset for ins in instructions[end + 1:end + 2]
                if (instructions[end].opname, ins.opname) == ("GET_ITER", "FOR_ITER")]
        for way in ways:
            if way or root[0] != ARGUMENT:
                found.update(dict.fromkeys([(offset, Chain(root[0], root[1], way))
                                            for offset in (instructions[at].offset, *loop)]))
    return tuple(found)


@of_code()
def attribute_chains(code) -> dict:
    """Return {offset: chain that ends in the attribute} of the instructions that get an attribute on a chain."""
    instructions, found = instructions_in(code), {}
    for at, (root, name), steps, _ in chains_in(code):
        position = at + 1
        for n, (kind, _) in enumerate(steps):
            is_copied = kind == "attr" and instructions[position].opname not in ATTRIBUTES      # as in `a.n += 1`
            if kind == "attr":
                found[instructions[position + is_copied].offset] = Chain(root, name, steps[:n + 1])
            position += 1 if kind == "attr" else 2
    return found


@of_code()
def chains_of_generators(code) -> frozenset:
    """Return the chains to iterables of generator expressions that are not consumed where they are made."""
    instructions, found = instructions_in(code), set()
    for at, root, steps, end in chains_in(code):
        made = instructions[at - 1] if at else None
        is_made = instructions[end].opname == "GET_ITER" and made is not None and made.opname in (
            "MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE")
        names = [ins.argval for ins in instructions[max(at - 4, 0):at] if isinstance(ins.argval, types.CodeType)]
        calls = [ins.opname for ins in instructions[end + 1:end + 3]]
        if is_made and any(c.co_name == "<genexpr>" for c in names) and calls != ["CALL", "CALL"]:
            found.add(Chain(root[0], root[1], steps))
    return frozenset(found)


@of_code(256)
def chains_in(code) -> tuple:
    """Return (index of the load, variable as in `_root_of`, steps, index behind them) for each variable that code reads."""
    instructions, arguments, found = instructions_in(code), unassigned_arguments(code), []
    for at, ins in enumerate(instructions):
        root = _root_of(ins, code, arguments)
        if root is not None:
            steps = _steps_after(instructions, at + 1)
            found.append((at, root, steps, at + 1 + sum([1 if kind == "attr" else 2 for kind, _ in steps])))
    return tuple(found)


def counts_back(steps) -> bool:
    """Return whether steps end at an item counted from a list's end. After an append it is another item."""
    return bool(steps) and steps[-1][0] == "item" and type(steps[-1][1]) is int and -MOST_LAST <= steps[-1][1] < 0


def is_length(steps) -> bool:
    """Return whether steps lead to the length of a list."""
    return bool(steps) and steps[-1][0] == LENGTH


def last_items(instructions, at) -> int:
    """Return how many items code takes from the end of the value on top of the stack, as in `losses[-3:]`; 0 for other uses."""
    parts = [(i.opname, i.argval if i.opname in CONSTANTS else i.arg) for i in instructions[at:at + 4]]
    if len(parts) < 2 or parts[0][0] not in CONSTANTS:
        return 0
    first = parts[0][1]
    if isinstance(first, slice) and first.stop is first.step is None and is_lookup(instructions[at + 1]):
        first = first.start
    elif parts[1] != ("LOAD_CONST", None) or not (
            parts[2][0] == "BINARY_SLICE" or (parts[2:3] == [("BUILD_SLICE", 2)] and is_lookup(instructions[at + 3]))):
        return 0
    return -first if type(first) is int and -MOST_LAST <= first < 0 else 0


def is_tested(instructions, at) -> bool:
    """Return whether code tests the value on top of the stack for emptiness: `if log`, `not log`."""
    name = instructions[at].opname
    return name in ("TO_BOOL", "UNARY_NOT") or (name.startswith("POP_JUMP") and name.endswith(("IF_TRUE", "IF_FALSE")))


def is_measured(instructions, start, at) -> bool:
    """Return whether code calls `len` on the value that its instructions from `start` to `at` load."""
    asks, call = instructions[start - 1:start], instructions[at:at + 1]
    return bool(asks and call) and (asks[0].opname, asks[0].argval) == ("LOAD_GLOBAL", "len") and (
        call[0].opname, call[0].arg) == ("CALL", 1)


@of_code(256)
def instructions_in(code) -> tuple:
    """Return the instructions of code that have an effect; one of Python 3.13 that moves two variables counts as two."""
    found = []
    for ins in instructions_of(code):
        if type(ins.argval) is tuple and (moves := variables_of(ins)) is not None:
            found += [ins._replace(opname="STORE_FAST" if is_store else "LOAD_FAST", argval=name) for is_store, name in moves]
        elif ins.opname not in ("CACHE", "PRECALL", "EXTENDED_ARG", "RESUME"):
            found.append(ins)
    return tuple(found)


def unassigned_arguments(code) -> set:
    """Return the arguments that the code does not assign to. In Python 3.12 a comprehension sets its variable aside
    (LOAD_FAST_AND_CLEAR) and puts it back, which is no assignment."""
    stored, lent = set(), set()
    for ins in instructions_in(code):
        if ins.opname == "LOAD_FAST_AND_CLEAR":
            lent.add(ins.argval)
        elif ins.opname.startswith(("STORE_FAST", "DELETE_FAST", "STORE_DEREF", "DELETE_DEREF")):
            stored.add(ins.argval)
    return set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]) - (stored - lent)


def _root_of(ins, code, arguments) -> tuple | None:
    """Return (kind, name) of the variable that an instruction loads, if it is a root of chains."""
    kind = _LOADS.get(ins.opname)
    if kind == FREE and ins.argval not in code.co_freevars:       # a variable that inner functions see, too
        return (ARGUMENT, ins.argval) if ins.argval in arguments else None
    if kind:
        return kind, ins.argval
    return (ARGUMENT, ins.argval) if "LOAD_FAST" in ins.opname and ins.argval in arguments else None


def _steps_after(instructions, at) -> tuple:
    """Return the steps that instructions take from the variable on top of the stack."""
    steps = []
    while at < len(instructions):
        ins = instructions[at]
        if ins.opname in ATTRIBUTES:
            steps.append(("attr", ins.argval))
            at += 1
        elif ins.opname == "COPY" and at + 1 < len(instructions) and instructions[at + 1].opname in ATTRIBUTES:
            return *steps, ("attr", instructions[at + 1].argval)      # as in `a.n += 1`
        elif ins.opname in CONSTANTS and at + 1 < len(instructions) and is_lookup(instructions[at + 1]):
            steps.append(("item", ins.argval))
            at += 2
        elif ins.opname in CONSTANTS and is_updated(instructions, at):
            return *steps, ("item", ins.argval)
        else:
            break
    return tuple(steps)


def is_updated(instructions, at) -> bool:
    """Return whether the key at an index is that of an item that is read and set again, as in `a["n"] += 1`."""
    first, second, third = (*instructions[at + 1:at + 4], *[instructions[at]] * 3)[:3]
    return first.opname == second.opname == "COPY" and first.arg == second.arg == 2 and is_lookup(third)


@of_code()
def stores_of(code) -> tuple:
    """Return chains whose last step is an attribute that the code assigns to or deletes."""
    found: dict[Chain, None] = {}
    instructions = instructions_in(code)
    changed = {i.argval for i in instructions if i.opname in _STORES}
    for _, root, steps, end in chains_in(code):
        if end < len(instructions) and instructions[end].opname in _STORES:
            found.setdefault(Chain(root[0], root[1], (*steps, ("attr", instructions[end].argval))), None)
        elif steps and steps[-1][0] == "attr" and steps[-1][1] in changed:
            found.setdefault(Chain(root[0], root[1], steps), None)
    return tuple(found)


@of_code()
def writes_of(code) -> tuple:
    """Return the writes to globals and to variables of enclosing functions."""
    found, line = [], code.co_firstlineno
    for ins in instructions_of(code):
        if ins.positions and ins.positions.lineno:
            line = ins.positions.lineno
        if ins.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            found.append(Write(GLOBAL, ins.argval, line))
        elif ins.opname in ("STORE_DEREF", "DELETE_DEREF") and ins.argval in code.co_freevars:
            found.append(Write(FREE, ins.argval, line))
    return tuple(found)


VIEWED: dict = Registry()       # (id of an object, attribute) -> its `ThreadView` while a call is recorded


class Missing:
    """Value of a chain that leads to no attribute or item."""

    def __repr__(self):
        return "<missing>"


MISSING = Missing()


def follow(root, steps, is_again=False):
    """Return the value at the end of a chain, or MISSING. No user code runs. `is_again` lets errors through."""
    value = root
    for kind, key in steps:
        try:
            if kind == "attr":
                value = dict_of(value)[key] if _plain_instance(value, key) else _attribute_of(value, key)
            elif kind == LENGTH:
                value = MISSING if type(value) is not list else len(value) if key == LENGTH else bool(value)
            elif computes_items(type(value)):
                value = MISSING
            elif type(value).__getitem__ is dict.__getitem__:
                value = dict.__getitem__(value, key) if key in value else MISSING       # unlike defaultdict, adds nothing
            else:
                value = value[key]
        except Exception as error:       # of a user's __getattr__ or __getitem__
            if is_again:
                raise
            raise_interrupt(error, follow, value, ((kind, key),), True)
            return MISSING
    return value


def _attribute_of(owner, name):
    """Return an attribute that an object does not hold in its `__dict__`, or MISSING if code of the user's gives it."""
    found = in_class(type(owner), name)
    if type(found) is MemberDescriptorType:
        return in_slot(found, owner, MISSING)
    return MISSING if is_computed(owner, name) else getattr(owner, name)


def is_computed(owner, name) -> bool:
    """Return whether code gives an attribute that is tracked when it runs: a property of the user, another descriptor,
    `__getattr__`, `__getattribute__`, or a parametrisation."""
    kind = type(owner)
    if is_user_function(getattr(kind, "__getattribute__", None)):
        return True
    found = in_class(kind, name)
    if isinstance(found, cached_property) or found is MISSING:
        is_there = name in dict_of(owner)
        asks = dict_of(owner).get("__getattr__") if kind is ModuleType else getattr(kind, "__getattr__", None)
        if not is_there and (found is not MISSING or is_user_function(asks)):
            return True
    elif type(found) is MemberDescriptorType:
        return is_user_function(getattr(kind, "__getattr__", None)) and in_slot(found, owner, MISSING) is MISSING
    elif isinstance(found, property):
        return is_user_function(found.fget) or type(found.fget) is CACHED or isinstance(found, ParametrizedTensor)
    elif _is_getter(found):
        return hasattr(type(found), "__set__") or name not in dict_of(owner)
    return isinstance(owner, type) and _is_getter(in_class(owner, name))


def in_class(cls, name):
    """Return what a class or one of its bases holds under a name, or MISSING."""
    for c in cls.__mro__:
        found = c.__dict__.get(name, MISSING)
        if found is not MISSING:
            return found
    return MISSING


def static_attribute(cls, name):
    """Return what a class, or else its metaclass, holds under a name, or MISSING. No code of theirs runs."""
    found = in_class(cls, name)
    return in_class(type(cls), name) if found is MISSING else found


def _is_getter(value) -> bool:
    return is_user_function(getattr(type(value), "__get__", None))


def is_made_by_library(value) -> bool:
    """Return whether an object of a class makes attributes by Python code of a library, as `singledispatchmethod` does."""
    found = getattr(type(value), "__get__", None)
    return type(found) is types.FunctionType and not is_user_function(found) and not is_own(found.__module__)


def computes_items(kind) -> bool:
    """Return whether Python code gives the items of objects of a class: the user's, or that of `UserDict`, `ChainMap` and the
    like, whose attributes are compared."""
    found = getattr(kind, "__getitem__", None)
    return type(found) is CACHED or (
        type(found) is types.FunctionType and (is_user_function(found) or has_library_methods(kind)))


def computed_at(root, steps) -> int | None:
    """Return the number of the first step of a chain that runs user code, or None."""
    value = root
    for n, (kind, key) in enumerate(steps):
        if is_computed(value, key) if kind == "attr" else kind == "item" and computes_items(type(value)):
            return n
        value = follow(value, steps[n:n + 1])
    return None


def is_user_function(f) -> bool:
    """Return whether a value is a function of user code, which is tracked when it runs."""
    return type(f) is types.FunctionType and is_user_code(f.__globals__.get("__name__", ""), f.__code__.co_filename)


def _plain_instance(value, key) -> bool:
    own = dict_of(value)
    return type(own) is dict and key in own and not is_a(value, type) and not (VIEWED and (id(value), key) in VIEWED)
