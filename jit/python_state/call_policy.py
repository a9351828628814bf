"""Decisions about calls that leave user code, by the tables of `call_rules.py`.

A call that only reads becomes a condition: the recording is used while the same call gives an equal result. A call that acts
on the world is done again at the end of each call, or refused. A method of an object from outside makes its content a
condition. An unknown function is refused.
"""

import builtins
import functools
import inspect
import operator
import os
import sys
import types
from contextvars import ContextVar
from typing import Any

import numpy as np

from ...ir.interrupts import raise_interrupt
from ...ir.source_location import place_of_frame
from ...ir.symbols.symbolic import is_symbol
from ...runtime.core.tensor import Tensor
from ...runtime.nn.base.module import Module
from ...runtime.state.mode import tls
from ..bytecode.attribute_queries import fields_of_format, method_called
from ..bytecode.operation_sites import MATCHED
from ..bytecode.reads import ARGUMENT, CACHED, FREE, MISSING, Chain, follow
from ..bytecode.user_code import (
    LIBRARIES,
    is_a,
    is_instance,
    is_library_data,
    is_own,
    is_user_defined,
    is_user_module,
    module_of_class,
    object_of,
)
from ..bytecode.uses import ADDED
from ..errors.errors import RecordingStatus
from ..guards.frames import is_user
from ..guards.guards import ReadCondition
from ..guards.known_objects import KnownObjects
from ..guards.locations import RESTORED, StateInputs, root_value
from ..guards.snapshot import CONTAINERS, is_changeable, is_plain, snapshot
from ..guards.symbolic_lookups import PrivateTables
from ..host.host_call import repeat
from ..host.locks import LockLog
from ..proxies.numpy_scalars import now
from ..proxies.threads import is_alone, mapped
from ..side_effects.contents import ContainerLog
from .ambient_state import answer, reading_condition, reads_clock, states_of_call, states_of_module
from .cached_functions import name_of
from .call_events import Called, Operation, call_events
from .call_rules import (
    CONTENT,
    DRAWS,
    GIVEN,
    HOST,
    LOCKS,
    OBSERVED,
    OPERANDS,
    PURE,
    READS,
    REFUSED,
    SETS,
    STATES,
    has_field,
    is_in_c,
    is_lock,
    module_of,
    public_module,
    rule_of_function,
    rule_of_method,
)
from .chain_reads import AttributeEvents, ChainReads
from .drawn_numbers import gives_numbers
from .frames_apart import FramesApart
from .functions_of_libraries import LibraryFunctions
from .iterators import is_file, is_library_iterator
from .number_kinds import NumberKinds
from .reachable import Reachable
from .repeated_warnings import OwnFilters
from .stand_ins import (
    MessageSettings,
    real,
    settle_values,
    stand_in_for,
)
from .stdlib_state import RANDOM, ContextVariables
from .written_streams import STREAMS, WrittenStreams, is_printed_to, writes

_ADDS = frozenset(("append", "appendleft", "extend"))
_WRITES_TEXT = frozenset(("write", "writelines"))
_CSV_WRITERS = frozenset(("csv.writer", "csv.DictWriter"))
_MAKE_REFERENCES = frozenset([f"weakref.{name}" for name in ("ReferenceType", "WeakMethod", "proxy")])
# Functions that set attributes of their first operand.
_SET_ATTRIBUTES = frozenset(("functools.update_wrapper", "typing.final", "typing.no_type_check"))
# Methods that set the state of their object, whatever its class.
_SET_STATE = frozenset(("__init__", "__setstate__", "__set_name__"))
# Those that set an attribute whose name is an operand.
_SETTERS = frozenset(("__setattr__", "__delattr__", "__set__", "__delete__"))
_FORMATS = frozenset(("builtins.str.format", "builtins.str.format_map"))
_TAKE_FIELDS = frozenset([f"dataclasses.{name}" for name in ("asdict", "astuple", "replace")])
_ASK_HANDLED = frozenset(("sys.exc_info", "sys.exception"))
_FIELDS = (types.MemberDescriptorType, types.GetSetDescriptorType)
_FIELD_CALLS = {"__get__": getattr, "__set__": setattr, "__delete__": setattr}
_LOOKUPS = {"__getattribute__": getattr, "__setattr__": setattr, "__delattr__": setattr}
_BY_ANY_NAME = (getattr, hasattr, setattr, delattr, vars)
_DESCRIPTORS = (types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType)
_IN_C = (types.BuiltinFunctionType, types.WrapperDescriptorType)
_HIDE_ORDER = frozenset((len, bool, isinstance, type, id, set, frozenset))      # no order of a set changes their results
_SHOW_ORDER = frozenset(("pop", "__iter__", "__format__", "__repr__", "__str__"))      # methods of sets
# Module -> why a call of its functions is refused, and the way out.
_REASONS = {
    "time": "which reads the clock; pass the time as an argument, or read it in a function that is marked with jit.host",
    "datetime": "which reads the clock; pass the time as an argument",
    "random": "whose result changes from call to call; pass the value as an argument, or use ingot's random functions",
    "secrets": "which draws random numbers from the operating system; pass the value as an argument",
    "uuid": "which draws random numbers from the operating system; pass the value as an argument",
    "io": "which works on a file that was opened outside of it; pass what is read as an argument, and write in a function that "
          "is marked with jit.host, or with print()",
}
_REASONS["contextvars.Context.run"] = ("which sets context variables for the function that it runs; call that function by "
                                       "itself, or run the traced function in the context")
