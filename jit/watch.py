"""Watches the Python side of a recorded run: what it read (for guards) and what it did that a trace cannot repeat."""

import copy
import copyreg
import functools
import os
import sys
import types
from collections import deque
from dataclasses import replace
from typing import Any

import numpy as np

from ..runtime.nn.hooks import GLOBAL as EVERY_MODULES
from ..runtime.nn.module import Module
from ..runtime.state import tls
from ..runtime.tensor import Tensor
from .asked import NOTHING, asked_of, catches, imports_of, names_by_value
from .asked_by_name import AskedByName
from .bystanders import is_alone
from .casts import Casts
from .contents import AnyOf, Contents, item_of
from .effects import is_repeatable
from .errors import DisturbedError, TraceError
from .frames import cells_of, function_of, functions_with_code, is_user, unwatched, watch_again, works_for_user
from .given import Parts
from .guards import UNREAD, Guard, ModulesGuard, module_state
from .handed_on import calls_of, note_arguments
from .hidden_reads import HiddenReads, Reading, known_in_class, owners_above
from .instances import attributes_of_module, is_instance, is_users, is_users_space
from .lack import Keys, Lack
from .module_writes import ModuleWrites
from .numpy_scalars import fixed
from .outside import Outside
from .overwritten import overwritten
from .photograph import PLAIN_CONTAINERS, Exactly, is_changeable, is_container, is_item, is_plain, looks_like, photograph
from .places import CONTEXT, EXTEND, RESTORED, WHOLE, Held, read, root_value
from .plain_arguments import make_plain, settle
from .reads import (
    ARGUMENT,
    BY_NAME,
    FREE,
    GLOBAL,
    LENGTH,
    LENGTH_OF,
    MISSING,
    MOST_LAST,
    Chain,
    computed_at,
    counts_back,
    follow,
    reads_of,
    stores_of,
    writes_of,
)
from .stand_ins import real
from .stores import Stores
from .tables import real_table
from .tensor_attributes import TensorAttributes
from .uses import CONTAINED, SINGLE, uses_of
from .world import World, modes, random_states

_STARTS_THREAD = frozenset(("start_new_thread", "start_joinable_thread"))
_EXACT = frozenset(("__float__", "__int__", "__index__", "__complex__", "__bool__", "__str__", "__repr__", "__hash__"))
_COPIED = copy._reconstruct.__code__        # type: ignore[attr-defined]
_NEW = (copyreg.__newobj__, copyreg.__newobj_ex__, copyreg._reconstructor)      # type: ignore[attr-defined]
_COPIES = frozenset(("__reduce_ex__", "__getstate__"))


