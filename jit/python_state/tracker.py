"""Tracker of the Python side of a recorded call: what user code reads, writes, and does that a replay could not repeat.

The interpreter reports each frame by a profile event. When a frame of user code starts, its bytecode shows what it reads and
writes. `CallPolicy` decides about the calls in it.
"""

import copy
import copyreg
import functools
import os
import sys
import types
import weakref
from typing import Any

import numpy as np

from ...ir.source_location import place_text
from ...runtime.nn.base.hooks import GLOBAL as EVERY_MODULES
from ...runtime.nn.base.module import Module
from ...runtime.state.mode import tls
from ..bytecode.attribute_queries import global_names
from ..bytecode.call_sites import reads_handled
from ..bytecode.identity import asks_identity, tells_apart
from ..bytecode.operation_sites import makes_text, sets_class
from ..bytecode.reads import FREE, GLOBAL, MISSING, Chain, writes_of
from ..bytecode.user_code import is_a, is_own, is_user_namespace, unwrap_function
from ..errors.errors import RecordingStatus, ReplacedError, TraceError
from ..guards.frames import (
    RunningFunctions,
    current_profiler,
    is_user,
    restore_profiler,
    running_position,
    unprofiled,
    works_for_user,
)
from ..guards.guards import tensors_of
from ..guards.known_objects import KnownObjects
from ..guards.locations import StateInputs
from ..guards.snapshot import share_memory
from ..guards.symbolic_lookups import PrivateTables
from ..host.ordering import HostLog, ReadOrder
from ..proxies.new_objects import NewObjects
from ..recorder.own_code import OwnCode
from ..side_effects.contents import ContainerLog
from ..side_effects.remade import RemadeObjects
from ..side_effects.writes import WriteLog
from .ambient_state import states_of_text
from .attributes import DynamicAttributes, TensorAttributes
from .attributes_of_libraries import names_set
from .call_policy import CallPolicy, ContextVariables
from .chain_reads import AttributeEvents, ChainReads
from .finalize import Finaliser
from .frames_apart import FINALISES, LOADS
from .functions_of_libraries import first_argument, observer_of
from .iterators import OutsideIterators
from .reachable import Reachable
from .read_log import ReadLog
from .stand_ins import casts_of, make_plain, may_need_stand_ins, settle
from .stdlib_state import FROM_SYSTEM, RandomGenerators, is_seed
from .switch_log import SwitchLog
from .weak_references import WeakReferences

_STARTS_THREAD = frozenset(("start_new_thread", "start_joinable_thread"))
_READ_ANY = frozenset(("__dict__", "format", "format_map"))         # code in C reads attributes for these
# Functions that make texts of objects, some of them in the code of libraries: a name in code is enough.
_MAKE_TEXTS = frozenset(("repr", "str", "ascii", "format", "format_map", "print", "pprint", "pformat", "dumps", "warn", "debug",
                         "info", "warning", "error", "critical", "log", "exception", "substitute", "__repr__", "__str__",
                         "__format__"))
_EXACT = frozenset(("__float__", "__int__", "__index__", "__complex__", "__bool__", "__str__", "__repr__", "__hash__"))
_COPIED = copy._reconstruct.__code__        # type: ignore[attr-defined]
_NEW = (copyreg.__newobj__, copyreg.__newobj_ex__, copyreg._reconstructor)      # type: ignore[attr-defined]
_COPIES = frozenset(("__reduce_ex__", "__getstate__", "__copy__", "__deepcopy__"))
_WRITES_TEXT = frozenset(("write", "writelines"))
_IN_C = _STARTS_THREAD | _COPIES | _WRITES_TEXT
_PICKLES = frozenset(("dump", "dumps", "Pickler"))
_RUNNERS = frozenset(("forward", "__call__", "train"))
_OF_MODULES = Module.__module__.rpartition(".")[0]
_SETTERS = frozenset(("__init__", "__setattr__", "__delattr__", "__setstate__", "eval", "register_parameter", "register_buffer",
                      "add_module", "register_module"))
_SYSTEM_RANDOM = os.urandom


