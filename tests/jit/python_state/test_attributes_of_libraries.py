"""Attributes of objects of libraries, and state in C code: what functions set there, read there, and change by methods.

Each class of the standard library and of numpy has two samples. The search finds out which attributes of the one can get the
value of the other, and which methods change the first. Each act is done by traced functions in several ways, and undone outside
before each call. A trace does what eager code does, or raises `TraceError`.
"""

import array
import bz2
import codecs
import collections
import configparser
import contextvars
import csv
import ctypes
import dataclasses
import datetime
import decimal
import fractions
import functools
import hashlib
import io
import itertools
import json
import logging
import operator
import pickle
import queue
import random
import re
import string
import struct
import threading
import types
import uuid
import warnings
import xml.etree.ElementTree as ET
import zlib
from typing import Any

import numpy as np
import pytest

import ingot
import row_sample
from fuzzed_modules.life import loaded
from ingot import jit


class Pair(ctypes.Structure):
    _fields_ = [("first", ctypes.c_int), ("second", ctypes.c_double)]


class Slotted:
    __slots__ = ("one", "two")

    def __init__(self, one, two):
        self.one, self.two = one, two


@dataclasses.dataclass
class Fielded:
    one: int = dataclasses.field(default=1)


class OwnError(OSError):
    extra = 1


def _raised(kind, *args):
    try:
        raise kind(*args)
    except kind as error:
        return error


def _error(n):
    """Return an error: one that was raised, or one that has a cause."""
    error = _raised(ValueError, n) if n == 1 else ValueError(n)
    if n == 2:
        error.__cause__, error.__context__ = KeyError(1), KeyError(2)
    return error


def _noted(n):
    error = ValueError(n)
    error.note = n
    return error


def _context(precision):
    return decimal.Context(prec=precision, flags=[decimal.Inexact] if precision % 2 else [])


def _masked(fill):
    return np.ma.array([1.0, 2, 3], mask=[fill == 1, 0, 0], fill_value=fill, hard_mask=fill == 1)


def _finfo(n):
    """Return a copy: `np.finfo` gives one object to the whole process."""
    own = object.__new__(np.finfo)
    vars(own).update(vars(np.finfo(("f4", "f8")[n - 1])))
    return own


def _element(tag):
    e = ET.Element(tag, {"k": tag})
    e.text, e.tail = tag, tag
    return e


@pytest.fixture(autouse=True)
def codecs_stay():
    """Rows set attributes of the codecs that `lookup` gives everybody: text files would be decoded as ASCII afterwards."""
    before = [(codec, {**vars(codec)}) for codec in map(codecs.lookup, ("utf-8", "ascii"))]
    yield
    for codec, attributes in before:
        vars(codec).clear()
        vars(codec).update(attributes)


