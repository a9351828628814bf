"""Every public function of the standard library's common modules and of numpy, called in a trace while state changes.

`pytest -m slow -s -k all_calls` prints the counts of each module: functions that gave eager's results, that were refused, that
no operands at hand suit, and of which only the rule was checked.

A row is a function or a method. Its operands are found by trial, in eager code. A program calls it four times, and all state
changes after the second call: files, environment, random seeds, contexts, the content of operands and objects. A trace gives
eager's results, or a `TraceError`; for results that differ from run to run in eager code, only an error will do.
"""

import array
import builtins
import collections
import contextlib
import contextvars
import copy
import datetime
import decimal
import fractions
import functools
import gc
import importlib
import io
import itertools
import logging
import math
import operator
import os
import pathlib
import random
import re
import socket
import threading
import time
import types
import warnings

import numpy as np
import pytest

import ingot
import row_sample
from ingot import jit
from ingot.jit.python_state.call_rules import REFUSED, Rule, rule_of_function

MORE = """abc argparse array ast asyncio atexit base64 binascii bisect calendar cmath codecs colorsys concurrent.futures
configparser contextlib copyreg csv dataclasses difflib enum errno fnmatch glob hashlib heapq hmac html importlib
inspect keyword linecache locale marshal numbers pickle platform pprint queue secrets shlex shutil signal socket
sqlite3 statistics string struct subprocess sys tempfile textwrap token tokenize traceback types typing unicodedata
urllib.parse uuid weakref zlib zoneinfo"""
MODULES = (builtins, math, operator, collections, itertools, functools, random, os, os.path, time, datetime, decimal, fractions,
           importlib.import_module("json"), re, copy, contextvars, threading, logging, warnings, pathlib, io, gc, np, np.random,
           *map(importlib.import_module, MORE.split()))

# Each call gives something else (tests/jit/host/test_host_numbers.py). `queue` has one of them by another name.
_CLOCKS = [getattr(time, f"{clock}{unit}") for clock in ("time", "perf_counter", "monotonic", "process_time", "thread_time")
           for unit in ("", "_ns")]
# They end, replace or block the process, take over its streams, wait for somebody, change what other tests rely on, or call
# their operands after the test. Their rule is checked instead.
NEVER = {
    "builtins": {"exit", "quit", "help", "breakpoint", "input", "copyright", "credits", "license"},
    "os": {"abort", "close", "closerange", "chroot", "dup", "dup2", "fork", "forkpty", "kill", "killpg", "login_tty", "lockf",
           "nice", "openpty", "pipe", "pipe2", "popen", "read", "readv", "register_at_fork", "setpgid", "setpgrp", "setsid",
           "system", "wait", "wait3", "wait4", "waitid", "waitpid", "write", "writev", "eventfd_read", "eventfd_write",
           "posix_spawn", "posix_spawnp", "sendfile", "splice", "copy_file_range", "ttyname", "tcsetpgrp", "pread", "preadv",
           "pwrite", "pwritev", "fdopen", "ftruncate", "fchdir", "fchmod", "fchown", "initgroups", "umask", "set_blocking",
           "set_inheritable", "setpriority", "sched_setaffinity", "sched_setparam", "sched_setscheduler", "memfd_create",
           "eventfd", "pidfd_open", "posix_fallocate", "sync", "lseek"}
    | {name for name in dir(os) if name.startswith(("exec", "spawn", "set")) and name != "setxattr"},
    "time": {"pthread_getcpuclockid", "sleep"},
    "gc": {"get_objects", "get_referrers", "set_debug", "set_threshold", "freeze", "unfreeze"},
    "threading": {"settrace", "setprofile", "excepthook", "stack_size"},
    "logging": {"shutdown", "basicConfig", "addLevelName", "captureWarnings", "setLoggerClass", "setLogRecordFactory"},
    "numpy": {"test", "show_runtime", "show_config", "info", "setbufsize", "seterrcall"},
    "numpy.random": {"test", "set_bit_generator"},
    "asyncio": {"run", "new_event_loop", "get_event_loop", "get_child_watcher", "Runner", "SelectorEventLoop", "set_event_loop",
                "set_event_loop_policy", "set_child_watcher"},
    "atexit": {"register", "unregister"}, "inspect": {"stack", "trace"},
    "signal": {"default_int_handler", "alarm", "pause", "raise_signal", "set_wakeup_fd", "setitimer", "signal", "sigwait",
               "pthread_kill", "pthread_sigmask", "siginterrupt", "sigtimedwait", "sigwaitinfo", "pidfd_send_signal"},
    "socket": {name for name in dir(socket) if name not in ("gethostname", "htonl", "htons", "inet_aton", "inet_ntoa")},
    "subprocess": {"Popen", "call", "check_call", "check_output", "getoutput", "getstatusoutput", "run"},
    "sys": {"activate_stack_trampoline", "addaudithook", "breakpointhook", "call_tracing", "deactivate_stack_trampoline",
            "displayhook", "excepthook", "exit", "setdlopenflags", "setprofile", "setrecursionlimit", "setswitchinterval",
            "settrace", "set_asyncgen_hooks", "set_int_max_str_digits", "set_coroutine_origin_tracking_depth",
            "unraisablehook"},
    "tempfile": {"NamedTemporaryFile", "SpooledTemporaryFile", "TemporaryDirectory", "TemporaryFile", "mkdtemp", "mkstemp",
                 "mktemp"},
    "locale": {"resetlocale", "setlocale"}, "sqlite3": {"enable_callback_tracebacks"},
    "importlib": {"find_loader", "reload"}, "weakref": {"finalize"},
}
# Their results differ from run to run in any way: the free space of a disk, memory that nobody has filled, addresses, whole
# namespaces, times of files, numbers of threads.
UNDEFINED = {"builtins.globals", "builtins.locals", "builtins.vars", "builtins.id", "os.statvfs", "numpy.empty",
             "numpy.empty_like", "numpy.ndarray", "os.stat", "os.lstat", "PosixPath.stat", "PosixPath.lstat",
             "os.path.getmtime", "os.path.getatime", "os.path.getctime", "threading.Thread", "threading.Timer"}


