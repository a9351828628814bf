"""Functions of libraries that start while a call is recorded, and that read or change state which outlives the call."""

import functools
import importlib.util
import os
import pathlib
import queue
import threading
from typing import Any

import numpy as np
from numpy.lib.npyio import DataSource

from ...ir import config
from ...ir.doors import door
from ...ir.source_location import place_of_frame
from ...runtime.autograd import grad_mode
from ...runtime.autograd.function import Function, run_forward
from ...runtime.core.device import set_default_device
from ...runtime.core.storage import user_line
from ...runtime.core.tensor import Tensor
from ...runtime.state.mode import Defaults, set_default_dtype, tls
from ..bytecode.reads import GLOBAL, Chain
from ..bytecode.stack import instructions_of, position_of
from ..bytecode.user_code import LIBRARIES, is_user_defined
from ..errors.errors import RecordingStatus, at
from ..guards.frames import is_user, works_for_user
from ..guards.guards import ReadCondition
from ..guards.known_objects import KnownObjects
from ..proxies.threads import is_service
from .ambient_state import reading_condition
from .chain_reads import ChainReads
from .reachable import Reachable
from .stand_ins import IS_ENABLED, file_state, is_stream, level_condition
from .stdlib_state import RANDOM, is_seed
from .weak_references import GIVES_OUT
from .written_streams import WrittenStreams

_GETENV = os.getenv.__code__
_SETTINGS = frozenset((config.current.__code__, config.describe.__code__))
_THREAD = threading.current_thread.__code__
_FIND_MODULE = frozenset((importlib.import_module.__code__, importlib.util.find_spec.__code__))
_FORWARD = door(run_forward).__code__
_APPLY = Function.apply.__func__.__code__       # type: ignore[attr-defined]
# `apply` or a backward reads them.
_OF_FUNCTIONS = "forward", "setup_context", "backward", "vjp", "jvp", "vmap", "generate_vmap_rule"
_HASH = Tensor.__hash__.__code__
_BUILDS_SETS = frozenset(("BUILD_SET", "SET_ADD", "SET_UPDATE", "PRECALL", "CALL", "CALL_KW", "CALL_FUNCTION_EX"))
_FILLS = functools.cached_property.__get__.__code__      # runs only if nothing is cached yet
_OF_NUMPY = DataSource.open.__code__        # takes `open` out of a table, so that no stand-in comes in its place
_QUEUES = frozenset((queue.Queue.put.__code__, queue.Queue.get.__code__))
_CHANGES_FILE = frozenset("wax+")      # in the mode of an open file
_MODES = ("grad mode", "inference mode", "autocast", "anomaly mode", "the hooks on saved tensors", "the default dtype",
          "the default device", "the switches of ingot")
_MODE_SETTERS = frozenset([door(f).__code__ for f in (       # those that need no `with` block
    grad_mode.set_grad_enabled.__init__, grad_mode.no_grad.__enter__, set_default_dtype, set_default_device)])
_ABOUT_A_PATH = frozenset([f.__code__ for f in (
    *[getattr(os.path, name) for name in ("exists", "lexists", "isfile", "isdir", "islink", "getsize", "getmtime")],
    *[getattr(pathlib.Path, name) for name in ("exists", "is_file", "is_dir", "stat")]) if hasattr(f, "__code__")])

PRINTING = np.array_repr.__wrapped__.__globals__         # of numpy's code that writes arrays as text


