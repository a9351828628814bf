"""State of the process that functions of libraries read besides their operands, as conditions on it.

A function that the tables of `call_rules.py` call pure gives the same result for the same operands as long as this state is the
same. Among it are time zone and locale, error handlers of codecs, and how numpy treats floating point errors: it may raise
them, or give warnings that a filter turns into errors. Modules of the library stand by their names, since most programs never
import them.
"""

import codecs
import copyreg
import io
import locale
import os
import pickle
import re
import shutil
import sys
import time
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...ir.interrupts import raise_interrupt
from ..guards.expectation import Expectation
from ..guards.guards import ReadCondition
from ..guards.held_content import settings_of
from ..guards.snapshot import snapshot

_LONGEST = 640      # digits of a whole number that Python always converts
_DEEPEST = 4        # containers in containers that are searched
_MOMENTS = (0, 15_552_000, 1_577_836_800, 1_593_561_600)      # two winters and two summers
_BY_LOCALE = re.compile(r".{0,12}n")        # the format of a number with the separators of the locale


def _errors() -> tuple:
    return *np.geterr().values(), np.geterrcall()


class _Equal(Expectation):
    """Demand for an equal tuple of values of the library."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def matches(self, now) -> bool:
        return now == self.value


def _filters() -> tuple:
    return tuple(warnings.filters)


def _zone() -> tuple:
    return *[(t.tm_zone, t.tm_gmtoff) for t in map(time.localtime, _MOMENTS)], os.environ.get("TZ")


def _locale() -> tuple:
    found: Any = locale
    return locale.setlocale(locale.LC_ALL), {**found._override_localeconv}


def _reductions() -> tuple:
    found: Any = copyreg
    return {**copyreg.dispatch_table}, {**found._inverted_registry}


def _command_line() -> tuple:
    """Return what `argparse` and `getopt` read of the process, and the width of the help text."""
    return *sys.argv, os.environ.get("POSIXLY_CORRECT"), *shutil.get_terminal_size()


def _printing() -> tuple:
    polynomials, masked = [sys.modules.get(f"numpy.{name}") for name in ("polynomial._polybase", "ma.core")]
    shown: Any = getattr(masked, "masked_print_option", None)
    return (np.get_printoptions(), getattr(getattr(polynomials, "ABCPolyBase", None), "_use_unicode", None),
            (shown.display(), shown.enabled()) if shown else None)


def _zone_files() -> tuple:
    zones: Any = sys.modules["zoneinfo"]
    return zones.TZPATH


def _dialects() -> dict:
    csv: Any = sys.modules["csv"]
    names = "delimiter", "doublequote", "escapechar", "lineterminator", "quotechar", "quoting", "skipinitialspace", "strict"
    found = {name: csv.get_dialect(name) for name in csv.list_dialects()}
    return {name: [getattr(dialect, n) for n in names] for name, dialect in found.items()} | {"": csv.field_size_limit()}


def _decimal_defaults() -> tuple:
    return settings_of(sys.modules["decimal"].DefaultContext)


# Name of a state -> (function that reads it, its text).
_STATES: dict[str, tuple[Callable, str]] = {
    "errors": (_errors, "how numpy treats floating point errors"),
    "filters": (_filters, "the filters of warnings"),
    "zone": (_zone, "the time zone"),
    "locale": (_locale, "the locale"),
    "reductions": (_reductions, "how objects are copied and pickled (copyreg)"),
    "dialects": (_dialects, "the dialects of csv files"),
    "digits": (sys.get_int_max_str_digits, "the most digits of a number in text"),
    "printing": (_printing, "how numpy prints"),
    "decimals": (_decimal_defaults, "the default context of decimal numbers"),
    "command": (_command_line, "the command line, or the width of the terminal"),
    "zones": (_zone_files, "the folders with files of time zones"),
}
# Function, class or module -> names of the states that it reads.
_READ_BY: dict = {
    "numpy": ("errors", "filters"), "time": ("zone",), "datetime": ("zone",),
    **dict.fromkeys(("datetime.datetime.utcnow", "datetime.datetime.utcfromtimestamp"), ("zone", "filters")),
    **dict.fromkeys(["time.strftime", "time.strptime", *[f"datetime.{kind}.{name}" for kind in ("date", "datetime", "time")
                                                          for name in ("strftime", "strptime", "__format__")]],
                    ("zone", "locale")),
    "calendar": ("locale",), "locale": ("locale",), "copy": ("reductions",), "pickle": ("reductions",), "csv": ("dialects",),
    "decimal.Context": ("decimals",), "argparse": ("command",), "getopt": ("command",), "zoneinfo": ("zones",),
}
_MAKE_TEXT = frozenset([f"builtins.{name}" for name in ("str", "repr", "ascii", "format", "str.format", "object.__format__",
                                                        "object.__repr__", "object.__str__")])
_TEXT_METHODS = frozenset(("__str__", "__repr__", "__format__"))
_OF_CODECS = frozenset(("builtins.str.encode", "builtins.bytes.decode", "builtins.bytearray.decode", "builtins.str",
                        "builtins.bytes", "builtins.bytearray"))


def condition_on(name: str) -> ReadCondition:
    """Return the condition that a state is as it is now."""
    read, text = _STATES[name]
    return ReadCondition.of(("ambient", name), read, text, _Equal if name == "filters" else snapshot)


def states_of_call(text: str, values, at_start: dict) -> list:
    """Return the conditions on the states that a function of a library reads, called with some values. `at_start` are those
    that code may change for a while, and changes again in replays: {name: condition, as the call found the state}."""
    found = states_of_module(text, at_start)
    if text.startswith("dataclasses."):
        found += [_fields_of(x if isinstance(x, type) else type(x)) for x in values]
    if text in _MAKE_TEXT and any(_holds(x, lambda v: type(v).__module__.startswith("numpy")) for x in values):
        found.append(condition_on("printing"))
    if text in _MAKE_TEXT:
        found += [_text_of(x) for x in values if type(x) is types.ModuleType]
    if any(_holds(x, _is_long) for x in values):
        found.append(condition_on("digits"))
    if text in _OF_CODECS or text.startswith("codecs."):
        found += [c for x in values if type(x) is str for c in _codecs_of(x)]
    if text in ("pickle.loads", "pickle._loads"):
        found += [_globals_of(x) for x in values if isinstance(x, (bytes, bytearray))]
    return found


def states_of_module(text: str, at_start: dict) -> list:
    """Return the conditions on the states that a function or method of a library reads, whatever its operands are."""
    path, names = text, tuple[str, ...]()
    while path and not names:
        names, path = _READ_BY.get(path, ()), path.rpartition(".")[0]
    if text.startswith("numpy.") and text.rpartition(".")[2] in _TEXT_METHODS:
        names = (*names, "printing")
    return [at_start.get(name) or condition_on(name) for name in names]


def states_of_text(code) -> list:
    """Return the conditions on the states that code reads which makes texts of numbers by operations."""
    by_locale = any(type(v) is str and _BY_LOCALE.fullmatch(v) for v in code.co_consts)
    return [condition_on(name) for name in ("digits", *("locale",) * by_locale)]


def _holds(x, asks, depth=0) -> bool:
    """Return whether a value, or one in a container, is such a one."""
    if type(x) in (list, tuple, set, frozenset, dict) and depth < _DEEPEST:
        return any(_holds(v, asks, depth + 1) for v in (*x, *(x.values() if type(x) is dict else ())))
    return asks(x)


def reads_clock(text: str, values) -> bool:
    """Return whether a function of numpy makes a time of "now" or "today"."""
    if not text.startswith("numpy."):
        return False
    is_time = text == "numpy.datetime64" or any(_is_type_of_times(x) for x in values)
    return is_time and any(_holds(x, _is_moment) for x in values)


def _is_type_of_times(x) -> bool:
    if not isinstance(x, (str, type, np.dtype)):
        return False
    try:
        return np.dtype(x).kind == "M"
    except (TypeError, ValueError) as error:
        raise_interrupt(error, np.dtype, x)
        return False


def _is_moment(x) -> bool:
    if isinstance(x, np.ndarray):
        return x.dtype.kind in "SUO" and any(map(_is_moment, x.flat))
    return x in ("now", "today", b"now", b"today") if isinstance(x, (str, bytes)) else False


def _is_long(x) -> bool:
    if type(x) is int:
        return x.bit_length() > 3 * _LONGEST
    return type(x) in (str, bytes, bytearray) and len(x) > _LONGEST


def _text_of(module) -> ReadCondition:
    return ReadCondition.of(("text", id(module)), lambda: repr(module), "the text of a module")


def _fields_of(cls) -> ReadCondition:
    return ReadCondition.of(("fields", id(cls)), lambda: [vars(c).get("__dataclass_fields__") for c in cls.__mro__],
                            f"the fields of {cls.__qualname__}", snapshot)


def _codecs_of(name: str):
    """Yield conditions on the error handler and the codec of a name, if there are."""
    for look_up in (codecs.lookup_error, codecs.lookup):
        try:
            look_up(name)
        except (LookupError, ValueError) as error:
            raise_interrupt(error, look_up, name)
            continue
        yield ReadCondition.of(("codec", look_up.__name__, name), lambda look_up=look_up: _found(look_up, name),
                               f"the codec or error handler {name}", snapshot)


def _found(look_up, name):
    """Return a codec as the functions that it consists of, or an error handler."""
    try:
        found = look_up(name)
    except LookupError as error:
        raise_interrupt(error, look_up, name)
        return None
    return tuple(found) if isinstance(found, codecs.CodecInfo) else found


class _Stub:
    """Object that takes the place of each one in a pickle: no code of their classes runs."""

    def __new__(cls, *args, **kwargs):
        return object.__new__(cls)

    def __call__(self, *args, **kwargs):
        return self

    __setstate__ = __setitem__ = append = extend = add = __call__


class _Names(pickle.Unpickler):
    """Reader of the names of the functions and classes that a pickle consists of."""

    def __init__(self, data):
        super().__init__(io.BytesIO(data))
        self.names: dict = {}

    def find_class(self, module, name):
        self.names[module, name] = None
        return _Stub

    def persistent_load(self, pid):
        return _Stub()


def _globals_of(data) -> ReadCondition:
    """Return the condition that a pickle finds the same functions and classes by their names."""
    reader = _Names(data)
    try:
        reader.load()
    except Exception as error:
        raise_interrupt(error, _Names(data).load)
    names = tuple(reader.names)
    return ReadCondition.of(("pickle", names), lambda: [_global(*n) for n in names],
                            "what the names in a pickle stand for", snapshot)


def _global(module, name):
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def comparable(value: Any) -> Any:
    """Return what guards compare of the answer of a function: a signature by its parameters, an iterator by what it gives,
    and paths as texts."""
    signature: Any = getattr(sys.modules.get("inspect", types), "Signature", ())
    if isinstance(value, signature):
        return [(p.name, int(p.kind), p.default, p.annotation) for p in value.parameters.values()], value.return_annotation
    if isinstance(value, Iterator):
        return [os.fspath(x) if isinstance(x, os.PathLike) else x for x in value]
    return value


def answer(function, *args, **kwargs):
    """Return what a function gives, or the class of the error that it raises."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        raise_interrupt(error, function, *args, **kwargs)
        return type(error)


def reading_condition(text, function, args, kwargs) -> ReadCondition:
    """Return the condition that a call gives an equal result, or raises an error of the same type."""
    def read():
        return comparable(answer(function, *args, **kwargs))

    shown = ", ".join([*map(repr, args), *[f"{k}={v!r}" for k, v in kwargs.items()]])
    return ReadCondition(("call", text, shown), read, snapshot(read()), f"{text}({shown})")