# Name -> function that makes the sample of a number, 1 or 2.
SAMPLES: dict = {
    "ValueError": _error,
    "OSError": lambda n: _raised(OSError, n, "a" * n, "b" * n),
    "OwnError": lambda n: OwnError(n, "a" * n),
    "KeyError": lambda n: KeyError(n),
    "StopIteration": lambda n: StopIteration(n),
    "SystemExit": lambda n: SystemExit(n),
    "ImportError": lambda n: ImportError("a", name="b" * n, path="c" * n),
    "SyntaxError": lambda n: SyntaxError("a" * n, ("f", n, n, "t", n, n)),
    "UnicodeDecodeError": lambda n: UnicodeDecodeError("utf-8", b"abc", 0, n, "r" * n),
    "AttributeError": lambda n: AttributeError("a", name="b" * n, obj=n),
    "ExceptionGroup": lambda n: ExceptionGroup("a" * n, [_noted(n)]),
    "dtype": lambda n: np.dtype([("a" * n, "f4"), ("b" * n, "f8")]),
    "nested dtype": lambda n: np.dtype([("c", [("a" * n, "f4")])]),
    "masked array": _masked,
    "matrix": lambda n: np.matrix([[n, 2.0]]) if n == 1 else np.matrix([[n], [2.0]]),
    "record array": lambda n: np.rec.array([(n, 2.0)], dtype=[("p", "i4"), ("q", "f8")]),
    "void": lambda n: np.array([(n, 2.0)], dtype=[("p", "i4"), ("q", "f8")])[0],
    "finfo": _finfo,
    "polynomial": lambda n: np.polynomial.Polynomial([n, 2.0]),
    "poly1d": lambda n: np.poly1d([n, 2.0]),
    "ufunc": lambda n: np.frompyfunc(int, n, 1),
    "vectorize": lambda n: np.vectorize(int, doc="a" * n),
    "errstate": lambda n: np.errstate(over=("ignore", "raise")[n - 1]),
    "decimal context": _context,
    "Decimal": lambda n: decimal.Decimal(n),
    "Fraction": lambda n: fractions.Fraction(n, 3),
    "date": lambda n: datetime.date(2020, 1, n),
    "datetime": lambda n: datetime.datetime(2020, 1, n),
    "timedelta": lambda n: datetime.timedelta(n),
    "time": lambda n: datetime.time(n),
    "timezone": lambda n: datetime.timezone(datetime.timedelta(hours=n)),
    "partial": lambda n: functools.partial(int, str(n), base=10 + n),
    "partialmethod": lambda n: functools.partialmethod(int, n),
    "cached property": lambda n: functools.cached_property(int if n == 1 else float),
    "property": lambda n: property((len, abs)[n - 1], doc="a" * n),
    "classmethod": lambda n: classmethod((len, abs)[n - 1]),
    "staticmethod": lambda n: staticmethod((len, abs)[n - 1]),
    "defaultdict": lambda n: collections.defaultdict((int, float)[n - 1], a=n),
    "OrderedDict": lambda n: collections.OrderedDict(a=n),
    "Counter": lambda n: collections.Counter("a" * n),
    "ChainMap": lambda n: collections.ChainMap({"a": n}),
    "UserDict": lambda n: collections.UserDict(a=n),
    "UserList": lambda n: collections.UserList([n]),
    "deque": lambda n: collections.deque([n], 300 + n),
    "list": lambda n: [n],
    "set": lambda n: {n},
    "dict": lambda n: {"a": n},
    "bytearray": lambda n: bytearray(n),
    "memoryview": lambda n: memoryview(bytearray(n)),
    "array": lambda n: array.array("i", [n]),
    "slice": lambda n: slice(n),
    "range": lambda n: range(n),
    "SimpleNamespace": lambda n: types.SimpleNamespace(a=n),
    "mappingproxy": lambda n: types.MappingProxyType({"a": n}),
    "module": lambda n: types.ModuleType("a" * n, "b" * n),
    "slots": lambda n: Slotted(n, n),
    "field": lambda n: dataclasses.field(default=n),
    "dataclass": lambda n: Fielded(n),
    "structure": lambda n: Pair(n, n),
    "c_int": lambda n: ctypes.c_int(n),
    "c array": lambda n: (ctypes.c_int * 2)(n, n),
    "py_object": lambda n: ctypes.py_object(n),
    "BytesIO": lambda n: io.BytesIO(b"a" * n),
    "StringIO": lambda n: io.StringIO("a" * n),
    "TextIOWrapper": lambda n: io.TextIOWrapper(io.BytesIO(b"a"), line_buffering=n == 1),
    "pattern": lambda n: re.compile("a" * n),
    "match": lambda n: re.match("a+", "a" * n),
    "struct": lambda n: struct.Struct("i" * n),
    "md5": lambda n: hashlib.md5(b"a" * n),
    "compressor": lambda n: zlib.compressobj(n),
    "bz2": lambda n: bz2.BZ2Compressor(n),
    "decoder": lambda n: codecs.getincrementaldecoder("utf-8")(("strict", "ignore")[n - 1]),
    "codec": lambda n: codecs.lookup(("utf-8", "ascii")[n - 1]),
    "dialect": lambda n: csv.get_dialect(("excel", "unix")[n - 1]),
    "reader": lambda n: csv.reader(["a,b"] * n),
    "config": lambda n: configparser.ConfigParser({"a": str(n)}),
    "JSON encoder": lambda n: json.JSONEncoder(indent=n),
    "logger": lambda n: logging.Logger("a" * n, n),
    "handler": lambda n: logging.NullHandler(n),
    "formatter": lambda n: logging.Formatter("a" * n + "%(message)s"),
    "record": lambda n: logging.makeLogRecord({"msg": n, "created": 0.0, "msecs": 0.0, "relativeCreated": 0.0}),
    "event": lambda n: threading.Event(),
    "thread": lambda n: threading.Thread(target=int, name="a" * n),
    "condition": lambda n: threading.Condition(),
    "local": lambda n: threading.local(),
    "queue": lambda n: queue.Queue(n),
    "simple queue": lambda n: queue.SimpleQueue(),
    "Random": lambda n: random.Random(n),
    "Generator": lambda n: np.random.default_rng(n),
    "PCG64": lambda n: np.random.PCG64(n),
    "RandomState": lambda n: np.random.RandomState(n),
    "context variable": lambda n: contextvars.ContextVar("a"),
    "context": lambda n: contextvars.copy_context(),
    "UUID": lambda n: uuid.UUID(int=n),
    "template": lambda n: string.Template("$a" * n),
    "element": _element,
    "itemgetter": lambda n: operator.itemgetter(n),
    "methodcaller": lambda n: operator.methodcaller("a" * n),
    "count": lambda n: itertools.count(n),
    "cycle": lambda n: itertools.cycle([n]),
    "iterator": lambda n: iter([n]),
    "generator": lambda n: (i for i in range(n)),
    "traceback": lambda n: _raised(ValueError, n).__traceback__,
    "frame": lambda n: _raised(ValueError, n).__traceback__.tb_frame,
    "cell": lambda n: types.CellType(n),
    "alias": lambda n: (list[int], list[str])[n - 1],
}
_SETS = ("x.{name} = v", "setattr(x, '{name}', v)", "type(x).__setattr__(x, '{name}', v)", "object.__setattr__(x, '{name}', v)",
         "x.__setattr__('{name}', v)", "type(x).{name}.__set__(x, v)", "list(map(setattr, [x], ['{name}'], [v]))",
         "operator.methodcaller('__setattr__', '{name}', v)(x)", "functools.partial(setattr, x, '{name}')(v)",
         "put(held['x'], v)", "[put(o, v) for o in listed]")
