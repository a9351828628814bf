"""Names of PyTorch's older compiler: fronts where they fit, and refusals that say what to call instead.

ingot has no language of its own for functions: what is traced is Python. So marks for that compiler (`ignore`, `unused`,
`interface` ...) change nothing.
"""

from typing import Any, Final

from ...runtime.nn.base.module import Module
from ..errors.errors import TraceError
from ..tracing.compiler import Compiled
from .example_trace import write

__all__ = ["Attribute", "Final", "Future", "RecursiveScriptModule", "ScriptFunction", "ScriptModule", "annotate", "fork",
           "freeze", "ignore", "interface", "is_scripting", "is_tracing", "isinstance", "optimize_for_inference", "save",
           "script", "script_if_tracing", "script_method", "trace_module", "unused", "wait"]


class ScriptModule(Module):
    """A module whose class was written for PyTorch's older compiler; its calls are plain ones."""


class Scripted(Compiled, ScriptModule):
    """What `script` makes of a module: one whose calls are traced, and which has the parts of the other one by their names."""

    def __init__(self, module, dynamic=None, eager=False):
        super().__init__(module, dynamic, eager)
        vars(self).update({name: vars(module)[name] for name in ("_parameters", "_buffers", "_modules")}, _orig_mod=module)

    def __getattr__(self, name):
        try:
            return getattr(vars(self)["_orig_mod"], name)
        except KeyError:
            raise AttributeError(name) from None

    def save(self, f, _extra_files=None):
        """Refused: which arguments it takes is not known."""
        raise TraceError("a scripted module cannot be saved, since its arguments are not known: save what "
                         "jit.trace(module, example_inputs) gives, or its state_dict()")


RecursiveScriptModule = ScriptModule


class ScriptFunction:
    """What no function is: `script` gives them back as they are."""


def script(obj: Any = None, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """Return a module becomes one whose calls are traced, as by `ingot.compile`, and whose parts keep their names. Functions
    and classes stay what they are: a function is part of the trace that calls it, and eager code can differentiate it twice,
    as it cannot a traced one."""
    return Scripted(obj) if issubclass(type(obj), Module) and type(obj) is not Scripted else obj


def script_method(fn):
    """Return the method itself."""
    return fn


def ignore(drop=False, **kwargs):
    """Return the function itself: traces record what it does; with `jit.host` Python runs it at every call."""
    return drop if callable(drop) else _itself


def unused(fn):
    """Return the function itself."""
    return fn


interface = script_if_tracing = unused


def _itself(fn):
    return fn


def is_scripting() -> bool:
    """False: code always runs as Python."""
    return False


def is_tracing() -> bool:
    """False, also in traces, which do what eager code does. Whether one is recorded says `compiler.is_compiling`."""
    return False


def annotate(the_type, the_value):
    """Return the value."""
    return the_value


def Attribute(value, type):
    """Return the value."""
    return value


def isinstance(obj, target_type) -> bool:
    """Return whether an object is of a type; of List[int] and the like only the outer type is looked at."""
    kinds = target_type if type(target_type) is tuple else (target_type,)
    return any(issubclass(type(obj), getattr(k, "__origin__", None) or k) for k in kinds)


class Future:
    """The result of `fork`."""

    def __init__(self, found):
        self._found = found

    def wait(self):
        """Return the result."""
        return self._found

    value = wait

    def done(self) -> bool:
        """True: the function has run."""
        return True

    def then(self, callback):
        """Return the future of callback(self)."""
        return Future(callback(self))


def fork(func, *args, **kwargs) -> Future:
    """Run a function now; `wait` gives its result. Work goes side by side inside of kernels."""
    return Future(func(*args, **kwargs))


def wait(future):
    """Return the result of `fork`."""
    return future.wait()


def freeze(mod, preserved_attrs=None, optimize_numerics=True):
    """Return the module: what its weights alone determine is computed once by every trace of it, in any case."""
    if mod.training:
        raise TraceError("freeze takes a module in evaluation mode; call eval() first")
    return mod


def optimize_for_inference(mod, other_methods=None):
    """Return the module: traces optimise it in any case."""
    return mod


def save(m, f, _extra_files=None):
    """Write what `jit.trace(f, example_inputs)` gave to a file, which `jit.load` reads."""
    write(m, f, _extra_files)


def trace_module(mod, inputs, *args, **kwargs):
    """Refused: each method is traced for itself."""
    raise TraceError("jit.trace_module: trace each method, as in step = jit.trace(model.method)")
