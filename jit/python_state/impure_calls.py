"""Impure calls of a recorded function: files, clocks, threads, queues, random numbers of Python and numpy, modes of the thread.

A call that a replay could not repeat is refused. A call that only reads becomes a condition.
"""

import functools
import os
import pathlib
import queue
import threading
import types
from contextvars import ContextVar

from ...ir import config
from ...runtime.autograd import grad_mode
from ...runtime.autograd.function import run_forward
from ...runtime.core.device import set_default_device
from ...runtime.core.state import Defaults, set_default_dtype, tls
from ...runtime.core.storage import user_line
from ..bytecode.reads import GLOBAL, Chain
from ..bytecode.user_code import TRUSTED, is_user_defined
from ..errors.errors import RecordingStatus, at
from ..guards.frames import is_user, works_for_user
from ..guards.guards import ReadCondition
from ..guards.known_objects import KnownObjects
from ..proxies.threads import is_service
from ..side_effects.contents import ContainerLog
from .chain_reads import ChainReads
from .patched_builtins import IS_ENABLED, PatchedCasts, file_state, is_stream, level_condition
from .stdlib_state import RANDOM, ContextVariables

_MUTATORS = frozenset(("append", "extend", "insert", "pop", "remove", "clear", "update", "setdefault", "popitem", "add",
                       "discard", "sort", "reverse", "appendleft", "popleft"))
_GETENV = os.getenv.__code__
_SETTINGS = frozenset((config.current.__code__, config.describe.__code__))
_THREAD = threading.current_thread.__code__
_FORWARD = run_forward.__code__
_FILLS = functools.cached_property.__get__.__code__      # runs only if nothing is cached yet
_QUEUES = frozenset((queue.Queue.put.__code__, queue.Queue.get.__code__))
_FILES, _WRITES = frozenset(("_io", "io")), frozenset(("write", "writelines", "truncate"))
_CHANGES_FILE = frozenset("wax+")      # in the mode of an open file
_READS = frozenset(("read", "read1", "readline", "readlines", "readinto"))
_WRITERS = frozenset(("_csv", "_queue"))
_MODES = ("grad mode", "inference mode", "autocast", "anomaly mode", "the hooks on saved tensors", "the default dtype",
          "the default device", "the switches of ingot")
_MODE_SETTERS = frozenset([f.__code__ for f in (       # those that need no `with` block
    grad_mode.set_grad_enabled.__init__, grad_mode.no_grad.__enter__, set_default_dtype, set_default_device)])
_IMPURE_MODULES = ("_random", "random", "time", "secrets", "uuid", "numpy.random")
_CLOCKS = frozenset(("now", "utcnow", "today"))     # of dates and times
# In the module of the operating system, which has the name `os.name`.
_LOOKS_AROUND = frozenset(("urandom", "listdir", "scandir", "stat", "lstat", "getcwd", "access"))
_ABOUT_A_PATH = frozenset([f.__code__ for f in (
    *[getattr(os.path, name) for name in ("exists", "lexists", "isfile", "isdir", "islink", "getsize", "getmtime")],
    *[getattr(pathlib.Path, name) for name in ("exists", "is_file", "is_dir", "stat")]) if hasattr(f, "__code__")])

WATCHED = {id(code): code for code in (       # by id: to hash code takes longer than to run it
    _GETENV, _THREAD, *_SETTINGS, _FORWARD, _FILLS, IS_ENABLED, *_QUEUES, *_MODE_SETTERS, *_ABOUT_A_PATH)}


