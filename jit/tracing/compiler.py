"""`ingot.compile` and `ingot.compiler`: PyTorch's names for `jit.trace`."""

import functools
import warnings

from ...ir import config
from ...ir.blocks import Block
from ...ir.error_texts.call_errors import explained
from ...ir.errors import ArgumentError
from ...ir.suggestions import unknown_choice
from ...ir.tracebacks import user_level as _user_level
from ...ir.weak_table import WeakTable
from ...runtime.state.mode import tls
from ..host.host_call import host
from .record_graph import is_recording
from .trace import Traced, wrapped

__all__ = ["allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable",
           "get_default_backend", "is_compiling", "is_exporting", "list_backends", "nested_compile_region", "reset",
           "set_stance"]

MODES = (None, "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
EAGER, TRACED = ("eager",), ("ingot", "inductor", "cudagraphs")      # the others are names that scripts ask for
_compiled = WeakTable()     # by their ids


class _Compiler(functools.partial):
    """Makes traced functions that `reset` knows."""

    def __call__(self, fn, **options):
        made = super().__call__(fn, **options)
        _compiled[id(made)] = made
        return made


@explained
def compile(model=None, *, fullgraph=False, dynamic=None, backend="inductor", mode=None, options=None, disable=False):
    """Trace a function, class or module, as `jit.trace` does. A module stays what it is, with its names in state dicts; without
    its tracing it is `_orig_mod`.

    fullgraph   raises a TraceError where a call would run as it is. By default a function that cannot be traced runs as it is,
                with one warning that names the line and a way out
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
        raise unknown_choice("compile: mode", mode, MODES)
    if options:
        warnings.warn("compile: options are of PyTorch's inductor and change nothing here", stacklevel=_user_level())
    if disable or backend in EAGER:
        return model
    return wrapped(model, _Compiler(Traced, dynamic=dynamic, fullgraph=fullgraph, refuse=fullgraph))


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


class set_stance(Block):
    """Set how traced functions of this thread run from now on, or inside of `with`: "force_eager" uncompiled, "default"
    compiled. "eager_on_recompile" is "default": a call of another kind is recorded as it runs."""

    STANCES = ("default", "eager_on_recompile", "force_eager")

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        if stance not in self.STANCES:
            raise unknown_choice("set_stance: stance", stance, self.STANCES)
        if skip_guard_eval_unsafe or force_backend not in (None, *TRACED):
            raise ArgumentError("set_stance: guards are always asked, and there is one backend")
        super().__init__()
        self._before = config.hold(jit=stance != "force_eager" and config.process_settings().jit)

    def around(self):
        return lambda: self, functools.partial(setattr, config.overridden, "settings", self._before)


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