class Box:
    """An object whose attribute is state."""

    def __init__(self):
        self.value = 2.0

    def __eq__(self, other):
        return isinstance(other, Box) and self.value == other.value

    def __hash__(self):
        return 7

    def __repr__(self):
        return f"Box({self.value})"


class State:
    """State that programs read, in a first and in a second condition."""

    def __init__(self, folder, make):
        self.folder, self.make = folder, make
        self.context = contextvars.ContextVar("state", default=1)
        self.object = None

    def reset(self):
        for name in sorted(self.folder.rglob("*"), reverse=True):
            name.rmdir() if name.is_dir() and not name.is_symlink() else name.unlink()
        (self.folder / "first").mkdir()
        (self.folder / "second").mkdir()
        (self.folder / "a").write_text("1 2 3")
        os.chdir(self.folder)
        os.environ["INGOT_ROW"] = "1"
        random.seed(0)
        np.random.seed(0)
        np.seterr(all="warn")
        np.set_printoptions(precision=8)
        decimal.setcontext(decimal.Context(prec=20))
        gc.enable()
        warnings.resetwarnings()
        warnings.simplefilter("ignore")
        logging.disable(logging.NOTSET)
        logging.getLogger("row").setLevel(logging.INFO)
        self.numbers, self.table, self.array = [3.0, 1.0, 2.0], {"k": 1.0, "j": 2.0}, np.array([[3.0, 1.0], [2.0, 4.0]])
        self.group, self.box, self.buffer = {1.0, 2.0}, Box(), io.StringIO("1 2 3")
        self.whole = [3, 1, 2]
        if self.make is not None:
            self.object = self.make()

    def change(self):
        (self.folder / "a").write_text("4 5 6 7")
        (self.folder / "second" / "b").write_text("x")
        os.chdir(self.folder / "second")
        (self.folder / "second" / "a").mkdir()
        os.environ["INGOT_ROW"] = "2"
        random.seed(5)
        np.random.seed(5)
        np.seterr(all="ignore")
        np.set_printoptions(precision=3)
        decimal.getcontext().prec = 4
        gc.disable()
        warnings.simplefilter("default")
        logging.disable(logging.WARNING)
        logging.getLogger("row").setLevel(logging.ERROR)
        self.numbers[0], self.table["k"], self.array[0, 0], self.box.value = 5.0, 7.0, 9.0, 8.0
        self.whole[0] = 7
        self.group.add(9.0)
        with contextlib.suppress(ValueError):       # the function may have closed it
            self.buffer.read(2)
        change_object(self.object)