_CALLS = ("x.{name}({given})", "stored({given})", "type(x).{name}(x{also})", "operator.methodcaller('{name}'{also})(x)",
          "call(held['x'])")
_READS = ("x.{name}", "getattr(x, '{name}')", "read(held['x'])", "operator.attrgetter('{name}')(x)", "repr(x)", "str(x)",
          "f'{{x}}'")
# Attributes that tell nothing of an object's state, that each look makes anew, or whose values crash Python.
_NEVER = frozenset((
    "__class__", "__dict__", "__weakref__", "__module__", "__annotations__", "__new__", "__init_subclass__", "__subclasshook__",
    "__class_getitem__", "__getattribute__", "__del__", "__reduce__", "__reduce_ex__", "__sizeof__", "__dir__", "__call__",
    "detach", "fileno", "tofile", "dump", "f_lineno", "f_back", "run", "start", "join", "get", "put", "wait", "throw",
    "_bit_generator", "ctypes", "cffi", "capsule", "lock", "data", "flat", "mT", "base", "__array_interface__",
    "__array_struct__", "f_locals", "f_builtins", "f_globals", "tb_frame", "clear_cache"))
_LISTED = (list, set, dict, bytearray, memoryview, array.array, collections.deque)      # whose items are listed as well
_ADDRESS = re.compile(r"0x[0-9a-f]+")