_REASONS["numpy.random"] = _REASONS["random"]
_REASONS["numpy.datetime64"] = _REASONS["numpy.array"] = _REASONS["numpy.ndarray.astype"] = _REASONS["datetime"]
_PRINT = print       # (users may put another function there)
_ANY_REASON = "which a replay would not do; call it outside, pass its result as an argument, or mark a function with jit.host"


class CallPolicy:
    """Decisions about the calls of one recorded run that leave user code; `libraries` decides about calls between libraries."""

    def __init__(self, status: RecordingStatus, known: KnownObjects, inputs: StateInputs, contents: ContainerLog,
                 chains: ChainReads, reachable: Reachable, attributes: AttributeEvents, contexts: ContextVariables,
                 locks: LockLog, private: PrivateTables):
        self._status, self._known, self._inputs, self._contents = status, known, inputs, contents
        self._chains, self._reachable, self.attributes = chains, reachable, attributes
        self._reads, self._contexts = chains.reads, contexts
        self._locks = locks
        self.events, self.apart = call_events(self.called, self.operated), FramesApart(
            status, contents.state, chains.attributes.writes.values, chains.reads.guarded_values, chains.generators)
        self.private, self.messages = private, MessageSettings.now()
        self.filters = OwnFilters()
        reachable.on_operand = private.on_first = self.events.report_operations
        self._kinds = NumberKinds(status, inputs)
        self.written = WrittenStreams(status, self._reads, contents, reachable)
        self.libraries = LibraryFunctions(status, known, chains, reachable, self.written)
        self._handles = False       # whether the caller handles an error

    def start(self):
        self._handles = _handles_error()
        self.libraries.start()

    def check(self):
        """Refuse a function that drew random numbers, or leaves modes of the thread or defaults changed."""
        if not self._status.has_problem:
            self._chains.generators.check()
        self.libraries.check()

    def asks_handled(self):
        """Note code that may read the error that is being handled: it is the caller's outside of the handlers of the function.
        """
        if self._handles:
            self._status.first_time = "it may read the error that its caller is handling"
        self._reads.add_condition(ReadCondition(("handled",), _handles_error, False, "whether the caller handles an error"))

    def writes_text(self, frame, stream):
        """Refuse code of the standard library that writes to the streams to which programs print. Warnings, and progress bars
        of the function, are followed otherwise."""
        if not is_printed_to(stream) or is_user(frame):
            return
        while frame is not None and not is_user(frame):
            name = frame.f_globals.get("__name__", "").partition(".")[0]
            if name == "warnings" or name in LIBRARIES:
                return
            frame = frame.f_back
        if frame is not None:
            self._refuse_text(place_of_frame(frame))

    def _refuse_text(self, line):
        self._status.refuse(f"it writes to sys.stdout or sys.stderr at {line}, which a replay would not do; use print(), or a "
                             "function that is marked with jit.host")

    # Calls of user code.

    def called(self, call: Called):
        """Note a call that user code is about to make, and the callables that it passes on. Libraries need stand-ins alone."""
        if not is_user(call.frame) or self.apart.depth:
            return
        self.apart.calls(call.frame, call.function, call.operands())
        self._locks.goes_on()
        self._known.parts.taken.called(real(call.function), call.args, call.kwargs)
        recorder: Any = tls.m.recorder
        if recorder is not None and recorder.reads.printed.unread.calls:
            recorder.reads.printed.unread.called(call)
        self._judge(call, call.function, call.args, call.kwargs)
        self._reachable.calls_method(call.function, call.args)
        if self.libraries.hashes_tensors:
            self._takes_sets(call)
        for x in (call.function, object_of(call.function), *call.operands()):
            self._reachable.weak.follow(x)
        for x in call.operands():
            if x is type:
                self._kinds.passed_on(call)
            if callable(x) and not is_a(x, (type, Tensor, Module, types.FunctionType)) and stand_in_for(x) is None:
                self._judge(call, x, None, {})

    def operated(self, operation: Operation):
        """Note an operation that user code is about to do: it calls a method of its operands."""
        if not is_user(operation.frame) or self.apart.depth:
            return
        site = operation.site
        if site.is_attribute or site.method == MATCHED:
            self.attributes.happens(operation)
            if not self.events.has_operations:
                return
        self._known.parts.taken.operated(site.method, operation.operands)
        self.private.operated(site.method, operation.operands)
        if self.libraries.hashes_tensors and site.method in _SHOW_ORDER and not site.is_attribute:
            self._goes_through(operation.operands)
        if site.is_set and site.method == "__class__":
            self._sets_class(operation, *operation.operands)
        for x in self._operands_in(operation.operands, site.reads_items):
            if site.is_attribute:
                self._field(operation, x, site.method, site.is_set)
            else:
                self._method(operation, x, _called_for(site.method, type(x)), None, {}, is_stored=True)

    def _takes_sets(self, call):
        """Note a call that may go through sets of tensors."""
        function: Any = real(call.function)
        owner = getattr(function, "__self__", None)
        of_set = call.args[:1] if type(function) in _DESCRIPTORS and call.args else (owner,)
        if type(of_set[0]) in (set, frozenset):
            self._goes_through(of_set if function.__name__ in _SHOW_ORDER else ())
        elif not (isinstance(function, (types.FunctionType, types.MethodType)) and is_user_defined(function)) and not any(
                function is f for f in _HIDE_ORDER):
            self._goes_through(call.operands())

    def _goes_through(self, values):
        """Note that the order of sets among some values, and in lists among these, counts. Tensors in a set lie by their
        addresses, so those that are others at each call count by these."""
        inside = [v for items in values if type(items) in (list, tuple) for v in items]
        for x in (*values, *inside):
            if type(x) in (set, frozenset) and len(x) > 1:
                self._reachable.takes_number(tuple(x))

    def _operands_in(self, values, with_items):
        """Yield the objects among some values, and in lists, tuples and dictionaries among these, whose methods an operation
        calls."""
        waiting, opened = list(values), set()
        for x in waiting:
            x = self.attributes.behind_proxy(x)
            if self._reachable.is_operand(x) or x is RANDOM["_inst"]:
                yield x
            elif with_items and type(x) in (list, tuple, dict) and id(x) not in opened:
                opened.add(id(x))
                waiting += [*x, *x.values()] if type(x) is dict else x

    def _field(self, call, x: Any, name, is_set: bool):
        """Guard an attribute that C code gives: its value if that is plain, else the content of the object."""
        kind: Any = type(x)
        if kind is types.CellType and name == "cell_contents":
            self._cell(x, is_set)
            return
        if not has_field(kind, name):
            return
        value = follow(x, (("attr", name),))
        is_method_of_lock = is_lock(kind) and isinstance(value, types.BuiltinMethodType)
        if is_symbol(value) or is_method_of_lock or (isinstance(value, types.MethodType) and value.__self__ is x):
            return              # an input; a method that counts where it is called, as `rng.random` of Cython's classes
        if is_set or not is_plain(value) or not self.is_outside(x):
            self._method(call, x, name, None, {}, is_stored=True)
        else:
            self._reads.add_condition(ReadCondition.of(
                ("field", id(x), name), lambda: follow(x, (("attr", name),)), f"{self._reachable.name_of(x)}.{name}"))

    def _cell(self, cell, is_set: bool):
        """Note that code reads or writes the content of a closure cell; the call's own have no names."""
        if not self._reachable.is_operand(cell):
            return
        text = f"{self._reachable.name_of(cell)}.cell_contents"
        if is_set:
            self._chains.attributes.writes.add(cell, "", "cell", root_value(cell, ""), text)
        else:
            self._chains.add(Chain(FREE, text, ()), cell, root_value(cell, ""))

    def _sets_class(self, call, owner):
        """Note that code is about to change the class of an object. What it reads by the other class has no guards."""
        if self._reachable.has_met(owner) and id(owner) not in self._known.own:
            self._status.replaced = (f"it changes the class of {self._known.name_of(owner)} at {call.line}, and what it then "
                                     "reads has no guards; do so outside of it")

    def _by_name(self, call, function, args):
        """Note a call that looks up, sets or lists attributes by name, or takes them from base classes."""
        kind, attributes = type(function), self._chains.attributes
        if kind is types.WrapperDescriptorType and type(args[0]) in _FIELDS and len(args) > 1:       # `Class.field.__get__(x)`
            self._attribute(call, _FIELD_CALLS.get(function.__name__), args[1], args[0].__name__)
        elif kind is types.MethodWrapperType and type(function.__self__) in _FIELDS:
            self._attribute(call, _FIELD_CALLS.get(function.__name__), args[0], function.__self__.__name__)
        elif kind is types.MethodWrapperType and function.__name__ in _LOOKUPS:         # `x.__setattr__`, stored
            self._attribute(call, _LOOKUPS[function.__name__], function.__self__, args[0])
        elif kind is types.WrapperDescriptorType and function.__name__ in _LOOKUPS and len(args) > 1:
            self._attribute(call, _LOOKUPS[function.__name__], *args[:2])
        elif kind is operator.attrgetter:
            for path in function.__reduce__()[1]:
                owner = args[0]
                for name in path.split("."):
                    self._attribute(call, getattr, owner, name)
                    owner = _stored(owner, name)
        elif kind is operator.methodcaller:
            self._attribute(call, getattr, args[0], method_called(function))
        elif function is super and len(args) == 2:
            self._reads.add_inherited(call.frame.f_code.co_names, *args)
        elif kind is not types.BuiltinFunctionType:
            return
        elif function in (isinstance, issubclass) and len(args) == 2:
            self._asks_for_class(function, *args)
        elif function in (dir, vars):
            attributes.query_all(args[0], function is dir)
            if function is vars:
                self.attributes.takes_table(args[0])
        elif function in (setattr, delattr):
            self._attribute(call, setattr, *args[:2])
        elif function is hasattr:
            self.attributes.query(*args[:2])
        elif function is getattr and len(args) > 1:
            self._attribute(call, getattr, *args[:2])

    def _by_any_name(self, call, function):
        """Note a function that looks up or sets attributes by name and that other code calls: with any object and name."""
        kind = type(function)
        if function is setattr or function is delattr or (
                kind in (*_IN_C, types.MethodWrapperType) and function.__name__ in _SETTERS):
            self._reachable.of_libraries.sets_any()
        names = frozenset(".".join(function.__reduce__()[1]).split(".") if type(function) is operator.attrgetter else ())
        if type(function) is operator.methodcaller:
            names = frozenset((method_called(function),))
        if names:
            self._chains.attributes.writes.modules.read |= names
            self._chains.attributes.writes.modules.named(names)
            self._reachable.asks(names)
        elif type(function) is types.BuiltinFunctionType and function in _BY_ANY_NAME:
            self._reachable.asks()

    def _asks_for_class(self, function, x, classes):
        """Guard the answer of an abstract class or protocol of the standard library, which looks at the attributes of others
        and at what was registered. An object that the call has made answers by its class."""
        if function is isinstance and (not self._known.existed(x) or self._known.parts.taken.is_apart(x)):
            function, x = issubclass, type(x)
        for cls in classes if isinstance(classes, tuple) else getattr(classes, "__args__", (classes,)):
            if isinstance(cls, type) and type(cls) is not type and not is_user_module(type(cls).__module__):
                text = f"{function.__name__}() of a {getattr(x, '__qualname__', type(x).__qualname__)} and {cls.__qualname__}"
                self._reads.add_condition(ReadCondition.of((function.__name__, id(x), id(cls)), functools.partial(
                    answer, function, x, cls), text))

    def _attribute(self, call, how, owner, name):
        """Note that code gets (`how` is getattr) or sets an attribute of an object."""
        owner = self.attributes.behind_proxy(owner)
        if self._reachable.is_operand(owner) and type(name) is str:
            self._field(call, owner, name, how is not getattr)
        if type(owner) is types.CellType:
            return
        if how is getattr:
            self.attributes.query(owner, name)
            self._reachable.of_libraries.names(owner, name)
            if self._known.existed(owner):
                self._reachable.use_all(_stored(owner, name))
        elif name == "__class__":
            self._sets_class(call, owner)
        elif type(name) is str:
            self._reachable.of_libraries.names(owner, name)
            self.attributes.sets(owner, name)

    def _judge(self, call, function, args, kwargs):
        """Decide about a call of a function with operands, or with unknown ones (None)."""
        if args is not None and gives_numbers(function, args):
            return
        if writes(function):
            rule, stream, name, text = self.written.judge(call, function, args)
            if rule is CONTENT:
                self._changes_or_reads(call, stream, name, text)
            elif rule is REFUSED:
                self._refuse(call, text)
            return
        if id(function) in _NOTED_BY_NAME:
            _NOTED_BY_NAME[id(function)](self, call, args, kwargs)
        elif type(function) is types.BuiltinFunctionType and function.__module__ == "_warnings":
            self._status.first_time = (f"{function.__name__}() was called at {call.line} by a name of its own (warnings.warn "
                                       "would come at every call)")
        function = real(function)
        if id(function) in _NOTED:
            _NOTED[id(function)](self, call, function, args, kwargs)
        if args is None:
            self._by_any_name(call, function)
        elif args:
            self._by_name(call, function, args)
        kind = type(function)
        if kind is CACHED:
            recorder: Any = tls.m.recorder
            is_repeated = self._reachable.caches.called(function, args, kwargs)
            if is_repeated and recorder.repeats_messages and not is_own(module_of_class(function)):
                repeat(recorder, name_of(function), function, args, kwargs)
        elif not is_own(kind.__module__):
            self._by_class(call, function, args, kwargs)

    # Functions that stand for themselves: `_NOTED_BY_NAME` and `_NOTED` say which method takes the call.

    def _opens(self, call, args, kwargs):
        if args:
            self.libraries.opens(args[0], kwargs.get("mode", args[1] if len(args) > 1 else "r"), call.frame)

    def _prints(self, call, args, kwargs):
        self._apply(HOST, call, "builtins.print", _PRINT, args, kwargs)

    def _asks_type(self, call, args, kwargs):
        self._kinds.asked(call, args)

    def _makes_text(self, call, function, args, kwargs):
        self._reads.makes_texts()

    def _takes_number(self, call, function, args, kwargs):
        self._reachable.takes_number(args)

    def _looks_at_frames(self, call, function, args, kwargs):
        self._status.first_time = f"{function.__name__}() was called at {call.line}, and looks at what else runs"

    def _imports(self, call, function, args, kwargs):
        """Note a call of `__import__` with operands, or with unknown ones (None)."""
        if args is None:
            self._chains.imports(None, 0, None)
            return
        signature = inspect.signature(builtins.__import__)
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError as error:          # which the call raises, too
            raise_interrupt(error, signature.bind, *args, **kwargs)
            return
        package = (given.get("globals") or call.frame.f_globals).get("__package__")
        self._chains.imports(given["name"], given.get("level", 0), package)

    # Other functions, by their class.

    def _by_class(self, call, function, args, kwargs):
        """Decide about a call of a function by the class of that, and by the object to which it is bound."""
        kind = type(function)
        if is_a(function, type) and issubclass(function, np.generic):
            settle_values(args or ())
        if is_a(function, functools.partial) and kind.__call__ is functools.partial.__call__:
            state: Any = function.__reduce__()[2]           # (subclasses may have attributes of these names)
            inner, first, named, *_ = state
            self._judge(call, inner, None if args is None else (*first, *args), {**named, **kwargs})
        elif is_a(function, type) or kind is types.FunctionType:
            self._python(call, function, args, kwargs)
        elif kind in _DESCRIPTORS:
            if args:
                self._method(call, args[0], function.__name__, args[1:], kwargs, is_stored=False)
        elif kind is operator.methodcaller:
            for receiver in args or ():
                self._method(call, receiver, method_called(function), None, {}, is_stored=False)
        elif type(inspect.getattr_static(kind, "__call__", None)) is types.FunctionType:
            self._reads.add_attributes(kind.__qualname__, kind, ("__call__",))
            if not is_user_module(inspect.getattr_static(kind, "__call__").__globals__.get("__name__", "")):
                self._method(call, function, "__call__", args, kwargs, is_stored=True)
        elif is_a(getattr(function, "__self__", None), type):
            self._class_method(call, function, args, kwargs)
        elif not is_a(getattr(function, "__self__", None), (types.ModuleType, type(None))):
            self._bound(call, function, args, kwargs)
        elif args and is_method(function, args[0]):
            self._method(call, args[0], function.__name__, args[1:], kwargs, is_stored=False)
        elif type(getattr(function, "__qualname__", None)) is str:
            self._function(call, function, args, kwargs)
        else:
            self._method(call, function, "__call__", args, kwargs, is_stored=True)

    def _bound(self, call, function, args, kwargs):
        """Decide about a call of a method that is bound to an object already."""
        receiver, method = function.__self__, getattr(function, "__func__", None)
        if is_a(receiver, tuple) and self.is_outside(receiver):
            self._reads_all(receiver)
        if type(method) is CACHED:
            self._judge(call, method, None if args is None else (receiver, *args), kwargs)
        elif type(method) is types.FunctionType:
            self._python(call, method, None if args is None else (receiver, *args), kwargs, is_stored=True)
        else:
            self._method(call, receiver, function.__name__, args, kwargs, is_stored=True)

    def _class_method(self, call, function, args, kwargs):
        """Decide about a call of a method of C code that is bound to a class."""
        owner, name = function.__self__, function.__name__
        if type(function) is types.MethodWrapperType:       # of its metaclass
            if name == "__call__":
                self._python(call, owner, args, kwargs)
            return
        if type(getattr(function, "__func__", None)) is types.FunctionType:
            self._python(call, function.__func__, None if args is None else (owner, *args), kwargs)
            return
        defining = next((c for c in owner.__mro__ if name in vars(c)), type)
        module, qualified = defining.__module__, f"{defining.__qualname__}.{name}"
        self._apply(rule_of_function(module, qualified), call, f"{public_module(module)}.{qualified}", function, args, kwargs)

    def _python(self, call, function, args, kwargs, is_stored=False):
        """Decide about a call of a Python function or of a class. The code of the user's and ingot's own are seen otherwise."""
        if isinstance(function, type):
            function = next(c for c in function.__mro__ if not is_user_defined(c) or _is_made_in_c(c))
            module, name = function.__module__, function.__qualname__
        else:
            module, name = function.__globals__.get("__name__", ""), function.__code__.co_qualname
        if is_own(module) or (is_user_module(module) and not isinstance(function, type)):
            return
        if args and not isinstance(function, type) and is_method(function, args[0]):
            self._method(call, args[0], function.__name__, args[1:], kwargs, is_stored)
        else:
            self._apply(rule_of_function(module, name), call, f"{public_module(module)}.{name}", function, args, kwargs)

    def _function(self, call, function, args, kwargs):
        """Decide about a call of a function of C code by its module and name."""
        owner, name = getattr(function, "__self__", None), function.__qualname__
        of_owner = owner.__name__ if isinstance(owner, types.ModuleType) else "builtins"
        module = getattr(function, "__module__", None) or of_owner
        if not is_own(module):
            self._apply(rule_of_function(module, name), call, f"{public_module(module)}.{name}", function, args, kwargs)

    def _method(self, call, receiver, name, args, kwargs, is_stored):
        """Decide about a call of a method of an object; `is_stored` tells whether the call finds it bound already."""
        kind: Any = type(receiver)
        if is_a(receiver, (Tensor, Module)) or is_own(kind.__module__):
            return
        if kind is CACHED and name == "__call__":
            self._judge(call, receiver, args, kwargs)
            return
        if kind is ContextVar:
            self._contexts.called(receiver, name, call.line)
            return
        if kind is types.CellType and name in _SETTERS:
            self._cell(receiver, is_set=True)
            return
        if name in _SET_STATE or name in _SETTERS:
            self._reachable.of_libraries.sets_all(receiver)
        rule = rule_of_method(kind, "" if name in _SETTERS and is_in_c(kind) else name)
        text = f"{public_module(kind.__module__)}.{kind.__qualname__}.{name}"
        if rule is DRAWS:
            if self.is_outside(receiver):
                self._refuse(call, text)
        elif rule is LOCKS:
            if self.is_outside(receiver):
                self._takes_or_frees(call, receiver, name, args, kwargs, text)
        elif rule is HOST:
            self._apply(rule, call, text, getattr(receiver, name), args, kwargs, may_fail=not is_lock(kind))
        elif rule is not CONTENT:
            bound = None if args is None else (receiver, *args)
            self._apply(rule, call, text, getattr(kind, name, None), bound, kwargs)
        else:
            if self.is_outside(receiver) and (is_stored or type(receiver) not in CONTAINERS):
                self._changes_or_reads(call, receiver, name, text)
            for state in states_of_module(text, self._reads.at_start):
                self._reads.add_condition(state)
            if reads_clock(text, (receiver, *(args or ()), *kwargs.values())):
                self._refuse(call, text)
            if type(receiver) not in CONTAINERS:
                self._receives(call, text, (*(args or ()), *kwargs.values()))

    def _takes_or_frees(self, call, lock, name, args, kwargs, text):
        """Note a lock that code takes or gives back. What other threads may have changed meanwhile is read behind that."""
        recorder: Any = tls.m.recorder
        if not self._locks.called(lock, name, args, kwargs, call.line, bool(recorder.reads.cuts)):
            self._refuse(call, text)
        elif not is_alone():
            self._chains.attributes.writes.fix_numbers()

    def is_outside(self, x) -> bool:
        """Return whether an object was there before the call, and the function has reached it."""
        return self._reachable.has_met(x) or x is RANDOM["_inst"] or x is _legacy_generator()

    def _changes_or_reads(self, call, receiver: Any, name, text):
        """Guard an object from outside that one of its own methods reads or changes."""
        kind: Any = type(receiver)
        its_name = self._reachable.name_of(receiver)
        self.written.take_back(receiver, its_name)
        if name in _WRITES_TEXT and is_printed_to(receiver):
            self._refuse_text(call.line)
        elif kind is types.CellType:
            self._cell(receiver, is_set=False)
        elif name in _ADDS and type(receiver) in RESTORED:
            self._contents.see(receiver, text, self._inputs)
            self._contents.used(receiver, ADDED)
        elif is_changeable(receiver):
            self._contents.used(receiver, None)
            self._reads_all(receiver)
        elif (is_instance(receiver) and not is_in_c(kind)) or is_library_data(receiver):
            self._reachable.walk(text, receiver)        # guards its attributes, or its content
        elif is_library_iterator(receiver):
            self._reachable.iterators.refuse(its_name, call.line)
        elif is_file(receiver) or not self._reads.add_content(its_name, receiver):
            self._refuse(call, text)
        else:
            self._reachable.of_libraries.acts(receiver)

    def _reads_all(self, container: Any):
        """Guard the whole content of a container from outside."""
        text = f"a {type(container).__name__} that lives outside of it"
        self._chains.add(Chain(ARGUMENT, text, ()), container, container)

    def _apply(self, rule, call, text, function, args, kwargs, may_fail=True):
        """Follow the rule of a function. One that fails at the end of a call would be caught by nobody."""
        if rule is GIVEN:
            count = len([x for x in (*(args or ()), *kwargs.values()) if x is not None])
            rule = PURE if count >= OPERANDS.get(text, 1) else REFUSED
        if rule is HOST and not (_may_repeat(args, kwargs) and call.site.is_dropped and not (may_fail and call.site.may_catch)):
            rule = SETS if text in STATES else REFUSED
        if rule is READS and args is None:
            rule = REFUSED
        values = (*(args or ()), *kwargs.values())
        if reads_clock(text, values):
            self._refuse(call, text)
        if text in _MAKE_REFERENCES and any(x is not None for x in values[1:]):
            text, rule = f"{text} with a callback", REFUSED
        if text in _SET_ATTRIBUTES and values and self.is_outside(values[0]):
            rule = REFUSED
        if rule is REFUSED:
            self._refuse(call, text)
        elif rule is HOST:
            repeat(tls.m.recorder, text, function, args, kwargs)
        elif rule is SETS:
            self._reads.add_condition(ReadCondition.of(("state", text), STATES[text], f"the state that {text} sets", snapshot))
        elif rule is READS:
            self._reads.add_condition(reading_condition(text, function, args, kwargs))
        elif text.startswith("decimal."):
            self._reads.uses_decimals()
        if args:
            self._takes_attributes(call, text, args, kwargs)
        if text in _ASK_HANDLED or text.startswith("traceback."):
            self.asks_handled()
        if rule is PURE or rule is OBSERVED:
            for state in states_of_call(text, values, self._reads.at_start):
                self._reads.add_condition(state)
        if rule is not OBSERVED:
            self._receives(call, text, values)

    def _takes_attributes(self, call, text, args, kwargs):
        """Note the attributes that some functions take of their operands."""
        if text in _TAKE_FIELDS:
            self._reachable.takes_all_below(args)
        elif text in _FORMATS:
            for owner, name in _got_by_fields(text, args, kwargs):
                self._attribute(call, getattr, owner, name)
        elif text == "inspect.getmembers":
            self._chains.attributes.writes.fix_numbers()
            self._chains.attributes.query_all(args[0], True)
            self._reachable.takes_all(args[0])
            for name in [n for c in type(args[0]).__mro__ if is_user_defined(c) for n in vars(c)]:
                self._chains.attributes.query(args[0], name)

    def _receives(self, call, text, values):
        """Guard the content of objects from outside that a function receives, or finds in lists and tuples, and all attributes
        of objects of the user's that code of a package may read. Pickles hold numbers themselves."""
        calls_back = any(map(callable, values)) if text.startswith("json.") else (
            text == "builtins.str.translate" and any(map(is_instance, values)))
        if calls_back:          # C code does not know the numbers that it gets again
            self._chains.attributes.writes.fix_numbers()
        if text.startswith("pickle."):
            self._reachable.takes_all_below(values)
            self._chains.attributes.writes.fix_numbers()
            if any(mapped(x, now) is not x for x in values):
                self._refuse(call, text)
        if text.partition(".")[0] in LIBRARIES:
            for x in filter(is_instance, values):
                self._reachable.takes_all(x)
        for x in self._operands_in(values, with_items=True):
            kind: Any = type(x)
            if module_of(kind.__module__) == "decimal":
                self._reads.uses_decimals()
            if is_printed_to(x) and text.startswith("csv."):       # in C code
                self._refuse_text(call.line)
            if text in _CSV_WRITERS and type(x) in STREAMS:
                continue        # its methods tell what they write
            if is_lock(kind) and self.is_outside(x):
                self._refuse(call, f"{text} with a {kind.__qualname__} from outside")
                continue
            if rule_of_method(kind, "") in (CONTENT, DRAWS) and not is_printed_to(x):
                self._changes_or_reads(call, x, "", f"{text} with a {kind.__qualname__} from outside")

    def _refuse(self, call, text):
        self._status.refuse(f"it calls {text} at {call.line}, in {call.frame.f_code.co_qualname}(), {_reason(text)}")


