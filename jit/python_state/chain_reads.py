"""Chains of names in user code, such as `self.layers[0].scale`, turned into guards when the code starts."""

import builtins
import inspect
import sys
import types
import weakref
from collections import deque
from typing import Any

import numpy as np

from ...runtime.core.tensor import Tensor
from ...runtime.nn.base.module import TABLES, Module
from ..bytecode.attribute_queries import imported_name, imports_of
from ..bytecode.branches import reads_with
from ..bytecode.operation_sites import MATCHED
from ..bytecode.reads import (
    ARGUMENT,
    FREE,
    GLOBAL,
    LENGTH_OF,
    MISSING,
    Chain,
    attribute_chains,
    computed_at,
    counts_back,
    follow,
    is_computed,
    is_length,
    is_made_by_library,
    is_user_function,
    static_attribute,
    stores_of,
)
from ..bytecode.user_code import attributes_of, dict_of, is_a, is_instance, is_user_defined, is_user_namespace
from ..bytecode.uses import (
    CALLED,
    CONTAINED,
    KEEPS_ITEMS,
    ONLY_LOOK,
    SINGLE,
    attribute_uses,
    compared_in,
    table_lookups,
    uses_of,
)
from ..guards.frames import RunningFunctions, cells_of
from ..guards.known_objects import KnownObjects
from ..guards.loaded_modules import ImportedModule, LoadedModules
from ..guards.locations import RESTORED, Location, StateInputs, item_of, read, root_value
from ..guards.snapshot import (
    CONTAINERS,
    PLAIN_CONTAINERS,
    WHOLES,
    has_content,
    is_changeable,
    is_container,
    is_item,
    is_plain,
    looks_like,
)
from ..proxies.symbolic_tables import real_table
from ..side_effects.contents import ContainerLog, calls_of, note_arguments
from ..side_effects.writes import WriteLog
from .attributes import LISTED, TensorAttributes, sets_itself
from .iterators import is_library_iterator
from .reachable import Reachable, is_walked_anywhere
from .read_log import ReadLog, known_in_class
from .stand_ins import real
from .stdlib_state import RandomGenerators

_NAMED = (type, types.FunctionType, types.BuiltinFunctionType)      # of which a call makes few, and names most
_LASTING = (types.ModuleType, Tensor)       # what a chain to one reads is guarded whoever has put it there


