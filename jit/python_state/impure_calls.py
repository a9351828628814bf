"""What a recorded function asks of the world, or does to it: files, the clock, Python's and numpy's random numbers, queues."""

import functools
import os
import pathlib
import queue
import random
import sys
import threading
import types
from contextvars import ContextVar
from typing import Any

import numpy as np

from ...runtime.autograd import grad_mode
from ...runtime.autograd.function import run_forward
from ...runtime.core.device import set_default_device
from ...runtime.core.state import Defaults, set_default_dtype, tls
from ...runtime.core.storage import user_line
from ..bytecode.reads import GLOBAL, Chain
from ..bytecode.user_code import TRUSTED
from ..errors.errors import at
from ..guards.frames import is_user, works_for_user
from ..guards.guards import Reading
from ..guards.instances import is_users
from ..proxies.other_threads import is_service
from .patched_builtins import file_state, is_read_only, is_stream
from .warnings import IS_ENABLED, level_reading

_MUTATORS = frozenset(("append", "extend", "insert", "pop", "remove", "clear", "update", "setdefault", "popitem", "add",
                       "discard", "sort", "reverse", "appendleft", "popleft"))
_GETENV = os.getenv.__code__
_THREAD = threading.current_thread.__code__
_FORWARD = run_forward.__code__
_FILLS = functools.cached_property.__get__.__code__      # runs where nothing is kept yet
_QUEUES = frozenset((queue.Queue.put.__code__, queue.Queue.get.__code__))
_FILES, _WRITES = frozenset(("_io", "io")), frozenset(("write", "writelines", "truncate"))
_READS = frozenset(("read", "read1", "readline", "readlines", "readinto"))
_WRITERS = frozenset(("_csv", "_queue"))
_MODES = ("grad mode", "inference mode", "autocast", "anomaly mode", "the hooks on saved tensors", "the default dtype",
          "the default device")
_MODE_SETTERS = frozenset([f.__code__ for f in (       # of those that need no `with` block
    grad_mode.set_grad_enabled.__init__, grad_mode.no_grad.__enter__, set_default_dtype, set_default_device)])
_IMPURE_MODULES = ("_random", "random", "time", "secrets", "uuid", "numpy.random")
_CLOCKS = frozenset(("now", "utcnow", "today"))     # of dates and times
# Of the module of the operating system, which is called what `os.name` says.
_LOOKS_AROUND = frozenset(("urandom", "listdir", "scandir", "stat", "lstat", "getcwd", "access"))
_ABOUT_A_PATH = frozenset([f.__code__ for f in (
    *[getattr(os.path, name) for name in ("exists", "lexists", "isfile", "isdir", "islink", "getsize", "getmtime")],
    *[getattr(pathlib.Path, name) for name in ("exists", "is_file", "is_dir", "stat")]) if hasattr(f, "__code__")])

WATCHED = {id(code): code for code in (       # by id: to hash code takes longer than to run it
    _GETENV, _THREAD, _FORWARD, _FILLS, IS_ENABLED, *_QUEUES, *_MODE_SETTERS, *_ABOUT_A_PATH)}
DICE = vars(random)