class LibraryFunctions:
    """Functions of libraries that start, as `WATCHED` lists them."""

    def __init__(self, status: RecordingStatus, known: KnownObjects, chains: ChainReads, reachable: Reachable,
                 written: WrittenStreams):
        self._written = written
        self._status, self._known, self._chains, self._reachable, self._reads = status, known, chains, reachable, chains.reads
        self.hashes_tensors = False         # whether tensors may be elements of sets of the call's own
        self._modes: tuple = ()
        self._mode_setter: tuple = ()       # the line that last set a mode of the thread

    def start(self):
        self._modes = modes()

    def check(self):
        """Refuse a function that leaves modes of the thread or defaults changed."""
        changed = [name for name, before, now in zip(_MODES, self._modes, modes()) if now != before]
        if changed:
            self._status.refuse(f"it leaves {changed[0]} changed{at(self._mode_setter)}; change it with a `with` block, or "
                                 "outside")

    def _sets_mode(self, frame):
        self._mode_setter = user_line()

    def _fills_property(self, frame):
        """Note a cached property that is computed: a later call finds the result."""
        owner = frame.f_locals["instance"]
        if id(owner) not in self._known.own and is_user_defined(type(owner)):
            self._status.first_time = f"the cached property {frame.f_locals['self'].attrname} was computed"
            self._chains.attributes.writes.fix_numbers()
            recorder: Any = tls.m.recorder
            recorder.reads.defers = False       # nobody replays this recording

    def _hashes(self, frame):
        """Note a tensor whose hash is asked for: it may become an element of a set of the call's own."""
        caller = frame.f_back
        if not self.hashes_tensors and is_user(caller):
            self.hashes_tensors = instructions_of(caller.f_code)[position_of(caller)].opname in _BUILDS_SETS
            if self.hashes_tensors:
                self._reachable.on_operand()

    def _runs_forward(self, frame):
        self._known.add_own(frame.f_locals["ctx"])     # a user Function's: nobody else has it

    def _applies(self, frame):
        cls = frame.f_locals["cls"]
        self._reads.add_attributes(cls.__qualname__, cls, _OF_FUNCTIONS if is_user_defined(cls) else ())

    def _finds_module(self, frame):
        if works_for_user(frame):
            self._chains.imports(frame.f_locals["name"], 0, frame.f_locals["package"])

    def _asks_level(self, frame):
        if works_for_user(frame):
            self._reads.add_condition(level_condition(frame.f_locals["self"], frame.f_locals["level"]))

    def _asks_thread(self, frame):
        if is_user(frame.f_back):
            self._reads.add_condition(ReadCondition(("thread",), _thread, _thread(), "the thread that calls"))

    def _asks_settings(self, frame):
        if is_user(frame.f_back):
            self._reads.add_condition(ReadCondition.of(("settings",), _settings, "a switch of ingot"))

    def _uses_queue(self, frame):
        self._status.refuse("it puts into a queue, or takes out of one; do so in a function that is marked with jit.host")

    def _opens_for_numpy(self, frame):
        self.opens(frame.f_locals["path"], frame.f_locals["mode"], frame)

    def _asks_environment(self, frame):
        self._chains.add(Chain(GLOBAL, "environ", ()), vars(os), os.environ)

    def _takes_out(self, frame):
        """Note a method of a weak container that gives out its objects."""
        self._reachable.weak.follow(first_argument(frame))

    def _asks_path(self, frame):
        if is_user(frame.f_back):
            self._depend_on_file(first_argument(frame))

    def submits(self, frame):
        if frame.f_globals.get("__name__", "").startswith("concurrent.futures"):
            self.starts_thread(frame)

    def writes_array(self, frame):
        """Note a function of numpy that writes arrays as text."""
        if works_for_user(frame):
            self._reads.add_condition(reading_condition("numpy.get_printoptions", np.get_printoptions, (), {}))

    def draws(self, frame):
        """Note a function of the module `random`."""
        if frame.f_code.co_argcount and works_for_user(frame) and not is_seed(frame):
            self._chains.generators.called(frame.f_code, first_argument(frame))

    def starts_thread(self, frame):
        """Refuse user code that starts a thread, or gives work to one."""
        while frame is not None and not is_user(frame):
            name = frame.f_globals.get("__name__", "")
            if name.partition(".")[0] in LIBRARIES or is_service(name):
                return
            frame = frame.f_back
        if frame is not None:
            self._status.refuse(f"it gives work to another thread or process at {place_of_frame(frame)}, "
                                 "which a replay would not do; do so in a function that is marked with jit.host, or outside")

    def opens(self, file, mode, frame):
        """Note that a file is about to be opened: one that is read is a condition."""
        if not works_for_user(frame):
            return
        place = place_of_frame(frame)
        if not _CHANGES_FILE.isdisjoint(mode):
            self._status.refuse(f"it opens a file for writing at {place}; do so in a function that is marked with jit.host")
        elif type(file) is int or is_stream(file):
            self._status.refuse(f"it reads at {place} what is no file, and gives something else each time; pass it as an "
                                 "argument")
        else:
            self._depend_on_file(file, is_read=True)

    def _depend_on_file(self, path, is_read=False):
        if isinstance(path, (str, bytes, os.PathLike)):
            path = os.fspath(path)
            self._written.asks_about(path)
            self._reads.add_condition(ReadCondition.of(("file", path, is_read), lambda: file_state(path, is_read),
                                                       f"the state of the file {os.fsdecode(path)}"))
        else:
            self._status.refuse(f"it asks about {path!r}, which is no path; pass the answer as an argument")


# Code of libraries by its id -> (code, method that takes its frames). To hash code takes longer than to run it.
WATCHED = {id(code): (code, method) for method, codes in {
    LibraryFunctions._sets_mode: _MODE_SETTERS,
    LibraryFunctions._fills_property: [_FILLS],
    LibraryFunctions._hashes: [_HASH],
    LibraryFunctions._runs_forward: [_FORWARD],
    LibraryFunctions._applies: [_APPLY],
    LibraryFunctions._finds_module: _FIND_MODULE,
    LibraryFunctions._asks_level: [IS_ENABLED],
    LibraryFunctions._asks_thread: [_THREAD],
    LibraryFunctions._asks_settings: _SETTINGS,
    LibraryFunctions._uses_queue: _QUEUES,
    LibraryFunctions._opens_for_numpy: [_OF_NUMPY],
    LibraryFunctions._asks_environment: [_GETENV],
    LibraryFunctions._takes_out: GIVES_OUT,
    LibraryFunctions._asks_path: _ABOUT_A_PATH,
}.items() for code in codes}


def observer_of(frame):
    """Return the method of `LibraryFunctions` that takes the frames of a library's code, or None."""
    code, space = frame.f_code, frame.f_globals
    if id(code) in WATCHED:
        return WATCHED[id(code)][1]
    if code.co_name == "submit":
        return LibraryFunctions.submits
    return LibraryFunctions.writes_array if space is PRINTING else LibraryFunctions.draws if space is RANDOM else None


def first_argument(frame):
    """Return what the first parameter of code that starts holds; None if code has deleted the variable."""
    return frame.f_locals.get(frame.f_code.co_varnames[0])


def _thread() -> tuple:
    return threading.get_ident(), threading.current_thread().name


def _settings() -> tuple:
    return tuple(vars(config.current()).values())


def modes() -> tuple:
    """Return the modes of the thread and defaults of the process that `_MODES` names."""
    m = tls.m
    return m.grad, m.inference, m.autocast, m.anomaly, m.saved_hooks, Defaults.dtype, Defaults.device, config.current()