class ChainReads:
    """Reads of user code that chains of names show. `set_rates` are locations that learning rate schedulers set."""

    def __init__(self, known: KnownObjects, inputs: StateInputs, contents: ContainerLog, functions: RunningFunctions,
                 reads: ReadLog, writes: WriteLog, tensors: TensorAttributes, reachable: Reachable,
                 generators: RandomGenerators, set_rates):
        self._known, self._inputs, self._contents, self._functions = known, inputs, contents, functions
        self.reads, self._writes, self._tensors, self._reachable = reads, writes, tensors, reachable
        self.caches, self.generators, self.set_rates = reachable.caches, generators, set_rates
        self._uses: dict = {}           # chain -> use of its value in the code that is looked at
        self._calls: dict = {}          # chain -> calls that take its value there
        self._compared: frozenset = frozenset()     # chains that the code compares by identity
        self._unwalked: dict = {}       # by id: (name, container of which code only asked for membership or single items)
        # Reads of modules that code imports: (module and level, steps, package).
        self._imports: list[tuple[tuple[str, int], tuple, Any]] = []
        self._loaded = sys.modules.copy()       # before the call
        self.attributes = reachable.attributes
        self._is_first = True
        # (id of code, chain) -> id of the object of which the chain's last step, an attribute, is read: a guard has it.
        self._owners: dict = {}

    # Code that starts.

    def add_frame(self, frame, own):
        """Guard what the chains of code that starts lead to; `own` names the free variables that the function made."""
        code, local = frame.f_code, frame.f_locals
        self._uses, self._calls, self._compared = uses_of(code), calls_of(code), compared_in(code)
        if any(root_value(frame.f_globals, name) is not getattr(builtins, name) for name in ONLY_LOOK & {*code.co_names}):
            self._uses = dict.fromkeys(self._uses)      # another function has the name of a builtin that only looks
        note_arguments(frame, self._inputs, self._contents, self._uses)
        for chain in reads_with(code, local):
            self.reads.order.at = code, chain
            if chain.root == GLOBAL:
                base = root_value(frame.f_globals, chain.name)
                self.add(chain, frame.f_globals, base)
                self._note_owner(code, chain, base)
            elif chain.name in local:       # the call may have made the variable itself; its value was there before
                is_own = chain.root == FREE and chain.name in own
                self._add_local(chain._replace(root=ARGUMENT) if is_own else chain, frame, local[chain.name])
                if not is_own and id(local[chain.name]) not in self._known.own:
                    self._note_owner(code, chain, local[chain.name])
        self.reads.order.at = None

    def _note_owner(self, code, chain, base):
        """Note that the object whose attribute a chain ends in is dealt with, unless code of the user's gives that."""
        if chain.steps and chain.steps[-1][0] == "attr" and computed_at(base, chain.steps) is None:
            self._owners[id(code), chain] = id(follow(base, chain.steps[:-1]))

    def add_imports(self, code=None, package=None):
        """Guard what code reads of modules that it imports itself, as far as these are loaded."""
        if code is not None:
            self._imports += [(what, steps, package) for what, steps in imports_of(code)]
        self._imports = [what for what in self._imports if not self._add_import(*what)]

    def _add_import(self, what: tuple[str, int], steps, package) -> bool:
        """Guard what code reads of a module that it imports; return whether the module has that by now."""
        module = imported_name(*what, package)
        found = None if module is None else sys.modules.get(module)
        if module is not None:
            self._guard_loaded(module)
        if not isinstance(found, types.ModuleType) or (steps and not hasattr(found, steps[0])):
            return False
        if steps[:1] == ("__dict__",):
            self._reachable.walk(module, found)
            if not is_user_namespace(found):
                self._known.refuse(f"it reads {module}.__dict__, which nothing compares; name what it reads: {module}.name")
            self._reachable.takes_all(found, sets=True)
        elif steps:
            self.add(Chain(GLOBAL, steps[0], ()), vars(found), vars(found).get(steps[0], MISSING))
            if steps[0] not in vars(found):         # code of the module gives it
                self.reads.add_attributes(module, found, ("__getattr__",))
        else:
            self._reachable.walk(module, found)
        return True

    def _guard_loaded(self, module):
        """Guard which module is loaded under a name, and which packages it is in, if they were before the call."""
        while module:
            if module in self._loaded:
                self._add_loaded(module)
            module = module.rpartition(".")[0]

    def _add_loaded(self, name):
        guard = ImportedModule(name, self._loaded.get(name, MISSING))
        self.reads.conditions.setdefault(guard.identity, guard)

    def changes_modules(self) -> bool:
        """Return whether code has put a module into `sys.modules`, or taken one out: imports put new ones there."""
        before, now = self._loaded, sys.modules.copy()
        known = {*map(id, before.values())}
        return any(now.get(name) is not module for name, module in before.items()) or any(
            id(module) in known for name, module in now.items() if name not in before)

    def guard_missing_imports(self):
        """Guard, at the end of the call, that modules which code did not find, or did not come to import, are not loaded."""
        for what, steps, package in self._imports:
            name = imported_name(*what, package)
            if name is not None and not steps and name not in sys.modules and name not in self._loaded:
                self._add_loaded(name)

    def imports(self, name, level, package):
        """Note a module that code imports by a call; None for the name stands for any."""
        if type(name) is not str:
            self._add_loaded_modules(False)
            return
        self._imports.append(((name.lstrip("."), level or len(name) - len(name.lstrip("."))), (), package))
        self.add_imports()

    def add_defaults(self, frame):
        """Note mutable defaults of parameters, which outlive the call, and what the first function receives from outside."""
        code, local, known = frame.f_code, frame.f_locals, self._known
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        if self._is_first:
            self._is_first = False
            # `self` of a bound method, defaults and what a partial binds are no arguments: nothing compares them at each call.
            # Other parameters are arguments, or values that the call made, if library code called this function.
            outside = {id(local.get(name)) for name in names[:1]} | self._defaults_of(frame) | known.bound
            known.received = {id(local.get(name)) for name in names} - (outside - known.passed)
            for name in names:
                is_argument = id(local.get(name)) in known.received
                if is_argument or not is_changeable(local.get(name)):
                    self._reachable.walk(name, local.get(name), is_argument)
            for name, value in further_arguments(frame):
                if not is_a(value, Tensor):         # (sets of them in the function count by value)
                    self._reachable.walk(name, value, True)
            for name, value in self._reachable.arguments:
                self.add(Chain(ARGUMENT, name, ()), value, value)
        lasting = [name for name in names if id(local.get(name)) not in known.own and (
            has_content(local.get(name)) or is_walked_anywhere(local.get(name)) or is_a(local.get(name), Module) or (
                is_instance(local.get(name)) and id(local[name]) not in known.outside))]
        if not lasting:
            return
        defaults = self._defaults_of(frame)
        for name in lasting:
            value = local[name]
            if id(value) in defaults and has_content(value):
                self._known.objects[id(value)] = value
                self.add(Chain(ARGUMENT, name, ()), value, value)
            elif id(value) in defaults:
                self._reachable.walk(name, value)

    def _defaults_of(self, frame) -> set:
        """Return the ids of the defaults of functions that a frame may run."""
        functions = self._functions.of(frame)
        return {id(v) for f in functions for v in (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values())}

    def has_led_to(self, code, offset, owner) -> bool:
        """Return whether a chain of code that has started led to an object of which an instruction gets an attribute."""
        chain = attribute_chains(code).get(offset)
        return chain is not None and self._owners.get((id(code), chain)) == id(owner)

    def add_step(self, owner, name, how, calls):
        """Guard an attribute of an object that an instruction shows, with a use of its value."""
        chain = Chain(ARGUMENT, self._known.name_of(owner), (("attr", name),))
        self._uses, self._calls = {chain: how}, {chain: calls}
        self.add(chain, owner, owner)

    # Chains.

    def _add_local(self, chain, frame, value):
        """Guard a chain that starts at a local variable or one of an enclosing function."""
        if chain.root == FREE:
            for cell in cells_of(self._functions.of(frame), frame.f_code, chain.name, value) or [{chain.name: value}]:
                self.add(chain, cell, value)
        elif is_a(value, Tensor):
            is_others = id(value) in self._known.passed or id(value) in self._known.tensors
            if chain.steps[:1] == (("attr", "__dict__"),):
                self._known.refuse(LISTED)
            elif is_others and chain.steps and chain.steps[0][1] in value.__dict__:
                self._tensors.add_read(value, chain.steps[0][1])
        elif id(value) not in self._known.own:
            chain, value = self._past_containers(chain, value)
            is_made = not chain.steps and (is_container(value) or is_library_iterator(value))
            if id(value) not in self._known.own and not is_made:
                self.add(chain, value, value)

    def _past_containers(self, chain, value):
        """Return (chain, its start) from the first object on the way that is no container. The items of containers are guarded
        at their source, and nobody else sees containers that the function has made."""
        at, steps = value, chain.steps
        while steps and (is_item(at, *steps[0]) or (id(at) in self._known.parts.taken.apart
                                                    and self._known.parts.has_step(at, steps[0]))):
            at, steps = follow(at, steps[:1]), steps[1:]
        if at is value and not is_container(at):
            return chain, value
        found = follow(at, steps)
        if id(found) in self._writes.copies:
            self._note_use(chain, value, found, self._uses.get(chain), self._calls.get(chain, ()))
        if not steps or type(at) in PLAIN_CONTAINERS:
            return Chain(ARGUMENT, chain.name, ()), ()
        return Chain(ARGUMENT, str(chain._replace(steps=chain.steps[: len(chain.steps) - len(steps)])), steps), at

    def add(self, chain, root, base):
        """Guard what a chain leads to from the object `base`, which `root` holds."""
        chain, root, base = self._past_cells(self._past_tables(chain, base), root, base)
        how, calls = self._uses.get(chain), self._calls.get(chain, ())
        only_queries = how in (CONTAINED, CALLED, *SINGLE) and not calls
        if self._unwalked and not only_queries:
            late = self._unwalked.pop(id(follow(base, chain.steps)), None)
            if late is not None:
                self._reachable.walk(*late)
        at = computed_at(base, chain.steps)
        if at is not None:
            self.add_computed(follow(base, chain.steps[:at]), *chain.steps[at])
            chain = chain._replace(steps=chain.steps[:at])
        if self._is_own_variable(chain, root, base):
            return
        past = self._past_modules(chain, root, base)
        if past is None and real_table(follow(base, chain.steps)).__class__ is tuple:
            self._note_use(chain, base, follow(base, chain.steps), how, calls)
        if past is None or (base is None and chain.root == ARGUMENT):
            return
        chain, root, base = past
        found = follow(base, chain.steps)
        self.caches.add(found)
        self._note_use(chain, base, found, how, calls)
        self.reads.order.reads((id(root), chain), real_table(found), how, bool(calls))
        self._add_new(chain, root, base, how, calls)

    def _add_new(self, chain, root, base, how, calls):
        """Guard what a chain leads to, unless something else does so."""
        if ((id(root), chain) in self.reads.guards or self._tensors.is_on_the_way(base, chain.steps)
                or self._counts_elsewhere(base, chain.steps)):
            return
        value = self._first_at(base, chain.steps)
        if value is sys.modules:
            if how not in SINGLE or calls:          # (items have chains of their own)
                self._add_loaded_modules(how == CONTAINED and not calls)
            return
        parts = self._known.parts
        if chain.root == ARGUMENT and parts.leads_to(base, chain.steps, value):
            return
        if self._is_own_item(base, chain.steps, value):
            return
        kind = parts.class_with(base, chain.steps, value)
        if kind is not None:
            self.add(Chain(ARGUMENT, kind.__name__, chain.steps[-1:]), kind, kind)
            return
        self._known.keep(root)
        is_same = value is MISSING or is_plain(value) or looks_like(read(base, chain.steps), value)
        if is_same:
            only_queries = how in (CONTAINED, CALLED, *SINGLE) and not calls
            self._guard(chain, root, base, real_table(real(value)), only_queries)
        if value is not MISSING and chain.steps and chain.steps[-1][0] == "attr":
            self._add_descriptor(follow(base, chain.steps[:-1]), chain.steps[-1][1], is_same)

    def _past_cells(self, chain, root, base) -> tuple:
        """Return (chain, root, base) from the last closure cell on a chain, where it starts as a free variable does."""
        through = cell_on(base, chain.steps)
        if through is None:
            return chain, root, base
        cell, at = through
        found = Chain(FREE, str(chain._replace(steps=chain.steps[:at])), chain.steps[at:])
        self._uses = {**self._uses, found: self._uses.get(chain)}
        self._calls = {**self._calls, found: self._calls.get(chain, ())}
        return found, cell, root_value(cell, "")

    def _past_tables(self, chain, base):
        """Return a chain with attributes of instances in the place of items of their `__dict__`: both are one location, which
        code may have written meanwhile. All attributes are guarded for code that takes all of a `__dict__`."""
        if ("attr", "__dict__") not in chain.steps:
            return chain
        steps: list = []
        for kind, key in chain.steps:
            if steps and steps[-1] == ("attr", "__dict__"):
                owner = follow(base, tuple(steps[:-1]))
                if kind == "item" and type(key) is str and is_instance(owner) and key in dict_of(owner) and not hasattr(
                        type(static_attribute(type(owner), key)), "__set__"):
                    steps[-1] = "attr", key
                    continue
            steps.append((kind, key))
        holder = follow(base, tuple(steps[:-1]))
        if steps and steps[-1] == ("attr", "__dict__") and (is_instance(holder) or is_user_namespace(holder)):
            steps.pop()
            self._reachable.takes_all(holder)
        if tuple(steps) == chain.steps:
            return chain
        found, use = chain._replace(steps=tuple(steps)), self._uses.get(chain)
        is_one_use = len(steps) > 0 and steps[-1] == ("attr", chain.steps[-1][1]) and self._uses.get(found, use) == use
        self._uses = {**self._uses, found: use if is_one_use else None}
        self._calls = {**self._calls, found: (*self._calls.get(found, ()), *self._calls.get(chain, ()))}
        return found

    def _add_descriptor(self, owner, name, is_same):
        """Guard an object of a class that makes an attribute, and follow it: each lookup makes another object, or the code of a
        library remembers what it made (`is_same`)."""
        if is_same and (name in dict_of(owner) or not is_made_by_library(static_attribute(type(owner), name))):
            return
        if not is_same:
            self.reads.add_unshadowed(type(owner).__qualname__, owner, (name,))
        for cls in (owner, type(owner)) if isinstance(owner, type) else (type(owner),):
            self.reads.add_object_of_class(cls, name)

    def _add_loaded_modules(self, only_names):
        """Guard which modules are loaded, and visit those of users, unless code asks only for names."""
        loaded = self.reads.conditions.setdefault(LoadedModules.identity, LoadedModules())
        if not only_names and not loaded.are_visited:
            loaded.are_visited = True
            for name, module in [(name, m) for name, m in sys.modules.items() if isinstance(m, types.ModuleType)]:
                if is_user_namespace(module):
                    self._reachable.walk(name, module)

    def _guard(self, chain, root, base, value, only_queries):
        if chain.steps and chain.steps[-1][0] == "attr":
            owner: Any = follow(base, chain.steps[:-1])
            if chain.steps[-1][1] in dict_of(owner) and not isinstance(owner, type):
                self.reads.add_behind(owner, chain.steps[-1][1])
        if chain.root != ARGUMENT or id(base) in self._known.outside:
            self._tensors.add(value)
        self.reads.add(chain, root, value)
        if self._writes.has_left(Location(chain, root).locations_on_path()[-1]):
            self.reads.late.add((id(root), chain))
        self.reads.add_hidden(value)
        self.generators.add(value)
        self._follow(chain, base, value, only_queries)

    def _follow(self, chain, base, value, only_queries):
        """Visit the objects behind a value. A container of which code only asks for membership or single items, which chains
        of their own lead to, is visited once other code does more with it; so is a set to which code only adds."""
        owner: Any = getattr(value, "__self__", None) if is_a(value, types.BuiltinMethodType) else value
        if type(owner) in CONTAINERS:
            self._known.containers.append(owner)
        is_looked_up = owner is value or follow(base, chain.steps[:-1]) is owner        # by chains of its own, as in `s.add`
        only_adds = type(owner) is set and owner is not value and value.__name__ in KEEPS_ITEMS
        if only_queries and is_looked_up and (type(value) in CONTAINERS or only_adds):
            self._unwalked.setdefault(id(owner), (str(chain), owner))
            self._known.objects[id(owner)] = owner
            for t in [t for t in owner if is_a(t, Tensor)]:       # to which an argument may be compared
                self._tensors.add(t)
        else:
            self._reachable.walk(str(chain), value)

    def _counts_elsewhere(self, base, steps) -> bool:
        """Return whether a chain leads to the length or end of an object guarded as a whole, into a container of the function,
        or to a part of code, which never changes."""
        owner = follow(base, steps[:-1])
        if steps and type(owner) is types.CodeType:
            return True
        if steps and steps[-1][0] != "attr" and type(owner) in RESTORED and not self._contents.has_seen(owner):
            return not self._known.parts.leads_to(base, steps[:-1], owner)
        return (is_length(steps) and type(owner) is not list) or (counts_back(steps) and isinstance(owner, np.ndarray))

    def _first_at(self, base, steps):
        """Return what a chain leads to; length, last items and emptiness of a list are those from before the function
        appended."""
        if is_length(steps):
            values = follow(base, steps[:-1])
            before = self._contents.before(values)
            return self._inputs.first_length(before, values) if steps[-1:] == LENGTH_OF else bool(before)
        owner = follow(base, steps[:-1]) if counts_back(steps) or self._is_appended(base, steps) else None
        return item_of(self._contents.before(owner), steps[-1][1]) if type(owner) in (list, deque) else read(base, steps)

    def _is_appended(self, base, steps) -> bool:
        """Return whether a chain leads to an item of a list that was not there before."""
        owner, (kind, key) = follow(base, steps[:-1]), steps[-1] if steps else ("", "")
        return kind == "item" and type(owner) is list and type(key) is int and key >= len(self._contents.before(owner))

    def _is_own_variable(self, chain, root, base) -> bool:
        """Return whether a variable holds an object that the function has put there, and a chain leads from it to nothing from
        before the call."""
        may_be_made = chain.root != ARGUMENT and not (is_a(base, _LASTING) or is_plain(base))
        if not (may_be_made and self._writes.has_left(Location(chain._replace(steps=()), root).locations_on_path()[-1])):
            return False
        on_the_way = [base, *[follow(base, chain.steps[:n + 1]) for n in range(len(chain.steps))]]
        return not any(self._contents.has_seen(x) or id(x) in self._known.visited or self._known.was_met(x) for x in on_the_way)

    def _is_own_item(self, base, steps, value) -> bool:
        """Return whether a chain leads to an item or attribute that the function or its scheduler has set, or through one: the
        source is guarded."""
        if len(steps) > 1 and self._is_own_item(base, steps[:-1], follow(base, steps[:-1])):
            return True
        if steps and self.set_rates and (id(follow(base, steps[:-1])), steps[-1][1]) in self.set_rates:
            return True
        if not steps or self._contents.has_seen(value) or self._known.was_met(value) or is_a(value, types.ModuleType):
            return False
        if is_a(value, _NAMED) and id(value) in self._known.visited:
            return False
        if steps[-1][0] == "attr":
            return self._writes.has_set(follow(base, steps[:-1]), steps[-1][1])
        if counts_back(steps) or is_length(steps) or self._is_appended(base, steps):     # it counts what was before
            return False
        return self._contents.is_written(follow(base, steps[:-1]), steps[-1][1])

    def add_computed(self, owner, step, name):
        """Guard that an attribute or item of an object is computed by this code of the user's."""
        kind, text = type(owner), type(owner).__qualname__
        if step == "attr":
            self.reads.add_unshadowed(text, owner, (name,))
        if step == "attr" and is_user_function(getattr(kind, "__getattribute__", None)):
            self.reads.add_attributes(text, kind, ("__getattribute__",))
        elif step == "attr" and known_in_class(kind, name):
            self.reads.add_attributes(text, kind, (name,))
        elif step == "attr" and static_attribute(kind, name) is not MISSING:
            self.reads.add_object_of_class(kind, name)
        elif step == "attr" and isinstance(owner, type) and static_attribute(owner, name) is not MISSING:
            self.reads.add_object_of_class(owner, name)
        elif step == "attr":
            self.reads.add_attributes(text, kind, ("__getattr__",))
            self.reads.add_absent(text, owner, {name})
            self.reads.add_absent(text, kind, {name})
        else:
            self.reads.add_attributes(text, kind, ("__getitem__",))

    def _note_use(self, chain, base, value, how, calls):
        """Remember a list or dictionary before anything changes in it, and note how code uses it."""
        value = self._inputs.without_table(value, how, calls)
        is_argument = chain.root == ARGUMENT and self._known.parts.leads_to(base, chain.steps, value)
        if chain in self._compared:
            self._contents.hold((value,))
        if type(value) in RESTORED | WHOLES and not is_argument and not self._is_own_item(base, chain.steps, value):
            self._contents.see(value, str(chain), self._inputs)
            self._contents.used(value, how, calls)
        elif type(value) in (tuple, np.ndarray):
            self._contents.used(value, how, calls)

    def _past_modules(self, chain, root, base):
        """Return (chain, root, base) from the first object on a chain that is no module (these are guarded whole), or None."""
        steps, value, owner = chain.steps, base, base
        first: tuple = ()
        while is_a(value, Module) and steps:
            self._reachable.see_module(value)
            self.reads.module_reads.add((id(value), steps[0][1]))
            self.reads.order.reads((id(value), steps[0][1]))
            if steps[0][0] == "attr":
                self.reads.add_class_attribute(value, steps[0][1])
            owner, first = value, steps[:1]
            value, steps = follow(value, steps[:1]), steps[1:]
        if is_a(value, Module):
            self._reachable.see_module(value)
        elif value is not base:
            self.caches.add(value)
            depth = len(chain.steps) - len(steps)
            if first[-1][1] not in TABLES and not self._is_own_item(base, chain.steps[:depth], value):
                self._follow_attribute(chain, depth, value)
        if value is base:
            return chain, root, base
        if value is None or value is MISSING or not (steps or has_content(value)):
            return None
        text = str(Chain(chain.root, chain.name, chain.steps[: len(chain.steps) - len(steps) - 1]))
        return Chain(ARGUMENT, text, (*first, *steps)), owner, owner

    def _follow_attribute(self, chain, depth, value):
        """Visit what is an attribute of a module, to which `depth` steps of a chain lead."""
        if not (is_plain(value) or is_a(value, (Tensor, Module))):
            self._reachable.walk(str(Chain(chain.root, chain.name, chain.steps[:depth])), value)

    def close(self):
        self._unwalked = {}


