"""Watches the Python side of a recorded run: what it read (for guards) and what it did that a trace cannot repeat."""

import builtins
import functools
import io
import random
import sys
import types
from dataclasses import replace
from typing import Any

from ..runtime.nn.module import Module
from ..runtime.state import tls
from ..runtime.tensor import Tensor
from .bystanders import is_alone
from .contents import Contents
from .effects import Target, is_repeatable
from .errors import DisturbedError, TraceError
from .frames import TRUSTED, cell_of, functions_of, is_user, unwatched
from .given import Parts
from .guards import UNREAD, Guard, ModulesGuard, module_state
from .module_writes import ModuleWrites
from .numpy_scalars import SymScalar, fixed
from .photograph import CONTAINERS, is_changeable, is_plain, looks_like, photograph
from .places import Held, read, root_value
from .reads import (
    ARGUMENT,
    BY_NAME,
    FREE,
    GLOBAL,
    MISSING,
    Chain,
    follow,
    loose_names,
    reads_of,
    stores_of,
    uses_of,
    writes_of,
)
from .tree import fields_of, is_structure

MOST_OUTSIDE = 10000     # objects outside that are looked at
_MUTATORS = frozenset(("append", "extend", "insert", "pop", "remove", "clear", "update", "setdefault", "popitem", "add",
                       "discard", "sort", "reverse", "appendleft", "popleft"))
_STARTS_THREAD = frozenset(("start_new_thread", "start_joinable_thread"))
_COPIES = frozenset(("__reduce_ex__", "__getstate__"))
_IMPURE_MODULES = ("_random", "random", "time", "secrets", "uuid", "numpy.random", "datetime")