def change_object(x):
    """Change the content of an object from outside, if it has any."""
    for does in (lambda: x.update({"z": 9.0}), lambda: x.append(9.0), lambda: x.add(9.0), lambda: x.append(9),
                 lambda: x.seed(9),
                 lambda: x.__setitem__(0, 9), lambda: x.bit_generator.advance(3), lambda: x.set(), lambda: x.read(1),
                 lambda: x.acquire(), lambda: next(x), lambda: x.set(3), lambda: setattr(x, "prec", 3), lambda: x.put(3.0),
                 lambda: setattr(x, "value", 9.0)):
        with contextlib.suppress(Exception):
            does()
            return


def digest(value):
    """Return a number that tells a result from others; addresses do not count."""
    if hasattr(type(value), "__next__") and not isinstance(value, io.IOBase):
        value = list(itertools.islice(value, 5))
    text = re.sub(r"0x[0-9a-fA-F]+", "0x", f"{type(value).__name__} {value!r}")
    return float(sum(ord(c) * (i % 97 + 1) for i, c in enumerate(text)) % 1000003)


# Operands by name of the state; `text` and the like do not change.
CANDIDATES = ((), ("numbers",), ("whole",), ("two",), ("text",), ("array",), ("table",), ("box",), ("buffer",), ("group",),
              ("file",), ("half",), ("half", "two"), ("two", "two"), ("text", "text"), ("numbers", "two"), ("array", "two"),
              ("array", "array"), ("numbers", "zero", "half"), ("table", "text"), ("box", "name"), ("add", "numbers"),
              ("text", "file"), ("file", "new"), ("new",), ("box", "name", "half"), ("array", "zero", "half"),
              ("text", "text", "text"), ("get", "numbers"), ("pattern",), ("level", "text"), ("shape",), ("two", "array"),
              ("zero",), ("array", "shape"), ("array", "zero", "zero"), ("two", "kind"), ("json",), ("numbers", "numbers"),
              ("array", "array", "array"), ("numbers", "numbers", "numbers"), ("subscripts", "array", "array"),
              ("file", "two"), ("folder",), ("folder", "two"), ("message",), ("kind", "kind"), ("two", "half", "two"),
              ("name", "box"), ("bytes",), ("bytes", "bytes"), ("format", "two"), ("format", "bytes"), ("buffer", "numbers"),
              ("numbers", "numbers", "two"), ("function", "text", "text"), ("word",), ("word", "text"), ("whole", "two"),
              ("table", "name"), ("kind",), ("kind", "text"), ("bits", "whole"), ("function", "box"), ("function", "numbers"))
CONSTANTS = {"two": 2, "half": 0.5, "zero": 0, "text": "a", "name": "value", "file": "a", "new": "fresh", "add": operator.add,
             "pattern": re.compile("a"), "level": 130, "shape": (2, 2), "get": None, "kind": float, "json": "[1, 2]",
             "subscripts": "ij,jk", "folder": "first", "message": "a message", "bytes": b"abcd", "format": "i", "word": "utf-8",
             "function": operator.neg, "bits": 1}
BY_STATE = ("numbers", "whole", "array", "table", "box", "buffer", "group")

