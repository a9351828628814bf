"""`record_graph`: one recorded run as a graph, for files and other formats.

    r = record_graph(model, (x,), dynamic={"x": {0: "batch"}})
    r.graph          # inputs: the tensors of the arguments in order, then captured tensors
    r.captured       # the tensors behind these, in order
    r.conditions     # {condition on the sizes: the user's line that needs it}

The function runs eagerly, once. Choices of Python by values of tensors, random draws and host functions cannot be in one graph;
they are refused with the user's line. Python state that was read is fixed as it was.
"""

import threading
from contextlib import contextmanager
from dataclasses import dataclass

from ...ir.error_texts.call_errors import explained
from ...ir.graph.graph import Graph
from ...ir.symbols.scope import LEAST
from ..errors.errors import TraceError, at
from ..errors.parameters import parameters_of
from ..guards.arg_pytree import flatten
from .dynamic_shapes import Family, Symbols, check_keys, user_names
from .recorded_call import Call, Run
from .trace import Traced


@dataclass(frozen=True)
class Captured:
    """A recorded run.

    graph        of the run; updates are writes to tensors from outside
    arguments    names of the inputs for the tensors of the arguments
    captured     {name of an input: tensor} for the others
    sizes        {name: ((argument, dim), ...)} of the symbolic sizes: their places in a call
    conditions   {text over the names: (file, line)} under which the graph is right
    result       of the run
    result_spec  its structure, with marks for tensors (`arg_pytree.unflatten`)
    """

    graph: Graph
    arguments: tuple
    captured: dict
    sizes: dict
    conditions: dict
    result: object
    result_spec: object


@explained
def record_graph(fn, example_inputs, dynamic=None, *, example_kwargs=None) -> Captured:
    """Run `fn(*example_inputs)` and return it as a graph. `dynamic` chooses symbolic sizes as for `jit.trace`: True for all, or
    {parameter or position: {dim: name}}; None or False for none."""
    fn = fn.fn if isinstance(fn, Traced) else fn
    leaves: list = []
    numbers: list = []
    args, kwargs = tuple(example_inputs), dict(example_kwargs or {})
    spec = flatten((args, kwargs), leaves, numbers)
    shapes = tuple([(t._a.shape, t._a.dtype, t._node is not None) for t in leaves])
    call = Call(args, kwargs, leaves, numbers, ((spec, None, ()), None, True, None, None, shapes, ()))
    names: dict = {}
    if dynamic:
        named = isinstance(dynamic, dict)
        if named:
            check_keys(dynamic, fn)
        names = user_names(dynamic, parameters_of(fn), call) if named else Family().symbolic_origins(call.shapes, (), True)
    run = Run(fn, frozenset(), Symbols.of(names, call.shapes, numbers, LEAST) if names else None)
    try:
        with for_elsewhere():
            run.record(call)
        return _finished(run, call)
    finally:
        run.forget()


class _Thread(threading.local):
    """Whether this thread records a graph for other formats."""

    records = False


_thread = _Thread()


def is_recording() -> bool:
    """Return whether this thread records a graph for other formats, or runs a function to compare it with that."""
    return _thread.records


@contextmanager
def for_elsewhere():
    """Tell functions inside that they are exported: in the run that is recorded, and in those that it is compared with."""
    before, _thread.records = _thread.records, True
    try:
        yield
    finally:
        _thread.records = before


def _finished(run, call) -> Captured:
    r = run.recording
    if r.cuts:
        raise TraceError(f"{r.cuts[0].how}() reads a value out of a tensor{at(_line_of(r.cuts[0]))}, so the run is no single "
                         "graph; compute with tensors instead (where, masks, clamp)")
    if run.template.effects:
        raise TraceError(f"the function assigns to {run.template.effects[0].text}, which a graph cannot say; return the value "
                         "instead")
    odd = next((s for s in r.sources if s.kind not in ("argument", "captured")), None)
    if odd is not None or r.hosts:
        kinds = {"key": "draws random numbers", "number": "draws random numbers or reads the clock",
                 "scalar": "steps an optimizer", "grad": "reads gradients set before"}
        what = kinds.get(odd.kind, odd.kind) if odd is not None else "calls a host function"
        raise TraceError(f"the function {what}, which one graph of its arguments cannot say; for a module, call .eval() before")
    if r.rebinds:
        raise TraceError("the function sets .data of a tensor, which a graph cannot say; write in place with t.copy_(value)")
    for position, value in r.updates:
        r.builder.update(r.builder.inputs[position], value)
    graph = r.builder.finish([o.value for o in run.template.tensors(r.outputs)])
    count = len(call.leaves)
    symbols = run.symbols
    sizes: dict = {}
    for (_, i, d), name in (symbols.names.items() if symbols is not None else ()):
        sizes[name] = (*sizes.get(name, ()), (i, d))
    conditions = {} if symbols is None else dict(symbols.scope.conditions)
    return Captured(graph, tuple([v.name for v in graph.inputs[:count]]),
                    {v.name: s.what for v, s in zip(graph.inputs[count:], r.sources[count:])},
                    sizes, conditions, run.result, run.template.spec)


def _line_of(cut):
    return cut.value.node.line if cut.value.node is not None else None