class World:
    """The part of a watch that looks after that."""

    def _library(self: Any, frame):
        """A function starts that is not the user's: one of `WATCHED`, of `DICE`, or called "submit"."""
        code = frame.f_code
        if code in _MODE_SETTERS:
            self.mode_setter = user_line()
        elif code is _FILLS and id(frame.f_locals["instance"]) not in self.made and is_users(type(frame.f_locals["instance"])):
            self.first_time = f"the cached property {frame.f_locals['self'].attrname} was computed"
        elif code is _FORWARD:
            self._has_made(frame.f_locals["ctx"])       # a user Function's: nobody else has it, whatever it keeps or deletes
        elif code is IS_ENABLED and works_for_user(frame):
            self._note_reading(level_reading(frame.f_locals["self"], frame.f_locals["level"]))
        elif code is _THREAD and is_user(frame.f_back):
            self._note_reading(Reading(("thread",), _thread, _thread(), "the thread that calls"))
        elif code in _QUEUES:
            self._refuse("it puts into a queue, or takes out of one; do so in a function that is marked with jit.host")
        elif code is _GETENV:
            self._note(Chain(GLOBAL, "environ", ()), vars(os), os.environ)
        elif code in _ABOUT_A_PATH and is_user(frame.f_back):
            self._note_path(frame.f_locals[code.co_varnames[0]])
        elif code.co_name == "submit" and frame.f_globals.get("__name__", "").startswith("concurrent.futures"):
            self._starts_thread(frame)
        elif frame.f_globals is DICE and code.co_argcount and works_for_user(frame):
            self._note_dice(code, frame.f_locals[code.co_varnames[0]])

    def depends_on(self: Any, condition):
        """What the function does depends on a condition."""
        self._note_reading(condition)

    def _check_modes(self: Any):
        """Refuses a function that leaves the thread in another mode, or other defaults."""
        changed = [name for name, before, now in zip(_MODES, self.modes, modes()) if now != before]
        if changed:
            self._refuse(f"it leaves {changed[0]} changed{at(self.mode_setter)}; change it with a `with` block, or outside")

    def _starts_thread(self: Any, frame):
        """A thread starts, or work is handed to one."""
        self.casts.close()
        while frame is not None and not is_user(frame):
            name = frame.f_globals.get("__name__", "")
            if name.partition(".")[0] in TRUSTED or is_service(name):
                return
            frame = frame.f_back
        if frame is not None:
            self._refuse(f"it gives work to another thread or process at {frame.f_code.co_filename}:{frame.f_lineno}, which a "
                         "replay would not do; do so in a function that is marked with jit.host, or outside")

    def _note_dice(self: Any, code, x):
        """A generator of Python's is asked for something: one that the function made, with a seed, gives what it gave."""
        if isinstance(x, random.Random) and id(x) not in self.made:
            if isinstance(x, random.SystemRandom):
                self._refuse("it draws random numbers from the operating system; use ingot's random functions")
            elif code.co_name == "__init__":
                self._has_made(x)
            elif all(x is not known for known, *_ in self.generators):
                self.generators.append((x, random.Random.getstate, x.getstate()))

    def _note_generator(self: Any, x):
        """A generator of numpy's is reached."""
        if type(x).__module__.startswith("numpy.random") and (hasattr(x, "bit_generator") or hasattr(x, "get_state")):
            self.generators.append((x, _numpy_state, _numpy_state(x)))

    def _has_drawn(self: Any) -> bool:
        """Whether numbers were drawn from Python's or numpy's generators."""
        return self.dice != random_states() or any(state(x) != before for x, state, before in self.generators)

    def opens(self: Any, file, mode, frame):
        """A file is about to be opened: one that is read is a condition."""
        if not works_for_user(frame):
            return
        place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        if not is_read_only(mode):
            self._refuse(f"it opens a file for writing at {place}; do so in a function that is marked with jit.host")
        elif type(file) is int or is_stream(file):
            self._refuse(f"it reads at {place} what is no file, and gives something else each time; pass it as an argument")
        else:
            self._note_path(file)

    def opened(self: Any, file):
        """A file was opened."""
        self._has_made(file)

    def _note_path(self: Any, path):
        """What a path leads to, or that there is nothing, is a condition."""
        path = os.path.abspath(os.fspath(path))
        self._note_reading(Reading(("file", path), lambda: file_state(path), file_state(path), f"the file {path}"))

    def _builtin(self: Any, frame, function):
        """The user's code calls a builtin."""
        owner = getattr(function, "__self__", None)
        holder = owner if isinstance(owner, type) else type(owner)
        module = function.__module__ or (owner.__name__ if isinstance(owner, types.ModuleType) else holder.__module__)
        name = getattr(function, "__name__", "")
        place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        if type(owner) is ContextVar:
            self._context_variable(owner, name, place)
        if module == "_warnings" and name in ("warn", "warn_explicit"):
            self.first_time = f"{name}() was called at {place} by a name of its own (warnings.warn would come at every call)"
        if (module in _FILES and name in _WRITES) or module in _WRITERS:
            self._refuse(f"it writes to a file with {name}() at {place}; do so in a function that is marked with jit.host, or "
                         "with print()")
        if module in _FILES and name in _READS and id(owner) not in self.made:
            self._refuse(f"it reads at {place} from a file that was opened outside of it; pass what is read as an argument")
        if (module == os.name and name in _LOOKS_AROUND) or (module == "builtins" and name == "input"):
            self._refuse(f"it calls {name}() at {place}, which gives what is there at that time; pass that as an argument")
        is_impure = name in _CLOCKS if module == "datetime" else module.startswith(_IMPURE_MODULES)
        if is_impure and name not in ("seed", "sleep") and id(owner) not in self.made:
            self._refuse(f"it calls {module}.{name} at {place}, whose result changes from call to call; pass the value as an "
                         "argument, or use ingot's random functions")
        if name in _MUTATORS and any(owner is c for c in self.containers) and not self.contents.has_seen(owner):
            self._refuse(f"it calls .{name}() on a {type(owner).__name__} that lives outside of it, at {place}; return the "
                         "value instead")


def _thread() -> tuple:
    """Which thread runs."""
    return threading.get_ident(), threading.current_thread().name


def modes() -> tuple:
    """What `_MODES` names: the mode of the thread, and the defaults of the process."""
    m = tls.m
    return m.grad, m.inference, m.autocast, m.anomaly, m.saved_hooks, Defaults.dtype, Defaults.device, Defaults.clear_padding


def random_states() -> tuple:
    """Where the global random streams of Python and numpy are."""
    legacy = sys.modules.get("numpy.random")
    return random.getstate(), None if legacy is None else _comparable(legacy.get_state())


def _numpy_state(generator):
    return _comparable(generator.get_state() if hasattr(generator, "get_state") else generator.bit_generator.state)


def _comparable(state):
    """A generator's state in which arrays are their bytes."""
    if isinstance(state, np.ndarray):
        return state.tobytes()
    if isinstance(state, dict):
        return {name: _comparable(part) for name, part in state.items()}
    return tuple(map(_comparable, state)) if isinstance(state, tuple) else state