OBJECTS = {
    "dict": lambda: {"a": 1.0, "b": 2.0}, "list": lambda: [1.0, 2.0], "set": lambda: {1.0, 2.0},
    "frozenset": lambda: frozenset((1.0, 2.0)), "tuple": lambda: (1.0, 2.0), "str": lambda: "a b", "bytes": lambda: b"a b",
    "bytearray": lambda: bytearray(b"abc"), "float": lambda: 2.5, "int": lambda: 6, "complex": lambda: 1 + 2j,
    "range": lambda: range(5), "deque": lambda: collections.deque([1.0, 2.0]), "Counter": lambda: collections.Counter(a=1),
    "OrderedDict": lambda: collections.OrderedDict(a=1.0), "defaultdict": lambda: collections.defaultdict(float, a=1.0),
    "ChainMap": lambda: collections.ChainMap({"a": 1.0}), "UserDict": lambda: collections.UserDict(a=1.0),
    "UserList": lambda: collections.UserList([1.0]), "array": lambda: array.array("d", [1.0, 2.0]),
    "StringIO": lambda: io.StringIO("1 2 3"), "BytesIO": lambda: io.BytesIO(b"1 2 3"),
    "mappingproxy": lambda: types.MappingProxyType({"a": 1.0}), "memoryview": lambda: memoryview(bytearray(b"abc")),
    "list_iterator": lambda: iter([1.0, 2.0, 3.0, 4.0, 5.0]), "count": itertools.count,
    "cycle": lambda: itertools.cycle([1, 2]),
    "generator": lambda: (float(i) for i in range(9)), "Random": lambda: random.Random(3),
    "Generator": lambda: np.random.default_rng(3), "RandomState": lambda: np.random.RandomState(3),
    "SeedSequence": lambda: np.random.SeedSequence(3), "PCG64": lambda: np.random.PCG64(3),
    "ndarray": lambda: np.array([3.0, 1.0, 2.0]), "float64": lambda: np.float64(2.5),
    "MaskedArray": lambda: np.ma.array([1.0, 2.0], mask=[0, 1]), "dtype": lambda: np.dtype("f4"),
    "Decimal": lambda: decimal.Decimal("1.23456789"), "Context": lambda: decimal.Context(prec=7),
    "Fraction": lambda: fractions.Fraction(1, 3), "date": lambda: datetime.date(2020, 2, 3),
    "datetime": lambda: datetime.datetime(2020, 2, 3), "timedelta": lambda: datetime.timedelta(1),
    "Pattern": lambda: re.compile("(a)b?"), "Match": lambda: re.match("(a)", "ab"), "PosixPath": lambda: pathlib.Path("a"),
    "Event": threading.Event, "Semaphore": lambda: threading.Semaphore(3), "local": threading.local,
    "Logger": lambda: logging.getLogger("row"), "SimpleNamespace": lambda: types.SimpleNamespace(a=1.0),
    "ContextVar": lambda: contextvars.ContextVar("row", default=1.0),
}
# They wait for others.
BLOCKING = {"Event.wait", "Semaphore.acquire", "Logger.callHandlers"}


def public_functions():
    """Return {row: (module, name)} of all public callables of the modules."""
    found = {}
    for module in MODULES:
        for name in sorted(dir(module)):
            value = getattr(module, name, None)
            if not name.startswith("_") and callable(value) and not (
                    isinstance(value, type) and issubclass(value, (BaseException, Warning))):
                found[f"{'os.path' if module is os.path else module.__name__}.{name}"] = module, name
    return found


def public_methods():
    """Return {row: (kind of object, name)} of all public methods of the objects."""
    found = {}
    for kind, make in OBJECTS.items():
        x = make()
        for name in sorted(dir(x)):
            is_public = not name.startswith("_") or name in ("__getitem__", "__contains__", "__len__", "__iter__", "__next__")
            if is_public and callable(getattr(type(x), name, None)) and f"{kind}.{name}" not in BLOCKING:
                found[f"{kind}.{name}"] = kind, name
    return found


FUNCTIONS, METHODS = public_functions(), public_methods()


def operands_that_work(state, call, most=2):
    """Return operands with which a call raises nothing in eager code."""
    found = []
    for names in CANDIDATES:
        state.reset()
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                digest(call(*[operand(state, name) for name in names]))
        except (Exception, SystemExit):
            continue
        found.append(names)
        if len(found) == most:
            break
    return found


def operand(state, name):
    return getattr(state, name) if name in BY_STATE else state.table.get if name == "get" else CONSTANTS[name]


def life(state, source, operands, wrap, **names):
    """Return the results of four calls of a program, with the state changed after two."""
    state.reset()
    values = {f"v{i}": operand(state, n) for i, n in enumerate(operands)}
    space = {"__name__": "row_of_calls", "digest": digest, **names, **values}
    if state.make is not None:
        space["x"] = state.object
        space["stored"] = getattr(state.object, space["name"])
    exec(compile(source, "<row of calls>", "exec"), space)
    fn, results = wrap(space["fn"]), []
    for i in range(4):
        if i == 2:
            state.change()
        try:
            results.append(fn(ingot.ones(1, dtype=ingot.float64)).item())
        except jit.TraceError:
            return None
        except Exception as error:
            results.append(type(error).__name__)
    return results


