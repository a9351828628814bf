"""Doors: public functions from which an exception leaves without ingot's frames.

`door(fn)` appends an exception handler to the code of a function, as `try: ... except: left(); raise` around its body would.
`left` shortens the traceback, and Python adds no entry for a frame that raises again. So the function vanishes from
tracebacks for every reader of them: `logging`, `traceback`, debuggers, test runners. A handler inside of this one calls
`explain`, which may raise another error for an argument of a wrong type. A wrapper would cost a frame at each call, and a
handler in the source of each of 2,000 functions would hide what they do. A handler in the code costs nothing until something
is raised.

The interpreter compiles the handler, so its instructions are those of this version. Generators have no door: they run in the
frame of the loop that calls them. A Python newer than `_LAST_KNOWN`, whose exception tables were not checked, gets no doors.
Tracebacks are then shortened where they are shown (`ir/error_texts/shown_errors.py`).
"""

import dis
import sys
import types
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

from .process_state import without_warnings
from .tracebacks import explain, is_own_module, left, left_getattr

_LAST_KNOWN = (3, 13)
_GENERATORS = 0x20 | 0x80 | 0x200         # flags of generators, coroutines and asynchronous generators
_OF_FUNCTIONS = 0x1 | 0x2                # flags of functions, which class bodies lack
_UNIT = 2                                 # bytes of an instruction without arguments
_NO_LINE = 0xF8                           # an entry of a line table: up to 8 units that belong to no line
_LONGEST = 8
_TEMPLATE = """
def template():
    try:
        try:
            body()
        except:
            "explain"()
            raise
    except:
        "left"()
        raise
"""


class Leaving:
    """The call in a door that first lets `change` see the error, with a name: errors of operators get that of the function."""

    def __init__(self, change, name: str):
        self.change, self.name = change, name

    def __call__(self) -> None:
        self.change(sys.exception(), self.name)
        left(3)


def door(fn, leaving=left, explaining=explain):
    """Let exceptions leave a function without ingot's frames. Return the function, so this is a decorator.

    A class can hold a function of the standard library: an `Enum` has the `__new__` of `enum`.
    """
    if type(fn) is types.FunctionType and is_own_module(fn.__module__ or ""):
        fn.__code__ = with_door(fn.__code__, leaving, explaining)
    return fn


def door_of_getattr(fn):
    """Give the door of a `__getattr__`, which is quick. Return the function, so this is a decorator."""
    return door(fn, left_getattr, bool)         # (a call that does nothing)


def give_doors(space: dict) -> None:
    """Give a door to the functions of ingot in a namespace, and to the methods of its classes."""
    for value in [*space.values()]:
        if isinstance(value, type):
            if is_own_module(value.__module__):
                give_methods_doors(value)
        elif type(value) is types.FunctionType and is_own_module(value.__module__ or ""):
            door(value)


def with_doors(cls: type) -> Any:
    """Give doors to the public methods of a class. Return the class, so this is a decorator."""
    give_methods_doors(cls)
    return cls


def give_methods_doors(cls: type) -> None:
    """Give a door to the public methods and properties of a class, and of its bases that are ingot's."""
    for base in cls.__mro__:
        if base in _finished or not is_own_module(base.__module__):
            continue
        _finished.add(base)
        for name, value in vars(base).items():
            if name[0] == "_" and (name[:2] != "__" or name in _WITHOUT):
                continue
            if type(value) is property:
                door(value.fget)
                door(value.fset)
            else:
                door(getattr(value, "__func__", value))


_finished: set[type] = set()
_WITHOUT = frozenset(("__getattr__", "__getattribute__", "__del__"))        # `hasattr` calls the first two, and must stay quick