# Functions by their ids, as code calls them, and behind stand-ins -> method that takes the call.
_NOTED_BY_NAME = {id(open): CallPolicy._opens, id(print): CallPolicy._prints, id(type): CallPolicy._asks_type}
_NOTED = {
    **{id(f): CallPolicy._makes_text for f in (str, repr, ascii, format)},
    **{id(f): CallPolicy._takes_number for f in (id, hash)},
    **{id(f): CallPolicy._looks_at_frames for f in (sys._getframe, inspect.currentframe)},
    id(builtins.__import__): CallPolicy._imports,
}
def _got_by_fields(text, args, kwargs):
    """Yield (object, attribute) of the fields of a text that is formatted, such as `{0.rate}`."""
    template, *values = args
    named = values[0] if text == "builtins.str.format_map" else kwargs
    for first, steps in fields_of_format(template):
        owner = follow(tuple(values) if type(first) is int else named, (("item", first),))
        for is_attribute, key in steps:
            if is_attribute:
                yield owner, key
            owner = follow(owner, (("attr" if is_attribute else "item", key),))


def _handles_error() -> bool:
    """Return whether an error is being handled where this is called from."""
    return sys.exc_info()[0] is not None


def _stored(owner, name):
    """Return an attribute, or MISSING if a property gives it: that of a parametrised weight runs modules."""
    is_property = type(name) is str and isinstance(inspect.getattr_static(owner, name, MISSING), property)
    return MISSING if is_property else follow(owner, (("attr", name),))