def check(state, source, operands, **names) -> str:
    """Return "right" if a trace of a program gives eager's results, or "refused"."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        eager = life(state, source, operands, lambda fn: fn, **names)
        again = life(state, source, operands, lambda fn: fn, **names)
        traced = life(state, source, operands, jit.trace, **names)
    if traced is None:
        return "refused"
    assert eager == again, f"{source} of {operands}: eager code gives {eager}, then {again}, and a trace {traced}"
    assert traced == eager, f"{source} of {operands}: eager code gives {eager}, a trace {traced}"
    return "right"


@pytest.fixture
def state_of(tmp_path):
    before = (os.getcwd(), random.getstate(), np.random.get_state(), np.geterr(), np.get_printoptions(), decimal.getcontext(),
              warnings.filters[:], logging.root.manager.disable, gc.isenabled())
    yield lambda make=None: State(tmp_path, make)
    os.chdir(before[0])
    os.environ.pop("INGOT_ROW", None)
    random.setstate(before[1])
    np.random.set_state(before[2])
    np.seterr(**before[3])
    np.set_printoptions(**before[4])
    decimal.setcontext(before[5])
    warnings.filters[:] = before[6]
    warnings._filters_mutated()
    logging.disable(before[7])
    (gc.enable if before[8] else gc.disable)()


def check_function(row, state_of) -> set:
    """Return what the checks of a function found."""
    module, name = FUNCTIONS[row]
    function = getattr(module, name)
    if name in NEVER.get(module.__name__, ()) or function in _CLOCKS:
        if type(function) in (types.FunctionType, types.BuiltinFunctionType):
            found = rule_of_function(function.__module__ or module.__name__, function.__qualname__)
            assert found in (REFUSED, Rule.HOST, Rule.READS), row
        return {"rule"}
    state, owner, found = state_of(), "os.path" if module is os.path else module.__name__, set()
    for operands in operands_that_work(state, function):
        listed = ", ".join(f"v{i}" for i in range(len(operands)))
        imported = f"def fn(t):\n    from {owner} import {name} as f\n    return t + digest(f({listed}))"
        found |= {check(state, f"import {owner} as m\ndef fn(t):\n    return t + digest(m.{name}({listed}))", operands),
                  check(state, f"def fn(t):\n    return t + digest(f({listed}))", operands, f=function),
                  check(state, imported, operands)}
    return found


def check_method(row, state_of) -> set:
    """Return what the checks of a method found."""
    kind, name = METHODS[row]
    state, found = state_of(OBJECTS[kind]), set()
    for operands in operands_that_work(state, lambda *args: getattr(state.object, name)(*args)):
        listed = ", ".join(f"v{i}" for i in range(len(operands)))
        for call in (f"x.{name}", "stored", f"type(x).{name}", f"getattr(x, {name!r})"):
            first = "x, " if call.startswith("type") else ""
            found.add(check(state, f"def fn(t):\n    return t + digest({call}({first}{listed}))", operands, name=name))
    return found


CHECKS = dict.fromkeys(FUNCTIONS, check_function) | dict.fromkeys(METHODS, check_method)
ROWS = sorted(CHECKS.keys() - UNDEFINED)
GROUPS = sorted({row.rpartition(".")[0] for row in ROWS})
PARTS, RUNS = 8, 35        # tests that share the rows of a run, and runs that share all rows


@pytest.mark.parametrize("part", range(PARTS))
def test_calls_give_what_eager_code_gives_or_an_error(part, state_of, pytestconfig):
    """The seed of the run draws the rows."""
    drawn = row_sample.some(ROWS, pytestconfig.option.seed, "calls", RUNS)
    for row in drawn[part::PARTS]:
        CHECKS[row](row, state_of)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("group", GROUPS)
def test_all_calls_give_what_eager_code_gives_or_an_error(group, state_of):
    counts: collections.Counter = collections.Counter()
    wrong = []
    for row in [row for row in ROWS if row.rpartition(".")[0] == group]:
        try:
            counts[" and ".join(sorted(CHECKS[row](row, state_of))) or "no operands"] += 1
        except AssertionError as error:
            wrong.append(f"{row}: {error}")
    print(f"{group}: {counts.total()} functions", dict(counts))
    assert not wrong, "\n".join(wrong)
