"""`jit.trace` with PyTorch's arguments: with an example, the traced function runs once and can be saved."""

import functools
from typing import Any

from ...ir.error_texts.call_errors import explained
from ...ir.errors import ArgumentError
from ...ir.lazy import lazy
from ...runtime.core.tensor import Tensor
from ..errors.errors import TraceError
from ..tracing import trace as tracing
from ..tracing.trace import Traced

writer = lazy(__package__, "..exporting.file.writer")


class TracedByExample(Traced):
    """A traced function with example arguments: a tuple, or a dict of keyword arguments."""

    offers = (*Traced.offers, "example_inputs", "save")

    def __init__(self, fn, example, dynamic=None, fullgraph=False, run=None, refuse=True):
        super().__init__(fn, dynamic, fullgraph, run, refuse)
        self.example_inputs = example

    def save(self, f, _extra_files=None):
        """Export a call of this kind to a file for `jit.load` (`jit.export`)."""
        write(self, f, _extra_files)

    @property
    def maker(self):
        return functools.partial(TracedByExample, example=self.example_inputs, **super().maker.keywords)


def write(traced, f, extra_files=None):
    """Export a function that was traced with example inputs."""
    if extra_files:
        raise TraceError("jit.save: a file holds a model alone; keep other data in a file of its own")
    traced = getattr(traced, "_jit_trace", traced)
    if not isinstance(traced, TracedByExample):
        raise TraceError("jit.save takes what jit.trace(f, example_inputs) gave. Write other models with jit.export(model, "
                         "example_inputs, path), and load them with jit.load(path); weights alone with "
                         "ingot.save(model.state_dict(), path)")
    writer.export(traced.fn, traced.example_inputs, f)


@explained
def trace(func=None, example_inputs=None, optimize=None, check_trace=True, check_inputs=None, check_tolerance=1e-5, strict=True,
          *, example_kwarg_inputs=None, dynamic=None, fullgraph=False, refuse=True):
    """Decorate a function, method, module or class: recorded at its first run, replayed as compiled code afterwards. A module
    stays a module of its class, with its attributes; of a class, calls of its objects are traced.

    dynamic   None: sizes of arguments become symbolic once they are seen to change; True: all are from the start; False: none
              ever are; {parameter or position: {dim: name}} names those that are from the start (equal names, equal sizes)
    fullgraph whether a call raises that would run as it is
    refuse    whether a call raises that no trace could repeat; otherwise it runs as it is, with one warning

    Example inputs are optional, since calls are recorded as they come. With `example_inputs` (a tensor, or a tuple of
    arguments) or `example_kwarg_inputs`, the function runs once immediately, a module stays a module, and the result has
    `save(path)`. `optimize`, `check_trace`, `check_tolerance` and `strict` are ignored: traces are guarded.
    """
    if example_inputs is not None or example_kwarg_inputs is not None:
        return traced_by_example(func, example_inputs, example_kwarg_inputs, check_inputs, dynamic=dynamic,
                                 fullgraph=fullgraph, refuse=refuse)
    if func is None:
        return functools.partial(trace, dynamic=dynamic, fullgraph=fullgraph, refuse=refuse)
    return tracing.trace(func, dynamic=dynamic, fullgraph=fullgraph, refuse=refuse)


def traced_by_example(fn, example_inputs, example_kwarg_inputs, check_inputs, **options) -> Any:
    """Return a traced function or module after a run on the example and each of `check_inputs`."""
    if example_inputs is not None and example_kwarg_inputs is not None:
        raise ArgumentError("trace takes example_inputs or example_kwarg_inputs, not both")
    if isinstance(fn, type):
        raise ArgumentError(f"trace takes example inputs of a function or module; {fn.__qualname__} is a class")
    example: Any = example_kwarg_inputs
    if example is None:
        example = (example_inputs,) if isinstance(example_inputs, (Tensor, dict)) else tuple(example_inputs)
    made = tracing.wrapped(fn, functools.partial(TracedByExample, example=example, **options))
    for given in (example, *(check_inputs or ())):
        if isinstance(given, dict):
            made(**given)
        else:
            made(*(given if isinstance(given, (tuple, list)) else (given,)))
    return made
