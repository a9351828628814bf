"""Traced modules: modules whose calls go to a traced function, and which stay what they were in all else.

`traced_module(net, make)` returns a module of a subclass of that of `net`, and both have one dict of attributes. So parameters,
hooks, mode, names in state dicts and attributes are those of `net`, on whichever of the two they are set. Code that runs inside
of a call gets the traced module as `self`, so it is the one that `named_modules()`, hooks and registries know.

A class cannot gain slots of other layouts: modules of classes with `__slots__` are refused.
"""

import copy
import functools
import inspect
import types
import weakref
from typing import Any

from ...ir.draw.tables import html_text
from ...ir.interrupts import raise_interrupt
from ...ir.weak_table import WeakTable
from ...runtime.nn.base.module import Module
from ..errors.errors import TraceError
from ..errors.parameters import signature_of
from .labels import definition_of

_CLASS = vars(object)["__class__"]
_classes = WeakTable()      # by (id of a class, kind): the class of its traced modules, which holds it


class TracedModule(Module):
    """A module whose calls are traced: `_jit_trace` is the traced function, `_jit_module` a module with the same attributes.
    PyTorch's name for that one is `_orig_mod`."""

    __slots__ = ("_jit_module", "_jit_trace")

    _jit_trace: Any
    _jit_module: Any
    __base: type = Module
    __kind: type

    def __init_subclass__(cls, **options):
        """Do nothing: a class of traced modules is none of its own to registries of subclasses."""

    def __new__(cls, *args, **kwargs):
        """Make a module of the plain class, as `type(self)(...)` of a method asks for."""
        return cls.__base(*args, **kwargs)

    @property       # type: ignore[misc]
    def __class__(self):
        return type(self).__base

    @__class__.setter
    def __class__(self, new):       # lazy modules and parametrizations change the class
        if not issubclass(new, TracedModule):
            _CLASS.__set__(self._jit_module, new)
            new = _class_of(new, type(self).__kind)
        _CLASS.__set__(self, new)

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError as error:
            raise_interrupt(error, super().__getattr__, name)
            traced = self._jit_trace
            if name not in traced.offers or name in _named_by(type(self).__base):
                raise
            return getattr(traced, name)

    def __dir__(self):
        return sorted({*super().__dir__(), *self._jit_trace.offers})

    def _repr_html_(self) -> str:
        """Show the module, and what became of its calls; the repr stays that of the module."""
        return html_text(repr(self), "print(net)", repr(self._jit_trace))

    def _replicate_for_data_parallel(self):
        return self._jit_module._replicate_for_data_parallel()

    def _check_name(self, name, table, what):
        self._jit_module._check_name(name, table, what)       # names of the traced function are free

    def _plain_module(self):
        return self._jit_module

    @property
    def __signature__(self):
        return signature_of(self._jit_module)

    @property
    def _orig_mod(self):
        return self._jit_module

    def _load_tree(self, state, prefix, assign, report):
        """Load names with `_orig_mod.` as well, which modules that PyTorch has compiled give their state."""
        inside = f"{prefix}_orig_mod."
        if any(name.startswith(inside) for name in state):
            report.unexpected += [name for name in state if name.startswith(prefix) and not name.startswith(inside)]
            prefix = inside
        super()._load_tree(state, prefix, assign, report)

    def __copy__(self):
        return traced_module(copy.copy(self._jit_module), self._jit_trace.maker, type(self).__kind)

    def __deepcopy__(self, memo):
        module = copy.deepcopy(self._jit_module, memo)
        if id(self) in memo:            # children led back to it
            return memo[id(self)]
        return traced_module(module, self._jit_trace.maker, type(self).__kind)

    def __reduce_ex__(self, protocol):
        return _empty, (type(self).__base, type(self).__kind), (self._jit_module, self._jit_trace.maker), None, None, _fill


# The traced function itself is called, as it was before there was a module around it.
TracedModule.__call__ = vars(TracedModule)["_jit_trace"]       # type: ignore[method-assign]


def traced_module(module, make, kind=TracedModule) -> TracedModule:
    """Return a traced module of a kind with the attributes of `module`, or of the one that a traced module stays.
    `make(module, run=run)` returns the traced function."""
    while hasattr(type(module), "_plain_module"):
        module = module._plain_module()
    made = _empty(type(module), kind)
    _fill(made, (module, make))
    return made


def _empty(base, kind) -> TracedModule:
    return object.__new__(_class_of(base, kind))


def _fill(made, state):
    """Give a traced module its attributes, which it shares with an untraced one, and its traced function."""
    module, make = state
    made.__dict__ = module.__dict__
    reference = weakref.ref(made)       # or the module would live until the garbage collector comes

    def run(*args, **kwargs):
        owner = reference()
        owner = module if owner is None else owner
        return owner.__class__.__call__(owner, *args, **kwargs)

    for name, value in (("_jit_trace", make(module, run=run)), ("_jit_module", module)):
        vars(TracedModule)[name].__set__(made, value)


def _class_of(base, kind):
    """Return the class of traced modules of a class and a kind. Metaclasses and registries of subclasses do not hear of it."""
    known = _classes.get((id(base), kind))
    if known is None:
        space = {"__module__": base.__module__, "__qualname__": base.__qualname__, "__doc__": base.__doc__, "__slots__": (),
                 "_TracedModule__base": base, "_TracedModule__kind": kind}
        try:
            known = type.__new__(type(base), base.__name__, (kind, base), space)
        except TypeError as error:
            raise TraceError(definition_of(base.forward).of(
                f"jit.trace cannot stay a {base.__qualname__}: {error}. Leave out __slots__ of the class, or trace its forward "
                "alone: net.forward = jit.trace(net.forward)")) from None
        _classes[id(base), kind] = known
    return known


@functools.lru_cache(256)
def _named_by(base) -> frozenset:
    """Return the names that the code of a module's class uses, which are the module's own where it lacks them."""
    codes = [inspect.unwrap(f).__code__ for c in base.__mro__       # (a public class has a wrapper around its `__init__`)
             if c is not Module and issubclass(c, Module) and not issubclass(Module, c)
             for f in vars(c).values() if isinstance(f, types.FunctionType)]
    names: set = set()
    while codes:
        code = codes.pop()
        names.update(code.co_names, [c for c in code.co_consts if isinstance(c, str)])
        codes += [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return frozenset(names)
