"""Interpreter of ONNX graphs on ingot tensors: the main graph, bodies of control flow, and functions.

Known numbers (shapes, axes and values computed from them) stay NumPy arrays while no tensor is involved. They are computed
once, when a program is traced, and are no part of the trace.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ....ir.errors import FileError
from ....ir.interrupts import raise_interrupt
from ....runtime.core.tensor import Tensor
from ....runtime.serialization.read_budget import ReadBudget
from ..format import proto
from .registry import Call, Importer, OfSizes, importer_of, to_host, to_tensor, unrecorded
from .run_budget import take_run_step, take_step
from .symbolic_values import computed


@dataclass(frozen=True)
class Context:
    """State shared by a model's nodes: operator set versions, own functions, the budget of reading, data folder, and in a
    function its attributes."""

    versions: dict
    functions: dict
    budget: ReadBudget
    folder: Any = None
    call_attributes: dict | None = None
    depth: int = 0

    def version(self, node) -> int:
        domain = "" if node.domain == "ai.onnx" else node.domain
        if domain not in self.versions:
            raise FileError(f"operator {node.op_type} belongs to domain {node.domain!r}, whose version the model does not say")
        return self.versions[domain]


@dataclass
class Step:
    """One node: its function, the names that it reads and makes, and the names that are not read after it."""

    run: Any
    call: Call
    inputs: tuple
    outputs: tuple
    outer: frozenset      # names that its graphs read from around it
    frees: tuple = ()


class Program:
    """A graph as a list of steps."""

    def __init__(self, name, inputs, outputs, nodes, constants, context, around=frozenset()):
        self.name, self.inputs, self.outputs, self.constants = name, tuple(inputs), tuple(outputs), constants
        known = set(around) | set(inputs) | set(constants)
        self.reads_around: set = set()
        own = set(inputs) | set(constants)
        self.steps = []
        for node in nodes:
            step = make_step(node, context, frozenset(known))
            for n in (*step.inputs, *step.outer):
                if n and n not in known:
                    raise FileError(f"operator {node.op_type} of graph {name!r} reads {n!r}, which nothing before it makes")
                if n and n not in own:
                    self.reads_around.add(n)
            known.update(step.outputs)
            own.update(step.outputs)
            self.steps.append(step)
        missing = [n for n in outputs if n and n not in known]
        if missing:
            raise FileError(f"graph {name!r} gives {missing[0]!r}, which nothing in it makes")
        self.reads_around.update(n for n in outputs if n and n not in own)
        self._free()

    def _free(self):
        """Compute after which step each value is dead."""
        wanted = set(self.outputs)
        for step in reversed(self.steps):
            read = (set(step.inputs) | step.outer | set(step.outputs)) - {""}
            step.frees = tuple(read - wanted)
            wanted |= read

    def run(self, values, scope=None) -> list:
        """Return the outputs for the inputs' values; `scope` holds the enclosing values."""
        env = dict(scope) if scope else {}
        env.update(self.constants)
        env.update(zip(self.inputs, values))
        take_run_step(f"a run of graph {self.name!r}")
        for step in self.steps:
            take_run_step(f"operator {step.call.kind}")
            found = _results_of(step, [env[n] if n else None for n in step.inputs], env)
            for n, value in zip(step.outputs, found):
                if n:
                    env[n] = value
            for n in step.frees:
                env.pop(n, None)
        return [env[n] if n else None for n in self.outputs]


_PACKAGE = __name__.partition(".")[0]


def _results_of(step, inputs, env):
    """Return the results of a step; any failure becomes one error that names the operator."""
    try:
        results = step.run(step.call, inputs, env)
    except Exception as e:
        if type(e).__module__.partition(".")[0] == _PACKAGE:
            raise
        raise_interrupt(e, step.run, step.call, inputs, env)
        types = ", ".join([f"{x.dtype.name}{list(x.shape)}" if hasattr(x, "shape") else type(x).__name__ for x in inputs])
        raise FileError(f"ONNX operator {step.call.kind} of ({types}) cannot be computed: {type(e).__name__}: {e}") from e
    if len(results) < len(step.outputs) and any(step.outputs[len(results):]):
        raise FileError(f"ONNX operator {step.call.kind} gives {len(results)} results, the model names {len(step.outputs)}")
    return results


def program_of(graph, context: Context, around=frozenset()) -> Program:
    """Return the program of an inner graph."""
    constants = {t.name: proto.array_of(t, context.folder) for t in graph.initializer}
    refuse_sparse(graph)
    inputs = [i.name for i in graph.input if i.name not in constants]
    return Program(graph.name, inputs, [o.name for o in graph.output], graph.node, constants, context, around)


def refuse_sparse(graph):
    """Raise if weights are stored as sparse tensors."""
    if graph.sparse_initializer:
        raise FileError(f"graph {graph.name!r} has sparse initializers, which are not supported; store them dense")