def names_of(x) -> list:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [name for name in dir(x) if name not in _NEVER]


def _simple(x, depth=0) -> Any:
    if isinstance(x, (bool, int, float, complex, str, bytes, type(None))):
        return type(x).__name__, repr(x)
    if isinstance(x, (tuple, list)) and depth < 3:
        return [_simple(v, depth + 1) for v in x]
    if isinstance(x, dict) and depth < 3:
        return [(str(k), _simple(v, depth + 1)) for k, v in x.items()]
    return type(x).__name__, x if type(x) in (type, types.BuiltinFunctionType) else ""


def state_of(x) -> dict:
    """Return all that an object shows of itself."""
    found: dict = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names_of(x):
            try:
                value = getattr(x, name)
                found[name] = None if callable(value) and not isinstance(value, type) else _simple(value)
            except Exception as error:
                found[name] = type(error).__name__
        for name, read in (("repr", repr), ("pickle", lambda x: pickle.dumps(x, 4)), ("list", list), ("bytes", bytes)):
            if name not in ("list", "bytes") or isinstance(x, _LISTED):
                try:
                    found[name] = _ADDRESS.sub("", read(x)) if name == "repr" else read(x)
                except Exception as error:
                    found[name] = type(error).__name__
    return found


def _tries(act) -> bool:
    try:
        act()
    except Exception:
        return False
    return True


def _undo(x, like, names):
    """Give an object the state of a sample again."""
    for name in names:
        _tries(lambda name=name: setattr(x, name, getattr(like, name)))


def _has_method(x, name) -> bool:
    try:
        return callable(getattr(x, name))
    except Exception:
        return False


def settable(sample) -> list:
    """Return the attributes of a sample that can get the value of the other one, and their own again."""
    make, found = SAMPLES[sample], []
    for name in names_of(make(1)):
        x, like, other = make(1), make(1), make(2)
        if _has_method(x, name) and name[:2] == "__":
            continue
        before = state_of(x)
        if not _tries(lambda x=x, other=other, name=name: setattr(x, name, getattr(other, name))) or state_of(x) == before:
            continue
        _undo(x, like, (name,))
        if state_of(x) == before:
            found.append(name)
    return found


# Operands for methods: made anew for each call.
OPERANDS: dict = {"": lambda n: (), "one": lambda n: (n,), "text": lambda n: ("k" * n,), "two": lambda n: ("k", n),
                  "none": lambda n: (None,), "bytes": lambda n: (b"k",), "pair": lambda n: (0, n), "list": lambda n: ([n],)}


def changing(sample, attributes) -> list:
    """Return (method, operands) that change a sample so that it can be undone: by its attributes, or `__init__`."""
    make, found = SAMPLES[sample], []
    for name in names_of(make(1)):
        is_private = name[0] == "_" and name[:2] != "__"
        if is_private or name in ("__setattr__", "__delattr__", "__init__") or not _has_method(make(1), name):
            continue
        for kind, operands in OPERANDS.items():
            x, like = make(1), make(1)
            before = state_of(x)
            if _tries(lambda x=x, name=name, operands=operands: getattr(x, name)(*operands(2))) and state_of(x) != before:
                _undo_all(x, like, attributes)
                if state_of(x) == before:
                    found.append((name, kind))
                    break
    return found


def _undo_all(x, like, attributes):
    """Give an object the whole state of a sample again, in the way that works."""
    ways = (lambda: x.flags.update(like.flags), lambda: x.traps.update(like.traps),
            lambda: x.__setstate__(like.__reduce_ex__(4)[2]), lambda: x.setstate(like.getstate()), lambda: x.clear(),
            lambda: x.update(like), lambda: x.extend(like), lambda: x.__init__(*like.args))
    for way in ways:
        if state_of(x) != state_of(like):
            _tries(way)
    _undo(x, like, attributes)