class Watch:
    """Collects guards and refuses what cannot be repeated, while a function runs for the first time."""

    def __init__(self, held=None):
        self.held = held or Held()       # what is looked up at every call
        self.contents = self.held.contents = Contents()
        self.scheduled: set = set()      # ids of what Python changes at the end of every call
        self.guards: dict = {}
        self.containers: list = []       # lists, dicts and sets that were read
        self.modules: dict = {}          # modules that ran or were read, by id
        self.tensors: dict = {}          # tensors that were there before and are reached from outside of the arguments, by id
        self.inner: dict = {}            # code of functions made inside -> their free variables that live inside, too
        self.made: set = set()           # ids of objects whose __init__ ran inside
        self.outside: dict = {}          # by id: objects that were there before, as far as they were reached
        self.stored: dict = {}           # by place: the `Target`s that are assigned to
        self.given: set = set()          # ids of the arguments
        self.parts = Parts()             # what they consist of
        self.module_reads: set = set()   # (id of a module, attribute) that were read
        self.module_writes = ModuleWrites()
        self.reads_by_name = False       # whether attributes may have been read that no chain shows
        self.problem: TraceError | None = None
        self._keep: list = []
        self._reader = ""                # the function that is being looked at,
        self._names: frozenset = frozenset()     # and the attributes that it reads of objects that no chain leads to,
        self._uses: dict = {}                    # and what it does with what its chains lead to
        self._walked: set = set()
        self.is_first = True
        self._cells: dict = {}
        self._functions: dict = {}       # code -> functions that have it
        self._generators: list = []      # (numpy generator, its state when first seen)

    def __enter__(self):
        self.print = getattr(builtins.print, "__wrapped__", builtins.print)
        self.dice = random_states()
        m: Any = tls.m
        self._before, self._run = sys.getprofile(), m.run
        m.run = functools.partial(unwatched, m.run)      # of kernels
        sys.setprofile(self._event)
        return self

    def __exit__(self, *exc):
        tls.m.run = self._run
        if self._before is not None and hasattr(self._before, "enable"):
            sys.setprofile(None)        # cProfile, which the interpreter cannot call as it calls functions
            self._before.enable()
        else:
            sys.setprofile(self._before)

    def _event(self, frame, event, arg):
        if event == "call":
            if is_user(frame):
                self._frame(frame)
            elif frame.f_code.co_argcount and frame.f_code.co_name in ("forward", "__call__", "train"):
                first = frame.f_locals.get(frame.f_code.co_varnames[0])
                if isinstance(first, Module):
                    self._runs(frame.f_code, first)
        elif event == "c_call":
            if self.held.is_symbolic and self._leads_past(frame, arg):
                self._fix()
            if is_user(frame):
                self._builtin(frame, arg)

    def _leads_past(self, frame, function) -> bool:
        """Whether a builtin starts a thread, or copies or lists attributes of an object."""
        name = getattr(function, "__name__", "")
        return (name in _STARTS_THREAD or (name in _COPIES and self.held.views.cover(function.__self__))
                or (function is vars and is_user(frame)))

    def _fix(self):
        """A thread starts that could meet symbolic numbers, or objects are read on ways past them."""
        self.held.fix()
        for t in self.stored.values():
            t.fix(fixed)

    def _runs(self, code, m):
        """A module runs code that is not the user's."""
        self._see_module(m)
        if not self.module_writes.sets_mode(code, m, self.module_reads):
            self.module_writes.ran(m)

    def _see_module(self, m):
        """A module runs or is read."""
        if id(m) not in self.modules:
            self.modules[id(m)] = m
            self.module_writes.remember(m)
            for name, value in list(m.__dict__.items()):
                if not name.startswith("_"):
                    self.contents.see(value, f"{type(m).__name__}.{name}", self.held)

    # Frames.

    def _frame(self, frame):
        code = frame.f_code
        if code.co_name == "__init__" and code.co_varnames:
            made = frame.f_locals.get(code.co_varnames[0])
            self.made.add(id(made))
            self._keep.append(made)
        own = self.inner.get(code, frozenset())
        for inner in code.co_consts:
            if isinstance(inner, types.CodeType):
                self.inner[inner] = frozenset(code.co_cellvars) | (own & set(code.co_freevars))
        self._reader = f"{code.co_filename}:{code.co_firstlineno}"
        for w in writes_of(code):
            if w.root != FREE or w.name not in own:
                self._note_variable(w, frame)
        if self.held.is_symbolic and "__dict__" in code.co_names:
            self._fix()
        self.reads_by_name = self.reads_by_name or not BY_NAME.isdisjoint(code.co_names)
        self._names = loose_names(code)
        self.module_writes.named(self._names)
        self._defaults(frame)
        local = frame.f_locals
        self._uses = uses_of(code)
        for chain in reads_of(code):
            if chain.root == GLOBAL:
                self._note(chain, frame.f_globals, root_value(frame.f_globals, chain.name))
            elif chain.name in local and not (chain.root == FREE and chain.name in own):
                self._note_local(chain, frame, local[chain.name])
        for chain in stores_of(code):
            if chain.root == GLOBAL:
                self._note_store(chain, root_value(frame.f_globals, chain.name))
            elif chain.name in local and not (chain.root == FREE and chain.name in own):
                self._note_store(chain, local[chain.name])

    def _defaults(self, frame):
        """Notes containers that are the defaults of parameters: they outlive the call. All that the first function is given
        comes from outside."""
        code, local = frame.f_code, frame.f_locals
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        if self.is_first:
            self.is_first = False
            self.given = {id(local.get(name)) for name in names}
            for name in names:
                self._walk(name, local.get(name), is_given=True)
        if not any(is_changeable(local.get(name)) for name in names):
            return
        functions = self._functions_of(frame)
        given = {id(v) for f in functions for v in (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values())}
        for name in names:
            value = local.get(name)
            if is_changeable(value) and id(value) in given:
                self._note(Chain(ARGUMENT, name, ()), value, value)

    def _functions_of(self, frame) -> list:
        """`functions_of`, which may have to look at all objects, once for each code and recording."""
        found = self._functions.get(frame.f_code)
        if found is None:
            found = self._functions[frame.f_code] = functions_of(frame)
        return found

    def _note_store(self, chain, base):
        """An attribute is assigned to: that of an object that was there before must be as it was in the end."""
        target = follow(base, chain.steps[:-1])
        if id(target) in self.made:
            return
        if isinstance(target, Module) or (id(target) in self.outside and not isinstance(target, Tensor)):
            self._note_target(target, chain.steps[-1][1], "attr", follow(target, chain.steps[-1:]), f"{chain}")

    def _note_variable(self, write, frame):
        """A global or a variable of an enclosing function is assigned to."""
        if write.root == GLOBAL:
            space = frame.f_globals
            self._note_target(space, write.name, "item", space.get(write.name, MISSING), f"{write}")
            return
        value = frame.f_locals.get(write.name, MISSING)
        cell = cell_of(self._functions_of(frame), frame.f_code, write.name, value)
        if cell is None:
            self._refuse(f"it writes {write} at {frame.f_code.co_filename}:{write.line}, which a trace could not repeat; "
                         "return the value instead, or keep it in a tensor that is updated in place")
        else:
            self._note_target(cell, "", "cell", value, f"{write}")

    def _note_target(self, owner, key, kind, before, text):
        target = Target(owner, key, kind, before, photograph(before, self.held), f"{text} (in {self._reader})")
        if self.stored.setdefault(target.place, target) is target and kind == "attr" and before is not MISSING:
            self.held.show(owner, key)

    def _note_local(self, chain, frame, value):
        if chain.root == FREE:
            key = (id(frame.f_code), chain.name, id(value))
            if key not in self._cells:
                self._cells[key] = cell_of(self._functions_of(frame), frame.f_code, chain.name, value) or {chain.name: value}
            self._note(chain, self._cells[key], value)
        elif not isinstance(value, Tensor) and id(value) not in self.made:
            self._note(chain, value, value)

    def _note(self, chain, root, base):
        how = self._uses.get(chain)
        chain, root, base = self._past_modules(chain, root, base)
        if base is not None:
            self._note_use(chain, base, follow(base, chain.steps), how)
        key = (id(root), chain)
        if base is None or key in self.guards or self._through_tensor(base, chain.steps):
            return
        value = read(base, chain.steps)
        if value is sys.modules:        # any import adds to it, those within ingot, too
            return
        if chain.root == ARGUMENT and self.parts.leads_to(base, chain.steps, value):
            return
        kind = self.parts.class_with(base, chain.steps, value)
        if kind is not None:
            self._note(Chain(ARGUMENT, kind.__name__, chain.steps[-1:]), kind, kind)
            return
        if value is builtins.print:
            value = self.print      # which stands in for it while a function is recorded
        self._keep.append(root)
        if value is not self.print and not (is_plain(value) or looks_like(read(base, chain.steps), value)):
            return
        if chain.root != ARGUMENT or id(base) in self.outside:
            self._note_tensor(value)
        self.guards[key] = Guard(chain, root, photograph(value, self.held), self._reader)
        generator: Any = getattr(value, "bit_generator", None)
        if hasattr(generator, "state"):
            self._generators.append((value, str(generator.state)))
        self._keep_outside(chain, value)

    def _note_use(self, chain, base, value, how):
        """Looks at a list or dictionary before anything changes in it, and notes what is done with it."""
        if type(value) in (list, dict):
            self.contents.see(value, str(chain), self.held)
            self.contents.used(value, how)
        if self.scheduled and not callable(value) and self._is_scheduled(chain, base, value):
            self._refuse(f"it reads {chain} after a learning rate schedule has stepped, which happens at the end of a call; "
                         "read it before, or outside")

    def _is_scheduled(self, chain, base, value) -> bool:
        """Whether a chain reads what the schedules that have stepped set, or something of them."""
        way = [follow(base, chain.steps[:n]) for n in range(len(chain.steps))]
        found = [*way, *(value if type(value) is list else [value] if type(value) is dict else [])]
        return not self.scheduled.isdisjoint(map(id, found))

    def _keep_outside(self, chain, value):
        """Takes in an object that was there before, and what is reached from it."""
        owner = getattr(value, "__self__", None) if isinstance(value, types.BuiltinMethodType) else value
        if type(owner) in CONTAINERS:
            self.containers.append(owner)
        if hasattr(type(value), "__next__") and not isinstance(value, (io.IOBase, Tensor, Module)):
            self._refuse(f"it reads {chain}, an iterator that lives outside of it and moves on with each call; pass the value "
                         "as an argument")
        self._walk(str(chain), value)

    def _note_tensor(self, value):
        if isinstance(value, Tensor) and id(value) not in self.held.known:
            self.tensors[id(value)] = value

    def found_outside(self, tensors) -> list:
        """(number, tensor) of those that the function reaches on other ways than as its arguments, too."""
        for m in self.modules.values():
            for value in module_state(m).values():
                self._note_tensor(value)
        return [(i, t) for i, t in enumerate(tensors) if id(t) in self.tensors]

    def _walk(self, text, value, is_given=False):
        """Notes the attributes of objects that are reached from a value, as far as the code that runs has such names.
        Containers that are arguments are looked at anew at every call."""
        stack = [(text, value)]
        while stack and len(self.outside) < MOST_OUTSIDE:
            text, value = stack.pop()
            if isinstance(value, Module):
                self.module_writes.remember(value)
            if not is_given:
                self.contents.see(value, text, self.held)
            groups = getattr(value, "__dict__", {}).get("param_groups")       # of an optimizer
            for i, group in enumerate(groups if type(groups) is list else ()):
                self.contents.see(group, f"{text}.param_groups[{i}]", self.held)
            if is_given and is_structure(value):
                self.parts.add(value)
                stack += [(f"{text}.{name}", getattr(value, name)) for name in fields_of(value)]
                continue
            if type(value) in CONTAINERS or isinstance(value, tuple):
                if is_given:
                    self.parts.add(value)
                items = value.items() if hasattr(value, "items") else enumerate(value)
                found = [(f"{text}[{k!r}]", v) for k, v in items if not is_plain(v)]
                stack += found
                for _, v in () if is_given else found:
                    self._note_tensor(v)
            if not is_instance(value) or (id(value), self._names) in self._walked:
                continue
            self._walked.add((id(value), self._names))
            self.outside[id(value)] = value
            for name in self._names:
                if name not in value.__dict__ and not hasattr(type(value), name):
                    self._note_target(value, name, "attr", MISSING, f"{text}.{name}")
            for name, v in list(value.__dict__.items()):
                if name in self._names:
                    self.guards.setdefault((id(value), Chain(ARGUMENT, text, (("attr", name),))), Guard(
                        Chain(ARGUMENT, text, (("attr", name),)), value,
                        self.held.same_as(v, value, name) or photograph(v, self.held), self._reader))
                if not is_plain(v):
                    stack.append((f"{text}.{name}", v))
                    self._note_tensor(v)

    def _past_modules(self, chain, root, base):
        """A chain from the first object on it that is no module; modules on the way are watched as a whole."""
        steps, value, owner, first = chain.steps, base, base, ()
        while isinstance(value, Module) and steps:
            self._see_module(value)
            self.module_reads.add((id(value), steps[0][1]))
            owner, first = value, steps[:1]
            value, steps = follow(value, steps[:1]), steps[1:]
        if value is base:
            return chain, root, base
        if value is None or value is MISSING or not (steps or is_changeable(value)):
            return chain, root, None
        text = str(Chain(chain.root, chain.name, chain.steps[: len(chain.steps) - len(steps) - 1]))
        return Chain(ARGUMENT, text, (*first, *steps)), owner, owner

    def _through_tensor(self, base, steps) -> bool:
        """Whether a chain reads an attribute of a tensor: its kind is guarded where the tensor comes in."""
        return any(isinstance(follow(base, steps[:n]), Tensor) for n in range(len(steps)))

    # Calls of builtins.

    def _builtin(self, frame, function):
        owner = getattr(function, "__self__", None)
        module = function.__module__ or (owner.__name__ if isinstance(owner, types.ModuleType) else type(owner).__module__)
        name = getattr(function, "__name__", "")
        place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        if module.startswith(_IMPURE_MODULES) and name not in ("seed", "sleep"):
            self._refuse(f"it calls {module}.{name} at {place}, whose result changes from call to call; pass the value as an "
                         "argument, or use ingot's random functions")
        if name in _MUTATORS and any(owner is c for c in self.containers) and not self.contents.has_seen(owner):
            self._refuse(f"it calls .{name}() on a {type(owner).__name__} that lives outside of it, at {place}; return the "
                         "value instead")

    def _is_unread(self, t) -> bool:
        """Whether the function wrote something without having read it."""
        return not self.reads_by_name and (t.place in self.module_writes.unread or t.place not in self.module_reads)

    def _refuse(self, reason):
        if self.problem is None:
            self.problem = TraceError("this function cannot be traced: " + reason)

    # At the end.

    def effects(self) -> list:
        """The `Target`s that hold something else than before, if that can be repeated; else raises."""
        others = {t.place: t for t in self.module_writes.targets(self.stored)}
        self.stored |= others
        self.module_reads |= others.keys()
        found = [t for t in self.stored.values() if t.is_changed] + self.contents.targets()
        for t in found:
            t.fix(lambda x: fixed(x) if type(x) is SymScalar else x)
            if t.kind is None:
                raise TraceError(f"this function cannot be traced: it takes something out of {t.text} (or inserts it), which "
                                 "lives outside of it; only appending to lists and setting items can be repeated")
            is_identical = id(t.owner) not in self.given or isinstance(t.owner, Module) or type(t.owner).__eq__ is object.__eq__
            if not (is_identical and t.is_plain and is_repeatable(t.value(), self.contents)):
                raise TraceError(f"this function cannot be traced: it assigns to {t.text} what a trace could not make again "
                                 "(numbers, tensors, and containers of them it can); return the value instead, or keep it in "
                                 "a tensor that is updated in place")
        return found

    def settle(self):
        """Leaves plain numbers where the function has written symbolic ones."""
        for t in self.stored.values():
            t.settle()

    def finish(self, effects=()) -> list:
        """The guards; raises if the run changed what it had read, but for the targets of `effects`."""
        if self.problem is None and (self.dice != random_states() or any(
                str(g.bit_generator.state) != before for g, before in self._generators)):
            self._refuse("it draws from Python's or numpy's random numbers, which would happen only when the trace is "
                         "recorded; use ingot's random functions, or pass the numbers as an argument")
        if self.problem is not None:
            raise self.problem
        written = {t.place: t for t in effects}
        for guard in self.guards.values():
            if not self.contents.was(guard.value(), guard.expected) and written.keys().isdisjoint(guard.places_on_the_way()):
                if not is_alone():
                    raise DisturbedError("while this function was recorded, it or another thread changed "
                                         f"{guard.chain} ({guard})")
                raise TraceError(f"this function cannot be traced: it changed {guard.chain} ({guard}); return the value "
                                 "instead, or keep it in a tensor that is updated in place")
        before = {place: UNREAD if self._is_unread(t) else t.before for place, t in written.items()}
        seen = {**self.modules, **{id(m): m for m in self.module_writes.reached()}}
        modules = [ModulesGuard(seen.values(), self.held, before)] if seen else []
        return modules + [replace(g, expected=self.contents.settled(g.expected)) for g in self.guards.values()]


def is_instance(value) -> bool:
    """Whether a value is an object of a class of the user's, with attributes of its own."""
    kind = type(value)
    return (isinstance(getattr(value, "__dict__", None), dict) and kind.__module__.partition(".")[0] not in TRUSTED
            and not isinstance(value, (type, types.ModuleType, types.FunctionType, Tensor, Module)))


def random_states() -> tuple:
    """Where the global random streams of Python and numpy are."""
    legacy = sys.modules.get("numpy.random")
    return random.getstate(), None if legacy is None else str(legacy.get_state())