# From nodes to steps.


def make_step(node, context: Context, around) -> Step:
    """Return the step of a node; raise for an unknown operator, before anything runs."""
    take_step(context.budget, f"operator {node.op_type}")
    version = None if (node.domain, node.op_type) in context.functions else context.version(node)
    attributes = proto.attributes_of(node, context.folder, context.call_attributes)
    graphs = {k: program_of(g, context, around) for k, g in attributes.items() if hasattr(g, "node")}
    plain = {k: v for k, v in attributes.items() if k not in graphs}
    outputs = tuple(node.output)
    call = Call(node.op_type, plain, version or 0, len(outputs), tuple([bool(n) for n in outputs]), graphs)
    outer = frozenset(n for g in graphs.values() for n in g.reads_around)
    return Step(_runner(node, version, context, call), call, tuple(node.input), outputs, outer)


def _runner(node, version, context, call):
    if (node.domain, node.op_type) in context.functions:
        return _local_function(context.functions[node.domain, node.op_type], context, call)
    domain = "" if node.domain == "ai.onnx" else node.domain
    importer = importer_of(domain, node.op_type, version)
    if importer is not None:
        _check_types(call)
        return lambda call, inputs, env: run_importer(importer, call, inputs, env)
    if not proto.has_function(domain, node.op_type, version):
        place = f" of domain {node.domain!r}" if domain else ""
        raise FileError(f"ONNX operator {node.op_type}{place} (version {version}) is not supported")
    return _standard_function(node, version, context, call)


def _check_types(call):
    for name in ("to", "dtype"):
        if call.get(name):
            call.dtype(name)


def _local_function(function, context, call):
    """Return the function of an operator that the model defines."""
    if context.depth > 32:
        raise FileError(f"the function {function.name} of this model calls itself")
    program = function_program(function, context, call.attributes, call.wanted)
    return lambda call, inputs, env: _call_function(program, inputs)


def function_program(function, context, attributes, wanted) -> Program:
    """Return the program of a function's body for its attributes and wanted results."""
    defaults = {a.name: proto.attributes_of(function_defaults(a))[a.name] for a in getattr(function, "attribute_proto", ())}
    versions = {**context.versions, **{"" if i.domain == "ai.onnx" else i.domain: i.version for i in function.opset_import}}
    inner = replace(context, versions=versions, call_attributes={**defaults, **attributes}, depth=context.depth + 1)
    outputs = [n if want else "" for n, want in zip(function.output, wanted)]
    return Program(function.name, list(function.input), outputs, function.node, {}, inner)


@dataclass(frozen=True)
class function_defaults:
    """An attribute of a function in the form of a node's attributes."""

    only: Any
    op_type: str = "function"

    @property
    def attribute(self):
        return (self.only,)


def _call_function(program, inputs):
    given = [*_plain(inputs), *[None] * (len(program.inputs) - len(inputs))]
    return program.run(given)


def _standard_function(node, version, context, call):
    """Return an operator that the standard defines by others, once for each combination of input types."""
    made: dict = {}
    attributes = proto.defaults_of(node.domain, node.op_type, version, call.attributes)

    def run(call, inputs, env):
        inputs = _plain(inputs)
        types = [None if x is None else (x.dtype, tuple(x.shape)) for x in inputs]
        key = tuple([None if t is None else (str(t[0]), t[1]) for t in types])
        if key not in made:
            made[key] = function_program(proto.function_of(node, version, types), context, attributes, call.wanted)
        return _call_function(made[key], inputs)

    return run


# Running a step.


def run_importer(importer: Importer, call: Call, inputs, env) -> tuple:
    """Return the results of one operator."""
    if importer.raw:
        return _tuple(importer.run(replace(call, scope=env) if call.graphs else call, *_plain(inputs)))
    known = [x for x in inputs if x is not None]
    if known and all(isinstance(x, (np.ndarray, OfSizes)) for x in known):
        sizes = OfSizes.behind(known)
        if sizes:
            found = None if any(type(x) is OfSizes for x in known) else computed(call, inputs)
            results = (found,) if found is not None else _tuple(importer.run(call, *_prepared(importer, inputs)))
            return tuple([OfSizes(x, sizes) if isinstance(x, Tensor) else x for x in results])
        with unrecorded():
            results = _tuple(importer.run(call, *_prepared(importer, inputs)))
            return tuple([np.array(x._a) if isinstance(x, Tensor) else x for x in results])
    return _tuple(importer.run(call, *_prepared(importer, inputs)))


def _prepared(importer, inputs):
    return [to_host(x) if i in importer.host else x if i in importer.either and type(x) is not OfSizes else to_tensor(x)
            for i, x in enumerate(inputs)]


def _plain(inputs) -> list:
    return [x.tensor if type(x) is OfSizes else x for x in inputs]


def _tuple(x) -> tuple:
    return x if type(x) is tuple else (x,)
