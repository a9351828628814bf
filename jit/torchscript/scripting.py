"""TorchScript's functions over `jit.trace`, or refusals that name an alternative.

ingot traces Python and has no language of its own, so marks (`ignore`, `unused`, `interface` ...) change nothing.
"""

from typing import Any, Final

from ...runtime.nn.base.module import Module
from ..errors.errors import TraceError
from ..tracing.trace import Traced
from ..tracing.traced_module import TracedModule, traced_module
from .example_trace import write

__all__ = ["Attribute", "Final", "Future", "RecursiveScriptModule", "ScriptFunction", "ScriptModule", "annotate", "fork",
           "freeze", "ignore", "interface", "is_scripting", "is_tracing", "isinstance", "optimize_for_inference", "save",
           "script", "script_if_tracing", "script_method", "trace_module", "unused", "wait"]


class ScriptModule(Module):
    """Base of classes written for TorchScript; calls are plain calls."""


class Scripted(TracedModule, ScriptModule):
    """The result of `script` on a module: one whose calls are traced."""

    __slots__ = ()

    def save(self, f, _extra_files=None):
        """Raise: the arguments are unknown."""
        raise TraceError("a scripted module cannot be saved, since its arguments are not known: save what "
                         "jit.trace(module, example_inputs) gives, or its state_dict()")


RecursiveScriptModule = ScriptModule


class ScriptFunction:
    """The class of compiled functions; nothing is an instance, since `script` returns functions unchanged."""


def script(obj: Any = None, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """Return a module whose calls are traced, as `ingot.compile` does.

    Functions and classes are returned unchanged: a function joins the trace of its caller, and eager code can differentiate it
    twice, which a traced function cannot. `optimize` is ignored: every trace is optimised. `example_inputs` is ignored: types
    are those of the arguments at each call.
    """
    is_plain = issubclass(type(obj), Module) and not issubclass(type(obj), Scripted)
    return traced_module(obj, Traced, Scripted) if is_plain else obj


def script_method(fn):
    """Return the method."""
    return fn


def ignore(drop=False, **kwargs):
    """Return the function: traces record it; `jit.host` makes Python call it every time.

    `kwargs` is ignored: no option is left.
    """
    return drop if callable(drop) else _itself


def unused(fn):
    """Return the function."""
    return fn


interface = script_if_tracing = unused


def _itself(fn):
    return fn


def is_scripting() -> bool:
    """Return False: code always runs as Python."""
    return False


def is_tracing() -> bool:
    """Return False, also in traces, which do what eager code does. `compiler.is_compiling` tells whether a trace records."""
    return False


def annotate(the_type, the_value):
    """Return the value. `the_type` is ignored: traces see the value itself."""
    return the_value


def Attribute(value, type):
    """Return the value. `type` is ignored: traces see the value itself."""
    return value


def isinstance(obj, target_type) -> bool:
    """Return whether an object is of a type; of List[int] and others, only the outer type counts."""
    kinds = target_type if type(target_type) is tuple else (target_type,)
    return any(issubclass(type(obj), getattr(k, "__origin__", None) or k) for k in kinds)


class Future:
    """The result of `fork`."""

    def __init__(self, result):
        self._result = result

    def wait(self):
        return self._result

    value = wait

    def done(self) -> bool:
        """Return True: the function has run."""
        return True

    def then(self, callback):
        return Future(callback(self))


def fork(func, *args, **kwargs) -> Future:
    """Run a function now; `wait` returns its result. Kernels run in parallel inside."""
    return Future(func(*args, **kwargs))


def wait(future):
    """Return the result of `fork`."""
    return future.wait()


def freeze(mod, preserved_attrs=None, optimize_numerics=True):
    """Return the module: every trace computes values that depend on weights alone only once.

    `preserved_attrs` is ignored: the module keeps all attributes. `optimize_numerics` is ignored: frozen weights stay exact.
    """
    if mod.training:
        raise TraceError("freeze takes a module in evaluation mode; call eval() first")
    return mod


def optimize_for_inference(mod, other_methods=None):
    """Return the module: every trace is optimised. `other_methods` is ignored: a trace takes any method."""
    return mod


def save(m, f, _extra_files=None):
    """Export the result of `jit.trace(f, example_inputs)` to a file for `jit.load`."""
    write(m, f, _extra_files)


def trace_module(mod, inputs, *args, **kwargs):
    """Raise: trace each method by itself."""
    raise TraceError("jit.trace_module: trace each method, as in step = jit.trace(model.method)")
