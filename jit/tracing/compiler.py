"""`ingot.compile` and `ingot.compiler`: PyTorch's names for `jit.trace`."""

import functools
import warnings

from ...ir import config
from ...ir.errors import ArgumentError
from ...ir.weak_table import WeakTable
from ...runtime.nn.base.module import Module
from ...runtime.state.mode import tls
from ..host.host_call import host
from .record_graph import is_recording
from .trace import Traced, wrapped

__all__ = ["allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable",
           "get_default_backend", "is_compiling", "is_exporting", "list_backends", "nested_compile_region", "reset",
           "set_stance"]

MODES = (None, "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
EAGER, TRACED = ("eager",), ("ingot", "inductor", "cudagraphs")      # the others are names that scripts ask for
_SPECIAL = ("__contains__", "__delitem__", "__getitem__", "__iter__", "__len__", "__reversed__", "__setitem__")
_compiled = WeakTable()     # by their ids


class Compiled(Module):
    """A module whose calls are traced, unless eager: another module `_orig_mod`, with its parameters, mode and attributes.
    It is an instance of that module's class."""

    def __init__(self, module, make, kind):
        super().__init__()
        self._orig_mod = module
        self.__dict__.update(__doc__=module.__doc__, _made_of=(module, make, kind),
                             _compiled=module if make is None else make(module))
        del self.__dict__["training"]           # that of the other module

    @property       # type: ignore[misc]
    def __class__(self):
        return self._orig_mod.__class__

    def forward(self, *args, **kwargs):
        """Call the traced module; hooks of this module run around it, those of the other one inside."""
        return self._compiled(*args, **kwargs)

    @property
    def _jit_trace(self):
        return self.__dict__["_compiled"]

    def compile(self, *args, **kwargs):
        """Compile the other module's `forward` from now on."""
        self._orig_mod.compile(*args, **kwargs)

    def _plain_module(self):
        return self._orig_mod

    def train(self, mode: bool = True):
        """Set the mode of the other module."""
        self._orig_mod.train(mode)
        return self

    def _load_tree(self, state, prefix, assign, report):
        """Load names with `_orig_mod.` or without: a file may have been written before the module was compiled."""
        names = [name.removeprefix(prefix) for name in state if name.startswith(prefix)]
        if names and not any(name.startswith("_orig_mod.") for name in names):
            self._orig_mod._load_tree(state, prefix, assign, report)
        else:
            super()._load_tree(state, prefix, assign, report)

    def __setattr__(self, name, value):
        super().__setattr__(name, value) if name == "_orig_mod" else setattr(self._orig_mod, name, value)

    def __delattr__(self, name):
        delattr(self._orig_mod, name)

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            module = super().__getattr__("_orig_mod")
        traced = self.__dict__.get("_compiled", module)
        return getattr(traced if name in Traced.offers and not hasattr(module, name) else module, name)

    def __dir__(self):
        offered = [name for name in Traced.offers if hasattr(self._compiled, name)]
        return sorted({*dir(self._orig_mod), *super().__dir__(), *offered})

    def __reduce__(self):
        return compiled, self._made_of


def compiled(module, make, kind=Compiled):
    """Return a `Compiled` (of a `kind`) that calls `make(module)`, or `module` itself if `make` is None. It has len(), indices
    and iteration if the module has them."""
    special = [name for name in _SPECIAL if hasattr(type(module), name)]
    made = type(kind.__name__, (kind,), {name: _forwarded(name) for name in special}) if special else kind
    return made(module, make, kind)


def _forwarded(name):
    """Return a special method that asks the module behind a compiled one."""
    def call(self, *args):
        return getattr(self._orig_mod, name)(*args)

    return call


class _Compiler(functools.partial):
    """Makes traced functions that `reset` knows."""

    def __call__(self, fn, **options):
        made = super().__call__(fn, **options)
        _compiled[id(made)] = made
        return made


def compile(model=None, *, fullgraph=False, dynamic=None, backend="inductor", mode=None, options=None, disable=False):
    """Trace a function or class, or a module, which stays one (its state is under `_orig_mod`).

    fullgraph   raises a TraceError where a call would run as it is. What cannot be traced raises one in any case
    backend     "inductor", "cudagraphs" and "ingot" all mean ingot's compiler; "eager" runs the function or module as it is
    mode        one of PyTorch's; there is one way to compile, so it changes nothing. `options` are ignored with a warning
    """
    if model is None:
        return functools.partial(compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options,
                                 disable=disable)
    if backend not in (*EAGER, *TRACED):
        raise ArgumentError(f"compile: backend is one of {', '.join(map(repr, (*TRACED, *EAGER)))}, got {backend!r}; compilers "
                            "of PyTorch's graphs cannot take ingot's")
    if mode not in MODES:
        raise ArgumentError(f"compile: mode is one of {', '.join(map(repr, MODES))}, got {mode!r}")
    if options:
        warnings.warn("compile: options are of PyTorch's inductor and change nothing here", stacklevel=2)
    eager = backend in EAGER
    if disable or (eager and not isinstance(model, Module)):
        return model
    make = None if eager else _Compiler(Traced, dynamic=dynamic, fullgraph=fullgraph)
    return compiled(model, make) if isinstance(model, Module) else wrapped(model, make)


def disable(fn=None, recursive=True, *, reason=None):
    """Keep a function out of traces: they call it at every replay (`jit.host`). Where gradients are recorded it is traced like
    all other code, so that they flow through it."""
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    apart = host(fn)

    @functools.wraps(fn)
    def call(*args, **kwargs):
        return fn(*args, **kwargs) if tls.m.grad else apart(*args, **kwargs)

    return call


def allow_in_graph(fn):
    """Return the function itself: all that is called is recorded."""
    return fn


nested_compile_region = assume_constant_result = allow_in_graph


class set_stance:
    """Set how traced functions of this thread run from now on, or inside of `with`: "force_eager" uncompiled, "default"
    compiled. "eager_on_recompile" is "default": a call of another kind is recorded as it runs."""

    STANCES = ("default", "eager_on_recompile", "force_eager")

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        if stance not in self.STANCES:
            raise ArgumentError(f"set_stance: stance is one of {', '.join(map(repr, self.STANCES))}, got {stance!r}")
        if skip_guard_eval_unsafe or force_backend not in (None, *TRACED):
            raise ArgumentError("set_stance: guards are always asked, and there is one backend")
        self._before = config.hold(jit=stance != "force_eager" and config.process_settings().jit)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        config.overridden.settings = self._before


def is_compiling() -> bool:
    """Return whether a function is being recorded, or run to be compared with its export."""
    return tls.m.recorder is not None or is_recording()


def is_exporting() -> bool:
    """Return whether a function is recorded for a file."""
    return is_recording()


def list_backends(exclude_tags=()) -> list:
    """Return the names that `compile` takes for ingot's compiler. `exclude_tags` is ignored: they have no tags."""
    return list(TRACED)


def get_default_backend() -> str:
    """Return the default compiler of `compile`."""
    return TRACED[0]


def reset():
    """Drop the recordings of all functions made by `compile`."""
    for traced in _compiled.values():
        traced.forget()


def cudagraph_mark_step_begin():
    """Do nothing: results are never in memory that a later call uses."""