class Watch(AskedByName, Outside, HiddenReads, Stores, TensorAttributes, World):
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
        m.run = functools.partial(unwatched, m.run)      # of kernels
        self._starter = sys._getframe(1).f_code          # what calls the traced function
        for hook in EVERY_MODULES.objects():
            self.meets("a hook of all modules", hook)
        sys.setprofile(self._event)
        return self

    def __exit__(self, *exc):
        self.casts.close()
        tls.m.run = self._run
        watch_again(self._before)

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
                self._library(frame)
                if frame.f_code.co_argcount and frame.f_code.co_name in ("forward", "__call__", "train"):
                    first = frame.f_locals.get(frame.f_code.co_varnames[0])
                    if isinstance(first, Module):
                        self._runs(frame.f_code, first)
            settle(frame, self.held.is_symbolic)        # the last to look at what is local, which is then put back
        elif event == "return":
            self.casts.returns_to(frame.f_back)
            if frame.f_code is _COPIED and frame.f_locals["func"] in _NEW:
                self._has_made(arg)
            elif type(arg) is types.ModuleType and is_users_space(arg):
                self._walk(arg.__name__, arg)
        elif event == "c_call":
            if getattr(arg, "__name__", "") in _STARTS_THREAD:
                self._starts_thread(frame)
            if self.held.is_symbolic and self._leads_past(arg):
                self._fix()
            if is_user(frame):
                self._builtin(frame, arg)
            elif arg is os.urandom and works_for_user(frame):
                self._refuse("it draws random numbers from the operating system; use ingot's random functions")

    def _leads_past(self, function) -> bool:
        """Whether a builtin starts a thread, or copies attributes of an object."""
        name = getattr(function, "__name__", "")
        return name in _STARTS_THREAD or (name in _COPIES and self.held.views.cover(function.__self__))

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
            if chain.root == GLOBAL:
                self._note(chain, frame.f_globals, root_value(frame.f_globals, chain.name))
            elif chain.name in local:       # the call may have made the variable itself; what it holds was there before
                is_own = chain.root == FREE and chain.name in own
                self._note_local(replace(chain, root=ARGUMENT) if is_own else chain, frame, local[chain.name])
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

    def _note_local(self, chain, frame, value):
        if chain.root == FREE:
            for cell in cells_of(self._functions_of(frame), frame.f_code, chain.name, value) or [{chain.name: value}]:
                self._note(chain, cell, value)
        elif isinstance(value, Tensor):
            is_others = id(value) in self.passed or id(value) in self.tensors
            if is_others and chain.steps and chain.steps[0][1] in value.__dict__:
                self._note_own(value, chain.steps[0][1])
        elif id(value) not in self.made:
            chain, value = self._past_containers(chain, value)
            if chain.steps or not is_container(value):
                self._note(chain, value, value)

    def _past_containers(self, chain, value):
        """(chain, where it begins) from the first object on the way that is no container: what containers hold is watched where
        they come from, and nobody else sees those that the function has made."""
        at, steps = value, chain.steps
        while steps and is_item(at, *steps[0]):
            at, steps = follow(at, steps[:1]), steps[1:]
        if at is value and not is_container(at):
            return chain, value
        found = follow(at, steps)
        if id(found) in self.copies:
            self._note_use(chain, value, found, self._uses.get(chain), self._calls.get(chain, ()))
        if not steps or type(at) in PLAIN_CONTAINERS:
            return Chain(ARGUMENT, chain.name, ()), ()
        return Chain(ARGUMENT, str(replace(chain, steps=chain.steps[: len(chain.steps) - len(steps)])), steps), at

    def _note(self, chain, root, base):
        how, calls = self._uses.get(chain), self._calls.get(chain, ())
        only_asks = how in (CONTAINED, *SINGLE) and not calls
        if self._unwalked and not only_asks:
            late = self._unwalked.pop(id(follow(base, chain.steps)), None)
            if late is not None:
                self._walk(*late)
        at = computed_at(base, chain.steps)
        if at is not None:
            self._note_computed(follow(base, chain.steps[:at]), *chain.steps[at])
            chain = replace(chain, steps=chain.steps[:at])
        past = self._past_modules(chain, root, base)
        if past is None and real_table(follow(base, chain.steps)).__class__ is tuple:
            self._note_use(chain, base, follow(base, chain.steps), how, calls)
        if past is None or (base is None and chain.root == ARGUMENT):
            return
        chain, root, base = past
        found = follow(base, chain.steps)
        self._note_cache(found)
        self._note_use(chain, base, found, how, calls)
        key = (id(root), chain)
        if key in self.guards or self._through_tensor(base, chain.steps) or self._is_beside(base, chain.steps):
            return
        value = self._first_at(base, chain.steps)
        if value is sys.modules:        # any import adds to it, those within ingot, too
            return
        if chain.root == ARGUMENT and self.parts.leads_to(base, chain.steps, value):
            return
        if self._is_own_item(base, chain.steps, value):
            return
        kind = self.parts.class_with(base, chain.steps, value)
        if kind is not None:
            self._note(Chain(ARGUMENT, kind.__name__, chain.steps[-1:]), kind, kind)
            return
        self._keep.append(root)
        if not (is_plain(value) or looks_like(read(base, chain.steps), value)):
            return
        value = real_table(real(value))
        if chain.root != ARGUMENT or id(base) in self.outside:
            self._note_tensor(value)
            self._note_library(str(chain), value)
        self.guards[key] = Guard(chain, root, photograph(value, self.held), self._reader)
        self._note_hidden(value)
        self._note_generator(value)
        self._keep_outside(chain, value, only_asks)

    def _is_beside(self, base, steps) -> bool:
        """Whether a chain leads to the length, or items at the end, of something of which all counts, or to what a list or
        dictionary holds that the function has made."""
        owner = follow(base, steps[:-1])
        if steps and steps[-1][0] != "attr" and type(owner) in RESTORED and not self.contents.has_seen(owner):
            return not self.parts.leads_to(base, steps[:-1], owner)
        return (steps[-1:] == LENGTH_OF and type(owner) is not list) or (counts_back(steps) and isinstance(owner, np.ndarray))

    def _first_at(self, base, steps):
        """What a chain leads to. The length of a list, and items at its end, are what they were before the function has
        appended to it."""
        if steps[-1:] == LENGTH_OF:
            return self.held.first_length(self.contents.before(follow(base, steps[:-1])), follow(base, steps[:-1]))
        owner = follow(base, steps[:-1]) if counts_back(steps) else None
        return item_of(self.contents.before(owner), steps[-1][1]) if type(owner) in (list, deque) else read(base, steps)

    def _is_own_item(self, base, steps, value) -> bool:
        """Whether a chain leads to an item or attribute that the function has set, of which is watched where that came from, or
        to what its schedules of learning rates have set."""
        if steps and self.scheduled and (id(follow(base, steps[:-1])), steps[-1][1]) in self.scheduled:
            return True
        if not steps or not is_repeatable(value, self.contents):
            return False
        if steps[-1][0] == "attr":
            target = self.stored.get((id(follow(base, steps[:-1])), steps[-1][1]))
            return target is not None and target.kind == "attr" and self._is_changed(target)
        if counts_back(steps) or steps[-1:] == LENGTH_OF:       # of which it counts what was there before
            return False
        return self.contents.is_written(follow(base, steps[:-1]), steps[-1][1])

    def _note_computed(self, owner, step, name):
        """Code of the user's gives an attribute or item of an object: that it is this code which does so is noted."""
        kind, text = type(owner), type(owner).__qualname__
        if step == "attr" and known_in_class(kind, name):
            self._note_attributes(text, kind, (name,))
        elif step == "attr":
            self._note_attributes(text, kind, ("__getattr__",))
            self._note_lack(text, owner, {name})
            self._note_lack(text, kind, {name})
        else:
            self._note_attributes(text, kind, ("__getitem__",))

    def _note_use(self, chain, base, value, how, calls):
        """Looks at a list or dictionary before anything changes in it, and notes what is done with it."""
        value = self.held.given(value, how, calls)
        is_given = chain.root == ARGUMENT and self.parts.leads_to(base, chain.steps, value)
        if type(value) in RESTORED and not is_given and not self._is_own_item(base, chain.steps, value):
            self.contents.see(value, str(chain), self.held)
            self.contents.used(value, how, calls)
        elif type(value) in (tuple, np.ndarray):
            self.contents.used(value, how, calls)

    def found_outside(self, tensors) -> list:
        """(number, tensor) of those that the function reaches on other ways than as its arguments, too."""
        for m in self.modules.values():
            for value in module_state(m).values():
                self._note_tensor(value)
        return [(i, t) for i, t in enumerate(tensors) if id(t) in self.tensors]

    def _past_modules(self, chain, root, base):
        """(chain, root, base) from the first object on a chain that is no module; modules on the way are watched as a whole.
        None where there is no more to it."""
        steps, value, owner, first = chain.steps, base, base, ()
        while isinstance(value, Module) and steps:
            self._see_module(value)
            self.module_reads.add((id(value), steps[0][1]))
            if steps[0][0] == "attr":
                self._see_in_class(value, steps[0][1])
            owner, first = value, steps[:1]
            value, steps = follow(value, steps[:1]), steps[1:]
        if isinstance(value, Module):
            self._see_module(value)
        elif value is not base:
            self._note_cache(value)
            self._see_held(chain, len(chain.steps) - len(steps), value)
        if value is base:
            return chain, root, base
        if value is None or value is MISSING or not (steps or is_changeable(value)):
            return None
        text = str(Chain(chain.root, chain.name, chain.steps[: len(chain.steps) - len(steps) - 1]))
        return Chain(ARGUMENT, text, (*first, *steps)), owner, owner

    def _see_held(self, chain, depth, value):
        """Takes in an object that is an attribute of a module: `depth` steps of the chain lead there."""
        text = str(Chain(chain.root, chain.name, chain.steps[:depth]))
        if is_instance(value) and id(value) not in self.outside and id(value) not in self.made:
            self._walk(text, value)
        self._note_library(text, value)

    def _refuse(self, reason):
        if self.problem is None:
            self.problem = TraceError("this function cannot be traced: " + reason)

    # At the end.

    def finish(self, effects=(), turned=(), touched=()) -> list:
        """The guards; raises if the run changed what it had read, but for the targets of `effects`, and whether tensors (the
        ids `turned`) require grad. `touched` are the ids of the tensors that took part in it."""
        if self.problem is None and self._has_drawn():
            self._refuse("it draws from Python's or numpy's random numbers, which would happen only when the trace is "
                         "recorded; use ingot's random functions, or pass the numbers as an argument")
        self._check_modes()
        if self.problem is not None:
            raise self.problem
        written = {t.place: t for t in effects}
        self.guard_what_stayed(written)
        changed = self.module_writes.restructured(written)
        if changed is not None:
            raise DisturbedError(f"while this function was recorded, it changed the parameters, children or hooks of a "
                                 f"{type(changed).__name__}")
        self._note_imports()
        self._check_copies()
        self._check_others()
        refilled = {at for at, key in written if key == WHOLE}
        set_here = written.keys() | self.scheduled
        is_counted = {LENGTH, *range(-MOST_LAST, 0)}.__contains__         # keys that are others once a list has grown
        grown = {at for at, key in written if key == EXTEND}
        for guard in self.guards.values():
            on_the_way = [place for at in guard.places_on_the_way() for place in self.contents.positions(*at)]
            if not (self.contents.was(guard.value(), guard.expected) or not set_here.isdisjoint(on_the_way)
                    or any(at in refilled or (at in grown and is_counted(key)) for at, key in on_the_way)):
                if not is_alone():
                    raise DisturbedError("while this function was recorded, it or another thread changed "
                                         f"{guard.chain} ({guard})")
                raise TraceError(f"this function cannot be traced: it changed {guard.chain} ({guard}); return the value "
                                 "instead, or keep it in a tensor that is updated in place")
        before = {place: UNREAD if self._is_unread(t) else t.before for place, t in written.items()}
        seen = {id(m): m for top in self.modules.values() for m in Module.modules(top)}
        seen.update({id(m): m for m in self.module_writes.reached()})
        modules = [ModulesGuard(seen.values(), self.held, before, turned)] if seen else []
        for reading in self.readings.values():
            fills = type(reading) in (Keys, Lack) and reading.is_filled_by(written)
            is_set = reading.watched[0] == CONTEXT and (reading.watched[1], CONTEXT) in written
            if not (fills or is_set or reading.holds() or self.is_of_filled_cache(reading)):
                raise TraceError(f"this function cannot be traced: it changed what it reads: {reading}")
        replaced = overwritten(effects, {*touched, *[id(g.root) for g in self.guards.values()]})
        for guard in self.guards.values() if replaced else ():
            self.contents.loosen(guard.expected, guard.value(), replaced)
        guards = [replace(g, expected=self._settled(g.expected, g.value())) for g in self.guards.values()]
        readings = [replace(r, expected=self._settled(r.expected, r.read())) if type(r) is Reading else r
                    for r in self.readings.values()]
        return [*modules, *readings, *guards, *self._written_on_the_way()]

    def _settled(self, expected, now):
        return self.contents.exact(self.contents.settled(expected), now)

    def _written_on_the_way(self) -> list:
        """Guards of the containers that the run writes to, on the way to what guards look at."""
        found = {}
        for g in self.guards.values():
            for n, container in self.contents.on_the_way(g):
                chain = replace(g.chain, steps=g.chain.steps[:n])
                if (id(g.root), chain) not in self.guards:
                    found[id(g.root), chain] = replace(g, chain=chain, expected=Exactly(container, AnyOf(type(container))))
        return [*found.values()]