def writes_pickles(frame) -> bool:
    """Return whether the code of a frame has a name of the functions that pickle."""
    names = frame.f_code.co_names
    return "pickle" in names or any(getattr(frame.f_globals.get(name), "__module__", "") == "_pickle"
                                    for name in _PICKLES.intersection(names))


class Tracker:
    """Tracker of one call of a traced function while it is recorded."""

    def __init__(self, inputs: StateInputs, private: PrivateTables, set_rates=frozenset(), remade: RemadeObjects | None = None):
        self.remade = remade or RemadeObjects(())
        self.inputs = inputs
        self.contents = contents = inputs.contents = ContainerLog()     # containers that the function reaches
        self.status = status = RecordingStatus(running_position)
        self.known = known = KnownObjects(status)
        self._functions = RunningFunctions()
        contents.overlaps = self._lies_in_tensors
        self.reads = reads = ReadLog(known, inputs, ReadOrder())
        self.writes = writes = WriteLog(status, known, inputs, contents, self._functions)
        self.attributes = DynamicAttributes(known, inputs, reads, writes)
        self.tensors = TensorAttributes(status, known, inputs, reads, writes, self.attributes)
        self.reachable = Reachable(known, inputs, contents, reads, writes, self.attributes, self.tensors,
                                   OutsideIterators(status), WeakReferences(status, known, inputs, reads))
        self.chains = ChainReads(known, inputs, contents, self._functions, reads, writes, self.tensors, self.reachable,
                                 RandomGenerators(status, known), set_rates)
        self.contexts, self.switches = ContextVariables(inputs, reads), SwitchLog(status, reads)
        self.hosts = HostLog(known, inputs, contents, reads, writes, self.attributes)
        events = AttributeEvents(known, inputs, contents, writes, self.chains, self.reachable, self.tensors)
        self.world = CallPolicy(status, known, inputs, contents, self.chains, self.reachable, events, self.contexts,
                                self.hosts.locks, private)
        self._inner: dict = {}          # code of a function made inside -> its free variables that live inside, too
        self._before: tuple = ()        # profile function, and what runs kernels, outside of the call

    def begin(self):
        """Detect code that is no part of the call from now on, until `end`."""
        self.world.apart.start()

    def __enter__(self):
        self.remade.expect(self.inputs)
        self.world.start()
        m: Any = tls.m
        self._before = current_profiler(), m.run
        m.run, m.dispatch_hook = functools.partial(unprofiled, m.run), unprofiled       # kernels and operators
        m.own_code = OwnCode(m.recorder)
        self.hosts.outside = sys._getframe(1).f_code
        for hook in EVERY_MODULES.objects():
            self.before_user_code("a hook of all modules", hook)
        self.world.events.start()
        sys.setprofile(self._event)
        return self

    def __exit__(self, *exc):
        self.hosts.locks.goes_on()
        before, tls.m.run = self._before
        tls.m.dispatch_hook = tls.m.own_code = None
        restore_profiler(before)
        self.world.events.stop()
        del self.world.events       # (a circle)

    def end(self):
        """End the recording, and the detection of code that is no part of it."""
        self.world.apart.stop()

    def gives_up(self):
        """See nothing of the rest of the call, which runs as it is."""
        self.status.raised = None
        self.world.events.mute()
        self.world.apart.leave()

    def forget(self):
        """Break up its parts, which refer to each other. Reference counts, which `SoleReference` reads, are as before."""
        for part in (self.status, self.contents, self.known, self.hosts, self.writes, self.chains, self.reachable):
            part.close()
        self.tensors.close()
        del self.reads.walker       # (a circle)
        vars(self).clear()

    # Events.

    def called(self, fn, args, kwargs, tensors):
        """Note the function that is about to be called, its arguments, and the tensors in them."""
        self.known.passed = {id(x) for x in (*args, *kwargs.values(), *tensors)}
        self.tensors.add_arguments(tensors)
        inner = fn
        while type(inner) is functools.partial:
            self.known.bound |= {id(v) for v in (*inner.args, *inner.keywords.values())}
            inner = inner.func
        if inner is not fn:
            self.reachable.walk("the traced function", fn)
        function = unwrap_function(fn, ())[0]
        if type(function) is types.FunctionType:
            self.reads.add_hidden(function)

    def before_user_code(self, text, value):
        """Note user code that is about to run, to which no chain leads."""
        self.reachable.walk(text, value)

    def _event(self, frame, event, arg):
        apart = self.world.apart
        if apart.depth:
            apart.sees(frame, event)
        elif event == "call":
            if is_user(frame):
                if apart.interrupts(frame):
                    return
                self.chains.caches.starts(frame.f_code)
                self.reachable.iterators.runs(frame)
                self._user_frame(frame)
                self.world.events.enter(frame)
                if self.chains.caches.is_reached or writes_pickles(frame):      # keys, results and bytes are there for others
                    self.writes.fix_numbers()
                    make_plain(frame)
                    if self.chains.caches.are_filled():     # nobody replays this recording
                        recorder: Any = tls.m.recorder
                        recorder.reads.defers = False
            else:
                self._library_frame(frame)
            settle(frame, self.inputs.is_symbolic)        # the last to look at what is local, which is then put back
        elif event == "return":
            if frame.f_code is _COPIED and frame.f_locals["func"] in _NEW:
                self.known.add_own(arg)
            elif type(arg) is types.ModuleType and is_user_namespace(arg):
                self.reachable.walk(arg.__name__, arg)
        elif event == "c_call":
            if arg.__name__ in _IN_C:
                self._called_in_c(frame, arg)
            if arg is _SYSTEM_RANDOM and not is_user(frame) and works_for_user(frame) and not is_seed(frame):
                self.status.refuse(FROM_SYSTEM)

    def _library_frame(self, frame):
        known = _library_code.get(id(frame.f_code))         # (most code is of no interest)
        if known is None or known[1] is not frame.f_globals:
            known = _known_library_code(frame)
        for observe in known[2]:
            observe(self, frame)

    def _loads(self, frame):
        self.world.apart.loads(frame)

    def _finalises(self, frame):
        self.world.apart.finalises(frame)

    def _enters(self, frame):
        self.world.events.enter(frame, is_library=True)

    def _initialised(self, frame):
        """Note an object of a library's class that the call makes, except for those that ingot makes for itself."""
        x, caller = first_argument(frame), frame.f_back
        is_ours = is_own(type(x).__module__) and not issubclass(type(x), Module)
        if not is_ours or (caller is not None and is_user(caller)):
            self.known.add_own(x)

    def _writes_text(self, frame):
        self.world.writes_text(frame, first_argument(frame))

    def _called_in_c(self, frame, function):
        """Note a builtin that starts a thread, copies an object, or writes to a stream."""
        if function.__name__ in _WRITES_TEXT:
            self.world.writes_text(frame, function.__self__)
            return
        starts = function.__name__ in _STARTS_THREAD
        if starts:
            self.world.libraries.starts_thread(frame)
        if self.inputs.is_symbolic and (starts or self.inputs.views.cover(function.__self__)):
            self.writes.fix_numbers()
        if not starts:
            self.reachable.takes_all(function.__self__)
            if works_for_user(frame):
                self.reachable.takes_content(function.__self__)

    def _runs(self, frame):
        """Note a module that runs, or whose mode is set."""
        m = first_argument(frame)
        if isinstance(m, Module):
            self.reachable.see_module(m)
            self.reads.add_class_attribute(m, "forward")
            if not self.writes.modules.sets_mode(frame.f_code, m, self.reads.module_reads):
                self.writes.modules.ran(m)

    def _looks_at(self, frame):
        """Note a module of which other methods run: `m.parameters()`, `getattr(m, name)`."""
        m = first_argument(frame)
        if isinstance(m, Module) and id(m) not in self.known.own:
            self.reachable.see_module(m)

    # Frames of user code.

    def _user_frame(self, frame):
        """Log what code that starts reads and writes, as its bytecode shows."""
        code = frame.f_code
        self.known.compares = self.known.compares or asks_identity(code)
        self.contents.tells_methods = self.contents.tells_methods or tells_apart(code)
        self.tensors.named(code.co_names)
        self._texts(code)
        if code.co_name == "__init__" and code.co_varnames:
            self.known.add_own(frame.f_locals.get(code.co_varnames[0]))
        own = self._inner.get(code, frozenset())
        if code not in self._inner:
            self._guard_function(frame)
        for inner in code.co_consts:
            if isinstance(inner, types.CodeType):
                self._inner[inner] = frozenset(code.co_cellvars) | (own & set(code.co_freevars))
        self.reads.reader = self.writes.reader = place_text((code.co_filename, code.co_firstlineno))
        for w in writes_of(code):
            if w.root != FREE or w.name not in own:
                self.writes.add_variable(w, frame)
        if self.inputs.is_symbolic and (
                "__dict__" in code.co_names or code.co_name in _EXACT or not casts_of(code).get("type", True)):
            self.writes.fix_numbers()
        self._attributes_in(code)
        self._implicit_reads(frame)
        self.chains.add_defaults(frame)
        local, known = frame.f_locals, self.known
        for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
            if id(local.get(name)) in known.outside or id(local.get(name)) in known.tensors:
                self.reachable.walk(name, local[name], is_argument=id(local[name]) in known.received)
        self.chains.add_frame(frame, own)
        self.inputs.settle(local)

    def _texts(self, code):
        """Guard what the texts of objects depend on, if code makes some."""
        if makes_text(code) or not _MAKE_TEXTS.isdisjoint(code.co_names):
            self.reads.makes_texts()
        if makes_text(code):
            for state in states_of_text(code):
                self.reads.add_condition(state)
            if self.known.parts.taken.apart:
                self.reachable.on_operand()

    def _guard_function(self, frame):
        """Guard code and defaults of the function that runs, and that its class has it: code of libraries may have found it
        there, as `ast.NodeVisitor` finds its methods."""
        code = frame.f_code
        functions = self._functions.of(frame) if code.co_name != "<module>" else ()
        for function in functions:
            self.reads.add_hidden(function)
        if code.co_argcount and code.co_varnames[0] in frame.f_locals:
            first = frame.f_locals[code.co_varnames[0]]
            self.reads.add_method(first if is_a(first, type) else type(first), code.co_name, functions)
            self.reads.add_special_method(code, first)

    def _attributes_in(self, code):
        """Note the attributes that code may get or set, as far as its names tell more than its instructions."""
        if "cell_contents" in code.co_names or sets_class(code):
            self.reachable.on_operand()
        if reads_handled(code):
            self.world.asks_handled()
        self.reads.by_name = self.reads.by_name or not _READ_ANY.isdisjoint(code.co_names)
        self.reachable.of_libraries.code_sets(names_set(code))

    def _implicit_reads(self, frame):
        """Log reads by `globals()`, by `super()` and of modules that the code imports itself."""
        code, space = frame.f_code, frame.f_globals
        if "globals" in code.co_names:
            self.writes.namespaces.setdefault(id(space), (space, dict(space)))
            names = global_names(code)
            if names is None:
                self.status.first_time = "it looks up names in globals() that it computes"
            for name in names or ():        # globals()["rate"]
                self.chains.add(Chain(GLOBAL, name, ()), space, space.get(name, MISSING))
        if "__class__" in code.co_freevars and code.co_argcount:        # `super()`
            self.reads.add_inherited(code.co_names, frame.f_locals.get("__class__"), frame.f_locals.get(code.co_varnames[0]))
        self.chains.add_imports(code, space.get("__package__"))

    # The end of the call.

    def _lies_in_tensors(self, x) -> bool:
        """Return whether the memory of an object is that of a tensor with which the run has worked, too."""
        recorder: Any = tls.m.recorder
        arrays = [*[c.root._a for c in recorder.inputs.cells if c.root is not None], *recorder.inputs.memory_of_data]
        return any(type(a) is np.ndarray and share_memory(a, x) for a in arrays)

    def written(self) -> list:
        """Return the locations outside that the run has changed."""
        if self.chains.changes_modules():
            self.status.first_time = "it changed sys.modules"
        self.attributes.add_new()
        self._add_parts_of_modules()
        self.reads.module_reads.update(self.writes.add_modules())
        return self.contents.targets() + self.writes.changed() + self.contexts.targets()

    def effects(self, made: NewObjects) -> list:
        """Return the writes that a replay repeats; raise if one cannot be repeated. `made` decides what the run has made."""
        replaced = self.inputs.views.replaced()
        if replaced:
            raise ReplacedError(f"it assigns to {replaced[0]}, an attribute of a class, and in objects of that class the "
                                "number changes between calls; assign outside of it")
        return self.writes.repeated(self.written(), made)

    def finish(self, effects=(), toggled=(), touched=(), held=()) -> list:
        """Return the guards; raise if the run did what a replay could not repeat. See `Finaliser` for `toggled`, `touched` and
        `held`."""
        self.world.check()
        self.reachable.iterators.check()
        self.switches.check()
        self.status.raise_problem()
        final = Finaliser(self.known, self.inputs, self.contents, self.reads, self.writes, self.hosts, self.remade, effects,
                          held)
        final.guard_unchanged()
        final.guard_lookups()
        final.check_modules()
        self.chains.add_imports()
        self.chains.guard_missing_imports()
        self.writes.check_copies()
        self.tensors.check_changing()
        self.tensors.guard_classes()
        self.reachable.of_libraries.check()
        return final.guards(self.chains.set_rates, toggled, touched, self.chains.caches)

    def read_in_backward(self) -> list:
        """Return guards on what the backward after the call has read, the last interval of `reads.order`: user code there finds
        what is there by then. Raise if the call itself writes it."""
        found = []
        for guard in [self.reads.guards[place] for place in self.reads.order.latest() if place in self.reads.guards]:
            if not guard.holds():
                raise TraceError(f"this function cannot be traced: it writes to {guard.chain}, which code that runs when "
                                 "backward() comes, after the call, reads; call backward() inside of the traced function")
            found.append(guard)
        return found

    def reachable_arguments(self, tensors) -> list:
        """Return (number, tensor) of the arguments that the function also reaches on other ways."""
        return [(i, t) for i, t in enumerate(tensors) if id(t) in self.known.tensors]

    def compared_tensors(self) -> dict:
        """Return {id: weak reference} of the tensors with which the function may compare its arguments; the recorder still
        tells those that the run has made."""
        if not (self.known.compares or self.contents.has_tensor_keys):
            return {}
        self._add_parts_of_modules()
        return {at: weakref.ref(t) for at, t in self.known.tensors.items()}

    def _add_parts_of_modules(self):
        for m in self.known.modules.values():
            for t in tensors_of(m):
                self.tensors.add(t)

    def compared_objects(self) -> dict:
        """Return {id: object} of the containers and arrays with which the function may compare its arguments."""
        return dict(self.known.objects) if self.known.compares else {}


_library_code: dict = {}        # id of a library's code -> (the code, its globals, methods of `Tracker` that take its frames)
_MOST_CODE = 1 << 12


def _known_library_code(frame) -> tuple:
    """Remember which methods of `Tracker` take the frames of a library's code when they start."""
    code, space, found = frame.f_code, frame.f_globals, []
    if code is LOADS:
        found.append(Tracker._loads)
    if code is FINALISES:
        found.append(Tracker._finalises)
    if may_need_stand_ins(frame):
        found.append(Tracker._enters)
    if code.co_name == "__init__" and code.co_varnames:
        found.append(Tracker._initialised)
    if code.co_name in _WRITES_TEXT and code.co_argcount:
        found.append(Tracker._writes_text)
    observer = observer_of(frame)
    if observer is not None:
        found.append(lambda tracker, frame: observer(tracker.world.libraries, frame))
    if code.co_argcount and code.co_name in _RUNNERS:
        found.append(Tracker._runs)
    elif code.co_argcount and space.get("__package__") == _OF_MODULES and code.co_name not in _SETTERS:
        found.append(Tracker._looks_at)
    if len(_library_code) >= _MOST_CODE:
        _library_code.clear()
    known = _library_code[id(code)] = code, space, tuple(found)
    return known