class AttributeEvents:
    """Attributes that instructions and calls of user code get and set, with the objects that they show."""

    def __init__(self, known: KnownObjects, inputs: StateInputs, contents: ContainerLog, writes: WriteLog, chains: ChainReads,
                 reachable: Reachable, tensors: TensorAttributes):
        self._known, self._inputs, self._contents, self._writes = known, inputs, contents, writes
        self._chains, self._reachable, self._tensors, self._attributes = chains, reachable, tensors, reachable.attributes
        self._got: set = set()          # (id of an object, attribute, use, calls) of what instructions have got

    def happens(self, operation):
        """Note an instruction that is about to get or set attributes."""
        site = operation.site
        if not operation.operands:
            self._known.refuse("it gets attributes, and this version of Python does not show whose; CPython 3.11 to 3.15 does")
        elif site.method == MATCHED:
            x, cls, names = operation.operands
            if isinstance(x, cls):
                for name in (*names, *getattr(cls, MATCHED, ())):
                    self._get(x, name)
        elif site.is_set:
            chains = [chain for chain in stores_of(operation.frame.f_code) if chain.steps[-1][1] == site.method]
            text = str(chains[0]) if len(chains) == 1 else ""       # for messages
            self.sets(self.behind_proxy(operation.operands[0]), site.method, text)
        else:
            self._gets(operation.frame.f_code, self.behind_proxy(operation.operands[0]), site)

    def behind_proxy(self, x):
        """Return the object to which a weak proxy leads, or a value that is none."""
        if type(x) not in weakref.ProxyTypes:
            return x
        self._reachable.weak.follow(x)
        return x.__repr__.__self__

    def _gets(self, code, owner, site):
        """Guard what an instruction gets of an object, unless the chains of its code have led there."""
        name, key = site.method, table_lookups(code).get(site.offset)
        if name == "__dict__" and key is None:
            self.takes_table(owner)
        elif not self._chains.has_led_to(code, site.offset, owner):
            how, call = attribute_uses(code)[site.offset] if key is None else (None, None)
            self._get(owner, name if key is None else key, how, () if call is None else ((code, call),))

    def _get(self, owner, name, how=None, calls=()):
        """Guard what code gets of an object, with a use of its value."""
        place = id(owner), name, how, calls
        if place in self._got:
            return
        self._attributes.names.add(name)
        if is_a(owner, Tensor):
            self._tensors.gets(owner, name)
        elif self._was_there(owner):
            self._got.add(place)
            self._get_of_outside(owner, name, how, calls)
        elif id(type(owner)) in self._known.visited:        # (the call has made the object)
            self._get_of_class(owner, type(owner), name)

    def _was_there(self, x) -> bool:
        """Return whether an object was there before the call."""
        known = self._known
        return id(x) not in known.own and (known.was_met(x) or (id(x) in known.visited and (
            is_a(x, (Module, type, types.ModuleType, types.FunctionType, types.MethodType)) or is_instance(x))))

    def _get_of_class(self, owner, kind, name):
        """Guard what an object that the call has made gets of its class."""
        if is_user_defined(kind) and (name not in dict_of(owner) or hasattr(type(static_attribute(kind, name)), "__set__")):
            if is_computed(owner, name):
                self._chains.add_computed(owner, "attr", name)
            else:
                self._attributes.of_class(kind, name)

    def _get_of_outside(self, owner, name, how, calls):
        """Guard what code gets of an object from before the call: it holds that itself, or its class gives it."""
        if is_user_namespace(owner) and id(owner) not in self._known.outside:       # `type(x)`, to which no walk led
            self._reachable.walk(self._known.name_of(owner), owner)
        if is_a(owner, Module):
            self._writes.modules.named({name})
            self._writes.modules.read.add(name)
        is_own = name in attributes_of(owner) or hasattr(type(static_attribute(type(owner), name)), "__set__")
        if is_instance(owner) and not (is_own or is_a(owner, Module) or is_computed(owner, name)):
            self._attributes.query(owner, name)
            value = follow(owner, (("attr", name),))
            if type(value) in RESTORED | WHOLES or type(value) in (tuple, np.ndarray):
                self._contents.used(self._inputs.without_table(value, how, calls), how, calls)
        else:
            self._chains.add_step(owner, name, how, calls)

    def takes_table(self, owner):
        """Note code that takes the `__dict__` of an object, and may get or set anything in it."""
        if self._was_there(owner):
            self._attributes.tables.add(id(owner))
            self._reachable.walk(self._known.name_of(owner), owner)
            self._reachable.takes_all(owner, sets=True)

    def query(self, owner, name):
        """Guard that an object has, or has not, an attribute for which a call asks."""
        owner = self.behind_proxy(owner)
        if type(name) is str and is_a(owner, Tensor):
            self._tensors.gets(owner, name)
        elif type(name) is str and is_a(owner, Module) and self._was_there(owner):
            self._get(owner, name)
        self._attributes.query(owner, name)

    def sets(self, owner, name, text=""):
        """Note an attribute that is about to be set or deleted; `text` is how code names it."""
        known, text = self._known, text or f"{self._known.name_of(owner)}.{name}"
        self._attributes.names.add(name)
        if id(owner) in known.own:
            return
        if type(owner) is types.CellType and name == "cell_contents":
            self._writes.add(owner, "", "cell", root_value(owner, ""), text)
        elif is_a(owner, Tensor):
            if not hasattr(type(owner), name):
                self._tensors.add_write(owner, name, text)
        else:
            if is_a(owner, type) and id(owner) in known.visited and id(owner) not in known.outside:
                self._reachable.walk(text, owner)
            self._chains.reads.add_behind(owner, name)      # its class may say how the attribute is stored
            is_library = is_a(owner, (type, types.ModuleType)) and not is_user_namespace(owner)
            if is_a(owner, Module):
                self._writes.modules.named({name})
            if is_a(owner, Module) or id(owner) in known.outside or (is_library and not sets_itself(owner, name)):
                self._writes.add(owner, name, "attr", follow(owner, (("attr", name),)), text)


def further_arguments(frame) -> list:
    """Return (name, value) of the arguments in `*args` and `**kwargs` of a frame."""
    code, local = frame.f_code, frame.f_locals
    at, found = code.co_argcount + code.co_kwonlyargcount, []
    if code.co_flags & inspect.CO_VARARGS:
        found += [(f"{code.co_varnames[at]}[{i}]", v) for i, v in enumerate(local.get(code.co_varnames[at], ()))]
        at += 1
    if code.co_flags & inspect.CO_VARKEYWORDS:
        found += local.get(code.co_varnames[at], {}).items()
    return found


def cell_on(root, steps) -> tuple | None:
    """Return the last closure cell whose content a chain reads, and the number of steps to that content; or None."""
    if ("attr", "cell_contents") not in steps:
        return None
    owners = [(n, follow(root, steps[:n])) for n, step in enumerate(steps) if step == ("attr", "cell_contents")]
    return next(((x, n + 1) for n, x in reversed(owners) if type(x) is types.CellType), None)