def with_door(code: types.CodeType, leaving=left, explaining=explain) -> types.CodeType:
    """Return code with a handler around the whole of it; the code itself if it is a generator's, or has a handler."""
    constants, flags = code.co_consts, code.co_flags
    if type(leaving) is Leaving and left in constants:      # a module that imports the function gave it a door without a name
        return code.replace(co_consts=tuple([leaving if c is left else c for c in constants]))
    if has_door(code) or flags & _GENERATORS or len(constants) > 254 or sys.version_info[:2] > _LAST_KNOWN:
        return code
    constants = tuple([with_door(c) if type(c) is types.CodeType and _is_function(c) else c for c in constants])
    instructions, after, ranges, stack = _handler(len(constants))
    text = code.co_code
    end = len(text) // _UNIT
    table = code.co_exceptiontable
    return code.replace(
        co_code=text + instructions, co_consts=(*constants, explaining, leaving), co_stacksize=max(code.co_stacksize, stack),
        co_linetable=code.co_linetable + after,
        co_exceptiontable=(_covered(table, end) if table else _entry(0, end, end, 0))
        + b"".join([_entry(end + start, length, end + target, depth) for start, length, target, depth in ranges]))


def leaving_of(fn) -> Callable:
    """Return the call in the door of a function."""
    return next((c for c in fn.__code__.co_consts if type(c) is Leaving), left)


def has_door(code: types.CodeType) -> bool:
    """Return whether code has the handler of a door."""
    return any(c is left or c is left_getattr or type(c) is Leaving for c in code.co_consts)


def _is_function(code: types.CodeType) -> bool:
    """Return whether code inside of a function is that of a function that it may return, as `vmap` does."""
    return code.co_flags & _OF_FUNCTIONS == _OF_FUNCTIONS and code.co_name[0] != "<"


@cache
def _handler(constant: int) -> tuple:
    """Return (instructions, their line table, entries of their exception table, stack) of a handler that finds `explain` and
    `left` among the constants from `constant` on."""
    made, places, after, ranges, stack = _compiled()
    text = bytearray(made)
    for number, at in enumerate(places, constant):
        text[at] = number
    return bytes(text), after, ranges, stack


@cache
def _compiled() -> tuple:
    """Return the handler of `_TEMPLATE`, with the positions of the numbers of the constants that are called."""
    names: dict[str, Any] = {}
    with without_warnings(category=SyntaxWarning):          # a text is called
        exec(compile(_TEMPLATE, "<a door of ingot>", "exec"), names)
    code = names["template"].__code__
    (_, _, start, _), *ranges = _entries(code.co_exceptiontable)
    loads = {i.argval: i.offset for i in dis.get_instructions(code) if i.opname == "LOAD_CONST"}
    made = code.co_code[start * _UNIT:]
    return (made, [loads[name] + 1 - start * _UNIT for name in ("explain", "left")], _without_lines(len(made) // _UNIT),
            [(first - start, length, target - start, depth) for first, length, target, depth in ranges], code.co_stacksize)


def _without_lines(units: int) -> bytes:
    whole, rest = divmod(units, _LONGEST)
    return bytes([_NO_LINE | (_LONGEST - 1)] * whole + ([_NO_LINE | (rest - 1)] if rest else []))


# Exception tables: (start, length, target, depth and a flag) of ranges in order, in numbers of 6 bits a byte.


def _entries(table: bytes) -> list:
    numbers: list = []
    for byte in table:
        if numbers and numbers[-1][1]:
            numbers[-1] = numbers[-1][0] << 6 | byte & 0x3F, byte & 0x40
        else:
            numbers.append((byte & 0x3F, byte & 0x40))
    values = [number for number, _ in numbers]
    return [tuple(values[i:i + 4]) for i in range(0, len(values), 4)]


@lru_cache(1024)
def _entry(*numbers: int) -> bytes:
    made = bytearray()
    for number in numbers:
        shift = 6 * ((max(number.bit_length(), 1) - 1) // 6)
        while shift >= 0:
            made.append(number >> shift & 0x3F | (0x40 if shift else 0))
            shift -= 6
    made[0] |= 0x80
    return bytes(made)


def _covered(table: bytes, end: int) -> bytes:
    """Return a table in which a handler at `end` takes all that no other one takes."""
    made, at = bytearray(), 0
    for start, length, target, depth in [*_entries(table), (end, 0, 0, 0)]:
        if start > at:
            made += _entry(at, start - at, end, 0)
        if length:
            made += _entry(start, length, target, depth)
        at = start + length
    return bytes(made)