HEAD = """
import functools, operator
held, listed = {{"x": x}}, [x]
def put(o, v): o.{name} = v
def call(o): return o.{name}({given})
def read(o): return o.{name}
"""


def program(act, name, given, values):
    """Return the function `fn` of a module that does something with an object from outside, `x` among its `values`."""
    words = {"name": name, "given": ", ".join(given), "also": "".join([f", {v}" for v in given])}
    module, act = loaded("", "acts_on_objects"), act.format(**words)
    vars(module).update(values)
    result = "0" if "=" in act else act
    first = act if "=" in act else "pass"
    text = f"{HEAD.format(**words)}\ndef fn(t):\n    {first}\n    return t * 2, {result}\n"
    exec(compile(text, "<acts>", "exec"), vars(module))
    return module.fn


def check(sample, act, name, before, operands=None) -> str:
    """Compare calls of a traced function that does something, after `before(x, i)` each; return whether it is refused."""
    make = SAMPLES[sample]

    def life(wrap):
        x, values = make(1), {}
        if operands is None:
            values["v"] = getattr(make(2), name, None)
        else:
            values = {f"v{i}": v for i, v in enumerate(operands(2))}
        given, stored = [*values], getattr(x, name, None)
        fn, found = wrap(program(act, name, given, {**values, "x": x, "stored": stored})), []
        for i in range(6):
            before(x, i)
            try:
                end = _ADDRESS.sub("", repr(_simple(fn(ingot.ones(2))[1])))
            except jit.TraceError:
                raise
            except Exception as error:
                end = type(error).__name__
            found.append((end, state_of(x)))
        return found

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = life(lambda fn: fn)
        if life(lambda fn: fn) != expected:
            return "unsteady"
        try:
            assert life(jit.trace) == expected, f"{sample}: {act.format(name=name, given='', also='')}"
        except jit.TraceError:
            return "refused"
    return "same"


def _reads(sample, name) -> tuple:
    """Return the ways to read an attribute. What a private one gives to the text of an object is no business of users."""
    if (name[0] == "_" and name[:2] != "__") or (sample, name) == ("module", "__name__"):
        return _READS[:4]
    return _READS if sample != "cell" else _READS[:4]       # (its text has an address)


def check_sample(sample) -> collections.Counter:
    """Return how often functions that set, read or change a sample do as eager code, and how often they are refused. The state
    of numpy and of decimals stays as it was."""
    with np.errstate(), decimal.localcontext():
        return _check_sample(sample)


def _check_sample(sample):
    counts: collections.Counter = collections.Counter()
    make, attributes = SAMPLES[sample], settable(sample)
    for name in attributes:
        for act in _SETS:
            counts["set", check(sample, act, name, lambda x, i, name=name: _undo(x, make(1), (name,)))] += 1
        for act in _reads(sample, name):
            counts["read", check(sample, act, name, lambda x, i, name=name: _undo(x, make(1 + i % 2), (name,)))] += 1
    for name, kind in changing(sample, attributes):
        for act in _CALLS:
            counts["call", check(sample, act, name, lambda x, i: _undo_all(x, make(1), attributes), OPERANDS[kind])] += 1
    assert not counts or make(1) is not make(1), f"{sample} changed an object of the whole process"
    return counts


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("part", range(4))
def test_state_of_library_objects_is_followed_or_refused(part, pytestconfig):
    """The seed of the run draws the samples."""
    for sample in row_sample.some(sorted(SAMPLES), pytestconfig.option.seed, "library attributes", 14)[part::4]:
        check_sample(sample)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("sample", SAMPLES)
def test_state_of_all_library_objects_is_followed_or_refused(sample):
    print(sample, dict(check_sample(sample)))