def _is_made_in_c(cls) -> bool:
    """Return whether a class makes its objects by a function in C."""
    return any(type(f) in _IN_C and (getattr(f, "__objclass__", None) or f.__self__) is cls
               for f in (vars(cls).get("__new__"), vars(cls).get("__init__")))


def is_method(function, x) -> bool:
    """Return whether a function is a method of an object, from a class of a library."""
    name = getattr(function, "__name__", "")
    return any(vars(c).get(name) is function and not is_user_defined(c) for c in type(x).__mro__)


def _called_for(method, kind) -> str:
    """Return the method that does the work of another one, which may be that of `object`."""
    ways = (method, "__str__", "__repr__") if method == "__format__" else (method,)
    return next((name for name in ways if getattr(kind, name, None) is not getattr(object, name, None)), method)


def _legacy_generator():
    """Return the generator of numpy's random functions."""
    functions = sys.modules.get("numpy.random")
    return None if functions is None else functions.rand.__self__


def _may_repeat(args, kwargs) -> bool:
    """Return whether a call can be done again with its operands."""
    return args is not None and all(is_plain(x) or isinstance(x, os.PathLike) or callable(x)
                                    for x in (*args, *kwargs.values()))


def _reason(text) -> str:
    module = text
    while module and module not in _REASONS:
        module = module.rpartition(".")[0]
    return _REASONS.get(module, _ANY_REASON)


