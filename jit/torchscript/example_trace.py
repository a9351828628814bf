"""`jit.trace` with PyTorch's arguments: with an example, the traced function runs once and can be saved."""

import functools
from typing import Any

from ...ir.errors import ArgumentError
from ...ir.lazy import lazy
from ...runtime.core.tensor import Tensor
from ...runtime.nn.base.module import Module
from ..errors.errors import TraceError
from ..tracing import trace as tracing
from ..tracing.compiler import Compiled
from ..tracing.trace import Traced

writer = lazy(__package__, "..exporting.file.writer")


class TracedModule(Compiled):
    """A traced module with example arguments: a tuple, or a dict of keyword arguments."""

    def __init__(self, module, dynamic, example):
        super().__init__(module, dynamic)
        self.__dict__.update(_with_mask=(module, dynamic, example), example_inputs=example)

    def state_dict(self, *args, **kwargs):
        return self._orig_mod.state_dict(*args, **kwargs)

    def load_state_dict(self, state_dict, *args, **kwargs):
        """Load a state dict with the module's own names."""
        return self._orig_mod.load_state_dict(state_dict, *args, **kwargs)

    def named_parameters(self, *args, **kwargs):
        """Iterate over the module's parameters, with its own names."""
        return self._orig_mod.named_parameters(*args, **kwargs)

    def save(self, f, _extra_files=None):
        """Export a call of this kind to a file for `jit.load` (`jit.export`)."""
        write(self, f, _extra_files)

    def __reduce__(self):
        return TracedModule, self._with_mask


class TracedFunction(Traced):
    """A traced function with example arguments: a tuple, or a dict of keyword arguments."""

    def __init__(self, fn, dynamic, example):
        super().__init__(fn, dynamic)
        self.example_inputs = example

    def save(self, f, _extra_files=None):
        """Export a call of this kind to a file for `jit.load` (`jit.export`)."""
        write(self, f, _extra_files)


def write(traced, f, extra_files=None):
    """Export a function that was traced with example inputs."""
    if extra_files:
        raise TraceError("jit.save: a file holds a model alone; keep other data in a file of its own")
    if not isinstance(traced, (TracedModule, TracedFunction)):
        raise TraceError("jit.save takes what jit.trace(f, example_inputs) gave. Write other models with jit.export(model, "
                         "example_inputs, path), and load them with jit.load(path); weights alone with "
                         "ingot.save(model.state_dict(), path)")
    what = traced._orig_mod if isinstance(traced, TracedModule) else traced.fn
    writer.export(what, traced.example_inputs, f)


def trace(func=None, example_inputs=None, optimize=None, check_trace=True, check_inputs=None, check_tolerance=1e-5, strict=True,
          *, example_kwarg_inputs=None, dynamic=None):
    """Decorate a function, method or module: recorded at its first run, replayed as compiled code afterwards.

    dynamic   None: sizes of arguments become symbolic once they are seen to change; True: all are from the start; False: none
              ever are; {parameter or position: {dim: name}} names those that are from the start (equal names, equal sizes)

    Example inputs are optional, since calls are recorded as they come. With `example_inputs` (a tensor, or a tuple of
    arguments) or `example_kwarg_inputs`, the function runs once immediately, a module stays a module, and the result has
    `save(path)`. `optimize`, `check_trace`, `check_tolerance` and `strict` change nothing: traces are guarded.
    """
    if example_inputs is not None or example_kwarg_inputs is not None:
        return traced_by_example(func, example_inputs, example_kwarg_inputs, check_inputs, dynamic)
    if func is None:
        return functools.partial(trace, dynamic=dynamic)
    return tracing.trace(func, dynamic=dynamic)


def traced_by_example(fn, example_inputs, example_kwarg_inputs, check_inputs, dynamic) -> Any:
    """Return a traced function or module after a run on the example and each of `check_inputs`."""
    if example_inputs is not None and example_kwarg_inputs is not None:
        raise ArgumentError("trace takes example_inputs or example_kwarg_inputs, not both")
    example: Any = example_kwarg_inputs
    if example is None:
        example = (example_inputs,) if isinstance(example_inputs, (Tensor, dict)) else tuple(example_inputs)
    kind = TracedModule if isinstance(fn, Module) else TracedFunction
    made = kind(fn, dynamic, example)
    for given in (example, *(check_inputs or ())):
        if isinstance(given, dict):
            made(**given)
        else:
            made(*(given if isinstance(given, (tuple, list)) else (given,)))
    return made
