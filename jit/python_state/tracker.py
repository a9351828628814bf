"""Watches the Python side of a recorded run: what it read (for guards) and what it did that a trace cannot repeat."""

import copy
import copyreg
import functools
import os
import sys
import types
from dataclasses import replace
from typing import Any

from ...runtime.core.state import tls
from ...runtime.nn.base.hooks import GLOBAL as EVERY_MODULES
from ...runtime.nn.base.module import Module
from ..bytecode.attribute_queries import NOTHING, asked_of, catches, imports_of, names_by_value
from ..bytecode.reads import ARGUMENT, BY_NAME, FREE, GLOBAL, Chain, computed_at, reads_of, stores_of, writes_of
from ..bytecode.uses import uses_of
from ..errors.errors import TraceError
from ..guards.arg_structure import Parts
from ..guards.frames import function_of, functions_with_code, is_user, unwatched, watch_again, works_for_user
from ..guards.guards import module_state
from ..guards.instances import attributes_of_module, is_instance, is_users, is_users_space
from ..guards.locations import Held, root_value
from ..guards.snapshot import is_changeable
from ..host.ordering import BehindHosts, ReadOrder
from ..proxies.numpy_scalars import fixed
from ..side_effects.contents import Contents
from ..side_effects.module_writes import ModuleWrites
from ..side_effects.passed_containers import calls_of, note_arguments
from ..side_effects.writes import Stores
from .concretize import make_plain, settle
from .dynamic_attributes import AskedByName
from .finalize import Findings
from .implicit_reads import HiddenReads, known_in_class, owners_above
from .impure_calls import DICE, WATCHED, World, modes, random_states
from .patched_casts import Casts
from .reachable import Outside
from .read_guards import Noted
from .tensor_attributes import TensorAttributes

_STARTS_THREAD = frozenset(("start_new_thread", "start_joinable_thread"))
_EXACT = frozenset(("__float__", "__int__", "__index__", "__complex__", "__bool__", "__str__", "__repr__", "__hash__"))
_COPIED = copy._reconstruct.__code__        # type: ignore[attr-defined]
_NEW = (copyreg.__newobj__, copyreg.__newobj_ex__, copyreg._reconstructor)      # type: ignore[attr-defined]
_COPIES = frozenset(("__reduce_ex__", "__getstate__"))
_ODD = _STARTS_THREAD | _COPIES
_RUNNERS = frozenset(("forward", "__call__", "train"))
_FROM_THE_SYSTEM = os.urandom


