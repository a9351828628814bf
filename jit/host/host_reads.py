"""State that a host function may read, found from its bytecode and from the values that it holds.

    @jit.host
    def note(self, loss):
        self.history.append((self.n, float(loss)))      # attributes `history` and `n` of self, and the items of the list

A chain of names is followed to its current value. The function may look into an object at the end, so all that is in it
counts. User functions are followed in turn.
"""

import functools
import inspect
import types
from typing import Any

from ...runtime.core.tensor import Tensor
from ...runtime.nn.base.module import Module
from ...runtime.optim.optimizer import Optimizer
from ..bytecode.reads import (
    FREE,
    GLOBAL,
    MISSING,
    chains_in,
    follow,
    is_user_function,
    stores_of,
    unassigned_arguments,
    writes_of,
)
from ..bytecode.user_code import attributes_of, attributes_of_module, is_instance, is_user_namespace
from ..guards.locations import root_value
from ..guards.snapshot import is_changeable, is_container, is_plain

MOST = 200_000          # objects that are searched: beyond, anything may be reached
_PLAIN = frozenset((float, int, str, bool, type(None)))
_NO_GRADIENTS = frozenset(("no_grad", "enable_grad", "set_grad_enabled", "is_grad_enabled", "inference_mode", "requires_grad",
                           "requires_grad_"))


class Reach:
    """State that a function may read when it is called.

    locations   (id of an object, attribute), (id of a namespace, name), (id of a cell, "")
    stores      those of these that it assigns to
    objects     {id: object} of those that it may look into
    storages    ids of the memory of tensors
    is_all      whether it may be anything
    gradients   whether it may read gradients
    """

    def __init__(self, function, args, kwargs):
        self.locations: set = set()
        self.stores: set = set()
        self.objects: dict = {}
        self.storages: set = set()
        self.is_all = self.gradients = False
        self._code: set = set()
        self._stack: list = []
        code = getattr(function, "__code__", None)
        if is_user_function(function) and code is not None and len(args) <= code.co_argcount:
            self._goes_through(function, {**dict(zip(code.co_varnames, args)), **kwargs})
        else:
            self._stack += [function, *args, *kwargs.values()]
        while self._stack and not self.is_all:
            self._look_into(self._stack.pop())
            self.is_all = len(self.objects) > MOST

    def _look_into(self, x):
        if is_plain(x) or id(x) in self.objects:
            return
        self.objects[id(x)] = x
        if isinstance(x, Tensor):
            self.storages.add(id(x._storage))
        elif isinstance(x, types.FunctionType):
            self._goes_through(x, {})
        elif isinstance(x, (types.MethodType, types.BuiltinMethodType)):
            self._calls(x)
        elif isinstance(x, functools.partial):
            self._stack += [x.func, *x.args, *x.keywords.values()]
        elif isinstance(x, Module):
            self._holds(x, {**attributes_of_module(x), **x._parameters, **x._buffers, **x._modules})
            self._stack += x._hooks.objects()
        elif isinstance(x, Optimizer):
            self._stack += [x.param_groups, dict(x.state)]
            self.gradients = True
        elif is_container(x) or isinstance(x, tuple):
            items = [*x, *x.values()] if isinstance(x, dict) else x
            self._stack += [v for v in items if type(v) not in _PLAIN]
        elif is_instance(x) or is_user_namespace(x):
            self._holds(x, attributes_of(x))
            call = inspect.getattr_static(type(x), "__call__", None)
            self._stack += [types.MethodType(call, x)] if is_user_function(call) else []

    def _holds(self, x, attributes):
        self.locations.update([(id(x), name) for name in attributes])
        self._stack += attributes.values()

    def _calls(self, method):
        """Add a method that may be called: code of a user class counts by what it reads."""
        function: Any = getattr(method, "__func__", None)
        if is_user_function(function):
            self._goes_through(function, dict(zip(function.__code__.co_varnames[:1], [method.__self__])))
        else:
            self._stack.append(method.__self__)

    def _goes_through(self, function, bound):
        """Add the code of a function, some of whose arguments are known."""
        wrapped = getattr(function, "__wrapped__", None)
        if wrapped is not None:
            self._goes_through(wrapped, bound)
        if not is_user_function(function):
            self._stack += [root_value(cell, "") for cell in function.__closure__ or ()]
            return
        key = function.__code__, *[(name, id(x)) for name, x in bound.items()]
        if key in self._code:
            return
        self._code.add(key)
        self._stack += [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
        codes = [function.__code__]
        while codes:
            code = codes.pop()
            codes += [c for c in code.co_consts if isinstance(c, types.CodeType)]
            self.gradients = self.gradients or any("grad" in name for name in {*code.co_names} - _NO_GRADIENTS)
            for write in writes_of(code):
                self.stores |= {(id(function.__globals__), write.name)} if write.root == GLOBAL else (
                    {(id(cells[write.name]), "")} if write.name in cells else set())
            self.stores |= {(owner, chain.steps[-1][1]) for chain in stores_of(code)
                            for owner in self._owner_of(chain, function, cells, bound)}
            for _, (kind, name), steps, _ in chains_in(code):
                if kind == GLOBAL:
                    self._follows(function.__globals__, name, root_value(function.__globals__, name), steps)
                elif kind == FREE and name in cells:
                    self._follows(cells[name], "", root_value(cells[name], name), steps)
                elif name in bound and code is function.__code__:
                    self._follows(None, "", bound[name], steps)
            if code is function.__code__:       # assigned ones are searched under their own names
                unassigned = unassigned_arguments(code)
                self._stack += [x for name, x in bound.items() if name not in unassigned]

    @staticmethod
    def _owner_of(chain, function, cells, bound) -> list:
        """Return the id of the object whose attribute a chain assigns, if known."""
        start = (root_value(function.__globals__, chain.name) if chain.root == GLOBAL else
                 root_value(cells[chain.name], "") if chain.name in cells else bound.get(chain.name, MISSING))
        return [] if start is MISSING else [id(follow(start, chain.steps[:-1]))]

    def meets(self, later: "Reach") -> bool:
        """Return whether another function may read what this one changes."""
        shared = self.objects.keys() & later.objects.keys()
        is_shared = any(is_changeable(self.objects[at]) or isinstance(self.objects[at], Tensor) for at in shared)
        return self.is_all or later.is_all or is_shared or not self.stores.isdisjoint(later.locations)

    def _follows(self, root, name, value: Any, steps):
        if root is not None:
            self.locations.add((id(root), name))
        for step in steps:
            owner, value = value, follow(value, (step,))
            self.locations.add((id(owner), step[1]))
            if isinstance(owner, Tensor):
                self.storages.add(id(owner._storage))
            if value is MISSING:
                found = next((vars(c)[step[1]] for c in type(owner).__mro__ if step[1] in vars(c)), None)
                getter: Any = found.fget if isinstance(found, property) else None
                if is_user_function(getter):
                    self._goes_through(getter, dict(zip(getter.__code__.co_varnames[:1], [owner])))
                self._stack.append(owner)
                return
        self._stack.append(value)