class WorldPolicy:
    """Calls that depend on the world or act on it: refused, or turned into conditions."""

    def __init__(self, status: RecordingStatus, known: KnownObjects, contents: ContainerLog, chains: ChainReads,
                 contexts: ContextVariables, casts: PatchedCasts):
        self._status, self._known, self._contents, self._chains = status, known, contents, chains
        self._reads, self._contexts, self._casts = chains.reads, contexts, casts
        self._modes: tuple = ()
        self._mode_setter: tuple = ()       # the line that last set a mode of the thread

    def start(self):
        self._modes = modes()
        self._chains.generators.start()

    def call_by_library(self, frame):
        """Note that a function of a library starts: one of `WATCHED`, of the module `random`, or named "submit"."""
        code, reads = frame.f_code, self._reads
        if code in _MODE_SETTERS:
            self._mode_setter = user_line()
        elif code is _FILLS and id(frame.f_locals["instance"]) not in self._known.own and is_user_defined(
                type(frame.f_locals["instance"])):
            self._status.first_time = f"the cached property {frame.f_locals['self'].attrname} was computed"
        elif code is _FORWARD:
            self._known.add_own(frame.f_locals["ctx"])     # a user Function's: nobody else has it
        elif code is IS_ENABLED and works_for_user(frame):
            reads.add_condition(level_condition(frame.f_locals["self"], frame.f_locals["level"]))
        elif code is _THREAD and is_user(frame.f_back):
            reads.add_condition(ReadCondition(("thread",), _thread, _thread(), "the thread that calls"))
        elif code in _SETTINGS and is_user(frame.f_back):
            reads.add_condition(ReadCondition.of(("settings",), _settings, "a switch of ingot"))
        elif code in _QUEUES:
            self._status.refuse("it puts into a queue, or takes out of one; do so in a function that is marked with jit.host")
        elif code is _GETENV:
            self._chains.add(Chain(GLOBAL, "environ", ()), vars(os), os.environ)
        elif code in _ABOUT_A_PATH and is_user(frame.f_back):
            self._depend_on_file(frame.f_locals[code.co_varnames[0]])
        elif code.co_name == "submit" and frame.f_globals.get("__name__", "").startswith("concurrent.futures"):
            self.starts_thread(frame)
        elif frame.f_globals is RANDOM and code.co_argcount and works_for_user(frame):
            self._chains.generators.called(code, frame.f_locals[code.co_varnames[0]])

    def check(self):
        """Refuse a function that drew random numbers, or leaves modes of the thread or defaults changed."""
        if self._status.problem is None:
            self._chains.generators.check()
        changed = [name for name, before, now in zip(_MODES, self._modes, modes()) if now != before]
        if changed:
            self._status.refuse(f"it leaves {changed[0]} changed{at(self._mode_setter)}; change it with a `with` block, or "
                                 "outside")

    def starts_thread(self, frame):
        """Refuse user code that starts a thread, or gives work to one."""
        self._casts.close()
        while frame is not None and not is_user(frame):
            name = frame.f_globals.get("__name__", "")
            if name.partition(".")[0] in TRUSTED or is_service(name):
                return
            frame = frame.f_back
        if frame is not None:
            self._status.refuse(f"it gives work to another thread or process at {frame.f_code.co_filename}:{frame.f_lineno}, "
                                 "which a replay would not do; do so in a function that is marked with jit.host, or outside")

    def opens(self, file, mode, frame):
        """Note that a file is about to be opened: one that is read is a condition."""
        if not works_for_user(frame):
            return
        place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        if not _CHANGES_FILE.isdisjoint(mode):
            self._status.refuse(f"it opens a file for writing at {place}; do so in a function that is marked with jit.host")
        elif type(file) is int or is_stream(file):
            self._status.refuse(f"it reads at {place} what is no file, and gives something else each time; pass it as an "
                                 "argument")
        else:
            self._depend_on_file(file)

    def _depend_on_file(self, path):
        path = os.path.abspath(os.fspath(path))
        self._reads.add_condition(ReadCondition(("file", path), lambda: file_state(path), file_state(path), f"the file {path}"))

    def builtin_called(self, frame, function):
        owner = getattr(function, "__self__", None)
        holder = owner if isinstance(owner, type) else type(owner)
        module = function.__module__ or (owner.__name__ if isinstance(owner, types.ModuleType) else holder.__module__)
        name = getattr(function, "__name__", "")
        place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        if type(owner) is ContextVar:
            self._contexts.called(owner, name, place)
        if module == "_warnings" and name in ("warn", "warn_explicit"):
            self._status.first_time = (f"{name}() was called at {place} by a name of its own (warnings.warn would come at "
                                        "every call)")
        refused = self._refusal(owner, module, name, place)
        if refused:
            self._status.refuse(refused)

    def _refusal(self, owner, module, name, place) -> str:
        """Return why a call of a builtin cannot be repeated, or nothing."""
        is_own = id(owner) in self._known.own
        if (module in _FILES and name in _WRITES) or module in _WRITERS:
            return (f"it writes to a file with {name}() at {place}; do so in a function that is marked with jit.host, or with "
                    "print()")
        if module in _FILES and name in _READS and not is_own:
            return f"it reads at {place} from a file that was opened outside of it; pass what is read as an argument"
        if (module == os.name and name in _LOOKS_AROUND) or (module == "builtins" and name == "input"):
            return f"it calls {name}() at {place}, which gives what is there at that time; pass that as an argument"
        is_impure = name in _CLOCKS if module == "datetime" else module.startswith(_IMPURE_MODULES)
        if is_impure and name not in ("seed", "sleep") and not is_own:
            return (f"it calls {module}.{name} at {place}, whose result changes from call to call; pass the value as an "
                    "argument, or use ingot's random functions")
        if name in _MUTATORS and any(owner is c for c in self._known.containers) and not self._contents.has_seen(owner):
            return (f"it calls .{name}() on a {type(owner).__name__} that lives outside of it, at {place}; return the value "
                    "instead")
        return ""


def _thread() -> tuple:
    return threading.get_ident(), threading.current_thread().name


def _settings() -> tuple:
    return tuple(vars(config.current()).values())


def modes() -> tuple:
    """Return the modes of the thread and defaults of the process that `_MODES` names."""
    m = tls.m
    return m.grad, m.inference, m.autocast, m.anomaly, m.saved_hooks, Defaults.dtype, Defaults.device, config.current()