class Watch(AskedByName, BehindHosts, Findings, Noted, Outside, HiddenReads, Stores, TensorAttributes, World):
    """Collects guards and refuses what cannot be repeated, while a function runs for the first time."""

    def __init__(self, held=None):
        super().__init__()
        self.held = held or Held()       # what is looked up at every call
        self.contents = self.held.contents = Contents()
        self.casts = Casts()
        self.scheduled: set = set()      # the places that schedules of learning rates set
        self.guards: dict = {}
        self._unwalked: dict = {}        # by id: (what names it, container of which code only asked what is in it)
        self.containers: list = []       # lists, dicts and sets that were read
        self.modules: dict = {}          # modules that ran or were read, by id
        self.tensors: dict = {}          # tensors that were there before and are reached from outside of the arguments, by id
        self.inner: dict = {}            # code of functions made inside -> their free variables that live inside, too
        self.made: set = set()           # ids of objects whose __init__ ran inside, and of copies
        self.outside: dict = {}          # by id: (object that was there before and is reached, what names it, its attributes)
        self.stored: dict = {}           # by place: the `Target`s that are assigned to
        self.given: set = set()          # ids of the arguments
        self.parts = Parts()             # what they consist of
        self.module_classes: list = []   # those of the user's of which there are such
        self.module_reads: set = set()   # (id of a module, attribute) that were read
        self.module_writes = ModuleWrites()
        self.order = ReadOrder()
        self.arguments: list = []        # the containers among the arguments
        self.hosts: list = []            # a `HostMark` for each host step so far
        self.left: dict = {}             # (id of an object, attribute) that host steps have changed: what was there before
        self.reads_by_name = False       # whether attributes may have been read that no chain shows
        self.readings: dict = {}         # by what they watch: guards of what no chain shows
        self.copies: dict = {}           # by id: (container of a class of the user's, what it held, what names it)
        self.contexts: dict = {}         # by id: (context variable, its value before, how many set() no reset() follows, where)
        self.caches: dict = {}           # by id: (function with functools.lru_cache, how often it had run)
        self.kept_by_code: set = set()   # code of which these keep the results
        self.meets_cache = False         # whether the function that is looked at reaches one of them
        self.spaces: dict = {}           # by id: (namespace that code gets by globals(), what it held)
        self.passed: set = set()         # ids of what the first function was given by its caller
        self.problem: TraceError | None = None
        self._keep: list = []
        self._reader = ""                # the function that is being looked at,
        self._asked = NOTHING            # and what it asks of objects that no chain leads to,
        self._questions: dict = {}       # how all code so far asks -> for which names
        self._uses: dict = {}                    # and what it does with what its chains lead to,
        self._calls: dict = {}                   # and to which calls it gives that
        self._imports: list = []                 # (module and level, steps, package) of what code reads of what it imports
        self._loose: dict = {}           # name -> what is done with attributes that no chain leads to: {(how, call): None}
        self._computing: list = []       # code of what kinds has computed names of attributes
        self._classes: dict = {}         # (class, names) -> which of the names it knows, and which it has not
        self.first_time = ""             # what this call does, and no later one
        self.filled = ""                 # why the call cannot be kept if later ones, too, put something new into a dictionary
        self.replaced = ""               # why the call cannot be kept, and others can if they don't do the same
        self.is_first = True
        self._catchers: set = set()      # code that goes on after an attribute was not there
        self._functions: dict = {}       # code -> functions that have it, where nobody knows which one runs
        self.mode_setter: tuple = ()         # the line that set a mode of the thread last
        self.generators: list = []            # (Python's or numpy's generator, what gives its state, that when first seen)

    def __enter__(self):
        self.dice, self.modes = random_states(), modes()
        m: Any = tls.m
        self._before, self._run = sys.getprofile(), m.run
        m.run, m.door = functools.partial(unwatched, m.run), unwatched       # of kernels, and of all that operators do
        self._starter = sys._getframe(1).f_code          # what calls the traced function
        for hook in EVERY_MODULES.objects():
            self.meets("a hook of all modules", hook)
        sys.setprofile(self._event)
        return self

    def __exit__(self, *exc):
        self.casts.close()
        tls.m.run, tls.m.door = self._run, None
        watch_again(self._before)

    def close(self):
        """Lets go of what others may ask who holds it (`relocated_containers.py`)."""
        self.contents.close()
        self.containers, self._keep, self.hosts = [], [], []
        self.copies, self.stored, self._unwalked = {}, {}, {}

    def _event(self, frame, event, arg):
        if event == "call":
            if is_user(frame):
                self.meets_cache = frame.f_code in self.kept_by_code
                lay = self.casts.lift()
                self._frame(frame)
                self.casts.lay(lay)
                self.casts.enter(frame)
                if self.meets_cache:        # keys and what is computed are there for other calls
                    self._fix()
                    make_plain(frame)
            else:
                code = frame.f_code
                if id(code) in WATCHED or code.co_name == "submit" or frame.f_globals is DICE:
                    self._library(frame)
                if code.co_name in _RUNNERS and code.co_argcount:
                    first = frame.f_locals.get(code.co_varnames[0])
                    if isinstance(first, Module):
                        self._runs(code, first)
            settle(frame, self.held.is_symbolic)        # the last to look at what is local, which is then put back
        elif event == "return":
            self.casts.returns_to(frame.f_back)
            if frame.f_code is _COPIED and frame.f_locals["func"] in _NEW:
                self._has_made(arg)
            elif type(arg) is types.ModuleType and is_users_space(arg):
                self._walk(arg.__name__, arg)
        elif event == "c_call":
            if arg.__name__ in _ODD:
                self._odd_builtin(frame, arg)
            if is_user(frame):
                self._builtin(frame, arg)
            elif arg is _FROM_THE_SYSTEM and works_for_user(frame):
                self._refuse("it draws random numbers from the operating system; use ingot's random functions")

    def _odd_builtin(self, frame, function):
        """A builtin runs that starts a thread, or copies attributes of an object."""
        starts = function.__name__ in _STARTS_THREAD
        if starts:
            self._starts_thread(frame)
        if self.held.is_symbolic and (starts or self.held.views.cover(function.__self__)):
            self._fix()

    def _fix(self):
        """A thread starts that could meet symbolic numbers, or objects are read on ways past them."""
        self.held.fix()
        for t in self.stored.values():
            t.fix(fixed)

    def _runs(self, code, m):
        """A module runs code that is not the user's."""
        self._see_module(m)
        self._see_in_class(m, "forward")
        if not self.module_writes.sets_mode(code, m, self.module_reads):
            self.module_writes.ran(m)

    def _see_module(self, m):
        """A module runs or is read."""
        if id(m) not in self.modules:
            self.modules[id(m)] = m
            self._remember(m)
            for name, value in attributes_of_module(m).items():
                self.contents.see(value, f"{type(m).__name__}.{name}", self.held)

    def _remember(self, m):
        """Notes how a module and those below it are, with their tensors."""
        for new in self.module_writes.remember(m):
            self._used_loosely(attributes_of_module(new), self._loose)
            self._meet_class(type(new))
            for names in self._questions.values():
                self._answer_of_module(new, names)
            for t in (*new._parameters.values(), *new._buffers.values()):
                self._note_tensor(t)

    def _see_in_class(self, m, name):
        """An attribute of a module is asked for: it may be its class that has it."""
        kind = type(m)
        if name not in module_state(m) and known_in_class(kind, name):
            self._note_attributes(kind.__qualname__, kind, (name,))

    def _has_made(self, x):
        """An object is the function's own."""
        if hasattr(type(x), "__del__") and is_users(type(x)):
            self._refuse(f"it makes a {type(x).__name__}, whose __del__ would not run at later calls; do without that method, "
                         "or make the object outside")
        self.made.add(id(x))
        self._keep.append(x)

    # Frames.

    def _frame(self, frame):
        code = frame.f_code
        if code.co_name == "__init__" and code.co_varnames:
            self._has_made(frame.f_locals.get(code.co_varnames[0]))
        own = self.inner.get(code, frozenset())
        for inner in code.co_consts:
            if isinstance(inner, types.CodeType):
                self.inner[inner] = frozenset(code.co_cellvars) | (own & set(code.co_freevars))
        self._reader = f"{code.co_filename}:{code.co_firstlineno}"
        for w in writes_of(code):
            if w.root != FREE or w.name not in own:
                self._note_variable(w, frame)
        if self.held.is_symbolic and ("__dict__" in code.co_names or code.co_name in _EXACT):
            self._fix()
        self.reads_by_name = self.reads_by_name or not BY_NAME.isdisjoint(code.co_names)
        more = names_by_value(frame) | self._names_past_made(frame, own)
        asked = asked_of(code).with_names(more)
        self._ask(asked if asked.by_name or not self._is_caught(frame) else asked._replace(by_name=True))
        self._uses_loosely(code, asked, more)
        if "globals" in code.co_names:
            self.casts.close()
            self.spaces.setdefault(id(frame.f_globals), (frame.f_globals, dict(frame.f_globals)))
            for name in [c for c in code.co_consts if isinstance(c, str) and c in frame.f_globals]:     # globals()["rate"]
                self._note(Chain(GLOBAL, name, ()), frame.f_globals, frame.f_globals[name])
        for cls, name in owners_above(frame):
            if known_in_class(cls, name):
                self._note_attributes(cls.__name__, cls, (name,))
        self._imports += [(what, steps, frame.f_globals.get("__package__")) for what, steps in imports_of(code)]
        self._note_imports()
        self.module_writes.named(self._asked.names)
        self._defaults(frame)
        local = frame.f_locals
        for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
            if id(local.get(name)) in self.outside or id(local.get(name)) in self.tensors:
                self._walk(name, local[name], is_given=id(local[name]) in self.given)
        self._uses, self._calls = uses_of(code), calls_of(code)
        note_arguments(frame, self.held, self.contents, self._uses)
        for chain in reads_of(code):
            self.order.at = code, chain
            if chain.root == GLOBAL:
                self._note(chain, frame.f_globals, root_value(frame.f_globals, chain.name))
            elif chain.name in local:       # the call may have made the variable itself; what it holds was there before
                is_own = chain.root == FREE and chain.name in own
                self._note_local(replace(chain, root=ARGUMENT) if is_own else chain, frame, local[chain.name])
        self.order.at = None
        for chain in stores_of(code):
            if chain.root == GLOBAL:
                self._note_store(chain, root_value(frame.f_globals, chain.name))
            elif chain.name in local:
                self._note_store(chain, local[chain.name])
        self.held.settle(local)

    def _is_caught(self, frame) -> bool:
        """Whether the function goes on where code finds no attribute of a name."""
        if catches(frame.f_code):
            self._catchers.add(frame.f_code)
        while self._catchers and frame is not None and frame.f_code is not self._starter:
            if frame.f_code in self._catchers:
                return True
            frame = frame.f_back
        return False

    def _names_past_made(self, frame, own) -> frozenset:
        """The attributes that code reads by way of properties, of objects that the function made, which may hold others, and of
        variables that it made, in which there may be others until then."""
        local = frame.f_locals
        found = []
        for chain in reads_of(frame.f_code):
            root = root_value(frame.f_globals, chain.name) if chain.root == GLOBAL else local.get(chain.name)
            is_late = (chain.root == FREE and chain.name in own) or (chain.root != GLOBAL and id(root) in self.made)
            at = 0 if is_late else computed_at(root, chain.steps)
            found += chain.steps[at:] if at is not None else ()
        return frozenset(key for kind, key in found if kind == "attr")

    def _defaults(self, frame):
        """Notes containers and objects that are the defaults of parameters: they outlive the call. All that the first function
        is given comes from outside."""
        code, local = frame.f_code, frame.f_locals
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        if self.is_first:
            self.is_first = False
            passed = [name for name in names if not is_changeable(local.get(name)) or id(local[name]) in self.passed]
            self.given = {id(local.get(name)) for name in passed}
            for name in passed:
                self._walk(name, local.get(name), is_given=True)
        lasting = [name for name in names if id(local.get(name)) not in self.made and (is_changeable(local.get(name)) or (
            is_instance(local.get(name)) and id(local[name]) not in self.outside))]
        if not lasting:
            return
        functions = self._functions_of(frame)
        given = {id(v) for f in functions for v in (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values())}
        for name in lasting:
            value = local[name]
            if id(value) in given and is_changeable(value):
                self._note(Chain(ARGUMENT, name, ()), value, value)
            elif id(value) in given:
                self._walk(name, value)

    def _functions_of(self, frame) -> list:
        """The function that a frame runs; where the interpreter does not tell, those that have its code, which are looked for
        once for each code and recording."""
        running = function_of(frame)
        if running is not None:
            return [running]
        found = self._functions.get(frame.f_code)
        if found is None:
            found = self._functions[frame.f_code] = functions_with_code(frame)
        return found

    def _refuse(self, reason):
        if self.problem is None:
            self.problem = TraceError("this function cannot be traced: " + reason)
