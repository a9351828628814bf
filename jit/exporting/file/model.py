"""A loaded model: the graphs, weights and compiled code of an `.ingot` file, as a callable."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from ....ir import target as targets
from ....ir.cached_property import cached_property
from ....ir.draw.tables import clipped, html_table
from ....ir.errors import DeviceError, FileError, IngotError, ShapeError
from ....ir.graph.graph import Graph, Value
from ....ir.graph.printer import format_line
from ....ir.lazy import lazy
from ....ir.locks import new_rlock
from ....ir.ops import load_all
from ....ir.ops.core.host_call import host_call
from ....ir.ops.core.shape import place
from ....ir.symbols.scope import LEAST
from ....ir.symbols.substitute import replaced, valuer
from ....runtime.api.views.tensor_factories import tensor
from ....runtime.autograd.grad_mode import no_grad, set_grad_enabled
from ....runtime.core.device import CPU, Device, require
from ....runtime.core.tensor import Tensor, wrap
from ....runtime.serialization import safetensors
from ....runtime.state.mode import tls
from ...errors.errors import ExportError
from ..capture import treespec
from ..capture.signature import HoldsWeights, Signature, holds
from . import archive
from .precompiled import Code

blocked = lazy(__package__, "....ir.ops.packed.blocked")
blocked_grad = lazy(__package__, "....ir.ops.packed.blocked_grad")
channels_last = lazy(__package__, "....ir.ops.packed.conv_channels_last")
recurrent_packed = lazy(__package__, "....ir.ops.packed.recurrent_packed")
specialize_shapes = lazy(__package__, "....passes.schedule.specialize_shapes")
compile_segment = lazy(__package__, "...replay.compile_segment")
symbolic_plan = lazy(__package__, ".symbolic_plan")
prepare = lazy(__package__, "..capture.prepare")
program = lazy(__package__, "....runtime.cpu.graph.program")
captured_graph = lazy(__package__, ".captured_graph")
shown = lazy(__package__, "...inspect.shown")
work = lazy(__package__, "...inspect.work")
text = lazy(__package__, "....ir.graph.text")
verify = lazy(__package__, "....ir.graph.verify")

_MOST_BOUND = 256        # kinds of sizes whose compiled graphs are kept

DEVICE_MODELS: dict[str, Any] = {}      # modules with the `DeviceModel` of other kinds of devices than the CPU


def open_model(reader: archive.Reader, objects: bool, where: Device) -> "Model":
    """Return the model of a file on a device."""
    with archive.guarded(reader.name, let_through=DeviceError):
        if where.type == "cpu":
            return Model(reader, objects)
        if require(where).type not in DEVICE_MODELS:
            raise DeviceError(f"models run on cpu and {', '.join(DEVICE_MODELS)}, not on {where}")
        return DEVICE_MODELS[where.type].DeviceModel(reader, objects, where)


class Model(HoldsWeights):
    """A loaded model.

    model(x)              results for tensors or arrays, in the structure of the exported function's result;
    model.signature       names, dtypes and sizes of inputs and outputs; also model.inputs, model.outputs;
    model.graph           the graph, as IR;
    model.weights         {name: tensor}, over the mapped file.
    model.state           Buffers that a call writes, if exported with stateful=True: weights of these names.
    model.kinds           {name of a weight: "parameter", "buffer" or "passing buffer" (in no state_dict)}, without constants.
    model.constants       {name: value in words} of the Python state that the export read, and the file fixes.
    model.targets         Kinds of machines that the file has ready kernels for.
    model.quantized       Quantised layers and errors of results relative to floats, of a quantised model; else None.
    """

    device = CPU

    def __init__(self, reader: archive.Reader, objects: bool = True):
        self._reader = reader
        manifest = reader.manifest
        self.path, self.version = reader.path, str(manifest.get("ingot"))
        self.signature = Signature.from_json(manifest["signature"])
        self.targets = tuple(manifest["targets"])
        self.quantized, self.constants = manifest.get("quantized"), manifest.get("constants", {})
        self.weights = self._read_weights(manifest["weights"], manifest.get("pairs", []))
        self.state = State(self.signature, self.weights)
        self.__signature__ = self.signature.of_python()
        self.kinds = _kinds(manifest.get("kinds", {}), self.weights)
        self._arrays = [t._a for t in self.weights.values()]
        self.code = self._code(objects)
        self.variants = [Variant.of(row, list(self.weights), set(self.signature.dims)) for row in manifest["graphs"]]
        self._dtypes = tuple([s.dtype.np for s in self.signature.inputs])
        self._bound: dict = {}
        # By name: what was made of weights, and is kept
        self._derived: dict = dict(self.code.packed) if self.code is not None else {}
        self._lock = new_rlock()
        for variant in self.variants if self.code is None else ():
            self.graph_of(variant)

    def named_weights(self) -> tuple:
        return self.weights, self.kinds

    # As modules are asked.

    def eval(self) -> "Model":
        """Return the model itself: it computes what was exported."""
        return self

    def train(self, mode: bool = True) -> "Model":
        """Return the model itself, for mode False; files hold no training mode."""
        if mode:
            raise ExportError(f"{self._reader.name} holds what a call computes, which has no training mode")
        return self

    def to(self, device) -> "Model":
        """Return the model on a device: itself if it is there, else another one from the same file."""
        where = Device(device)
        if where.type == self.device.type and where.index in (None, self.device.index):
            return self
        made = open_model(archive.Reader(self.path), True, where)
        self.state.copy_to(self, made)
        return made

    # Reading.

    def _read_weights(self, names, pairs):
        memory = self._reader.member("weights.safetensors")
        found = safetensors.read_memory(memory, f"{self._reader.name}: weights")
        if len(set(names)) != len(names) or set(found) != set(names) or not set(names).issuperset(pairs):
            raise FileError("the weights are not those that the manifest names")
        for name in pairs:          # complex numbers of twice 64 bits
            a = found[name]._a
            if a.dtype != np.float64 or a.shape[-1:] != (2,):
                raise FileError(f"the weight {name} is no pairs of float64")
            found[name] = wrap(a.view(np.complex128)[..., 0])
        return {name: found[name] for name in names}

    def _code(self, objects):
        return Code.of(self._reader, self.targets) if objects else None

    def graph_of(self, variant: "Variant") -> Graph:
        """Return the graph of a variant after the passes for all machines: its inputs are the model's, then weights."""
        with self._lock, archive.guarded(self._reader.name):
            if variant.graph is None:
                load_all()
                graph = text.parse(self._reader.text(variant.member))
                self.check_graph(graph, [self._arrays[i] for i in variant.weights], variant.fixed, variant.member)
                variant.graph = graph
            return variant.graph

    def check_graph(self, graph: Graph, weights: list, fixed: dict, member: str):
        """Raise unless a member's graph has the declared inputs and outputs where the sizes in `fixed` are fixed.

        Its inputs are the model's, then weights like these arrays.
        """
        count = len(self._dtypes)
        values = [*graph.inputs[:count], *graph.outputs]
        fits = self.signature.describes(values, fixed)
        takes = [(v.dtype.np, v.shape) for v in graph.inputs[count:]] == [(a.dtype, a.shape) for a in weights]
        refused = made_by_passes() | {host_call, place}
        for n in graph.nodes:
            if n.op in refused:
                raise FileError(f"{member} has the operator {n.op.name}, which belongs in no file")
        if not fits or not takes or graph.updates or not set(graph.names) <= set(self.signature.dims):
            raise FileError(f"{member} does not take and give what the manifest says")

    @property
    def graph(self) -> Graph:
        """The graph after the passes for all machines, with its named sizes as symbols."""
        return self.graph_of(self.variants[0])

    @cached_property
    def recorded(self) -> Any:
        """The recorded graph with the calls of modules, in files of `ingot.export`."""
        return captured_graph.RecordedGraph.of(self)

    @property
    def sizes(self) -> dict:
        return {name: self._reader.size(name) for name in self._reader.names()}

    @cached_property
    def source(self) -> dict:
        """The text of the user's lines, by "file:line"."""
        with archive.guarded(self._reader.name):
            return self._reader.json("source.json")

    # Calls.

    @property
    def inputs(self) -> tuple:
        return self.signature.users(self.signature.inputs)

    @property
    def outputs(self) -> tuple:
        return self.signature.users(self.signature.outputs)

    def __call__(self, *args, **kwargs):
        if self.state:
            return self.state.call(self, args, kwargs)
        if len(args) == self.signature.positional and not kwargs:
            given = list(args)
        else:
            given = self.signature.arrays_of(args, kwargs)
        arrays, of_tensors, tracked = [], False, False
        for x in given:
            if isinstance(x, Tensor):
                of_tensors = True
                tracked = tracked or x._node is not None
                arrays.append(x._a)
            else:
                arrays.append(x if type(x) is np.ndarray else self._array(x, args, kwargs))
        if self._needs_operators(tracked):
            return treespec.rebuild(self.signature.results, run_operators(self, given))
        results = self.run(arrays)
        if of_tensors or not arrays:
            results = [wrap(a) for a in results]
        return treespec.rebuild(self.signature.results, results)

    def _needs_operators(self, tracked) -> bool:
        """Return whether operators must run one by one: under a recorder, vmap or gradients."""
        m = tls.m
        return m.recorder is not None or m.batched is not None or (tracked and m.grad and not self.quantized)

    def arguments_of(self, tensors):
        """Return tensors in the order of `inputs` as arguments: a tuple, or a dict if the model was exported by name."""
        args, kwargs = treespec.rebuild(self.signature.arguments, list(tensors))
        return args if not kwargs else {**dict(zip(self.signature.parameters, args)), **kwargs}

    def call_with(self, tensors):
        """Call the model with tensors or arrays in the order of `inputs`, whatever the structure of the arguments."""
        args, kwargs = treespec.rebuild(self.signature.arguments, list(tensors))
        return self(*args, **kwargs)

    def results(self, arguments) -> list:
        """Return the results as tensors, for tensors or arrays in order."""
        if self._needs_operators(any(isinstance(x, Tensor) and x._node is not None for x in arguments)):
            return run_operators(self, arguments)
        return [wrap(a) for a in self.run([x._a if isinstance(x, Tensor) else np.asarray(x) for x in arguments])]

    def _array(self, x, args, kwargs):
        if not isinstance(x, (np.ndarray, np.generic)):
            self.signature.arrays_of(args, kwargs)      # says what is wrong
        return np.asarray(x)

    def run(self, arrays) -> list:
        key = tuple([a.shape for a in arrays])
        bound = self._bound.get(key)
        if bound is None or tuple([a.dtype for a in arrays]) != self._dtypes:
            bound = self._bind(key, arrays)
        return bound.run([*arrays, *bound.rest]) if bound.is_native else tls.m.quietly(bound.run, [*arrays, *bound.rest])

    def _bind(self, key, arrays):
        """Return the compiled graph for arrays of these shapes; raise if the model does not take them."""
        sizes = self.signature.check(arrays)
        self.variant_for(sizes)
        with self._lock:
            found = self._bound.get(key)
            if found is None:
                if len(self._bound) >= _MOST_BOUND:
                    del self._bound[next(iter(self._bound))]
                found = self._bound[key] = self._ready(key, sizes) or self._planned(sizes)
        return found

    def _ready(self, shapes, sizes):
        """Return the file's precompiled graph for these shapes and this machine, or None."""
        with archive.guarded(self._reader.name):
            found = self.code.ready(shapes) if self.code is not None else None
        if found is None:
            return None
        weights = [self._arrays[i] for i in found.weights]
        rest = [*weights, *self._derived_weights(found.names, found.sources, found.derive)]
        spare: list = []        # the planned graph, for when a step finds data that it cannot compute with

        def instead(arrays):
            if not spare:
                spare.append(self._planned(sizes))
            return spare[0].run([*arrays[:len(self._dtypes)], *spare[0].rest])

        return Bound(found.callable([*self._dtypes, *[a.dtype for a in rest]], instead), rest)

    def variant_for(self, sizes: dict) -> "Variant":
        """Return the recording for named sizes; raise if there is none."""
        small = {name: n for name, n in sizes.items() if n < LEAST}
        variant = next((v for v in self.variants if v.fixed == small), None)
        if variant is None:
            text = " and ".join(f"{name} = {n}" for name, n in small.items())
            raise ShapeError(f"the exported model does not run with {text}: its function did not when it was exported, or that "
                             "many small sizes were not tried together (export it for them, without dynamic=)")
        for condition, line in variant.conditions.items():
            if not holds(condition, sizes):
                text = ", ".join(f"{name} = {n}" for name, n in sizes.items())
                where = f" at {line}" if line else ""
                raise ShapeError(f"the exported model does not hold for {text}: its code{where} asks for {condition}")
        return variant

    def graph_for(self, sizes: dict) -> Graph:
        """Return the graph for named sizes, as symbols; raise FileError unless it holds for them, as it does for its own."""
        graph = self.graph_of(self.variant_for(sizes))
        with archive.guarded(self._reader.name):
            verify.verify_at(graph, sizes)
        return graph

    def planned(self, sizes: dict):
        """Return (the compiled graph for this machine and sizes, its parts)."""
        variant = self.variant_for(sizes)
        graph = self.graph_for(sizes)
        if graph.symbols:
            graph = specialize_shapes.bind_graph(graph, {name: sizes[name] for name in graph.names})
        parts = prepare.prepared(graph, len(self._dtypes), variant.weights)
        compiled = program.CompiledGraph(parts.main, program.kernel_of, frozenset(range(len(graph.outputs))))
        return compiled, parts

    def needs_python(self, sizes) -> ExportError:
        """Return the error for a graph that needs Python, with the names of the operators that need it."""
        compiled, _ = self.planned(sizes)
        called = [s.node for s in compiled.steps if type(s) is program.CalledNode and not s.node.op.is_view]
        found = dict.fromkeys(f"{n.op.name}{f' ({format_line(n.line)})' if n.line else ''}" for n in called)
        return ExportError("these operators have no native code that runs without Python: "
                           f"{', '.join(found) or 'views of results'}")

    def _planned(self, sizes):
        """Return the graph compiled for sizes that the file has nothing ready for."""
        try:
            found = self._planned_again(sizes)
            if found is not None:
                return found
            compiled, parts = self.planned(sizes)
            rest = self.weights_of(parts)
        except DeviceError as e:
            raise DeviceError(f"{self._reader.name}: {e}{self._hint()}") from e
        except (IngotError, OSError, MemoryError):
            raise
        except Exception as e:          # parameters that no recording writes
            raise FileError(f"{self._reader.name}: its graph cannot be planned; it is damaged ({type(e).__name__}: {e})") from e
        return Bound(compiled, rest)

    def _planned_again(self, sizes):
        """Return the graph compiled by a plan for any sizes, from the second sizes on.

        None if its passes must know the sizes, or if kernels for any size are not ready and cannot be made here.
        """
        variant = self.variant_for(sizes)
        variant.planned += 1
        if variant.planned == 1 or not variant.is_sized:
            return None
        try:
            found = self.planned_for_more(sizes)
            return None if found is None else Bound(found.compiled, found.arrays(self.weights_of))
        except DeviceError:
            variant.is_sized = False
            return None

    def planned_for_more(self, sizes: dict) -> Any:
        """Return the graph compiled for these sizes by a plan that serves others too, or None."""
        variant = self.variant_for(sizes)
        graph = self.graph_for(sizes)
        if not graph.symbols:
            return None
        if variant.sized_plans is None:
            variant.sized_plans = symbolic_plan.SizedPlans(graph, len(self._dtypes), variant.weights)
        return variant.sized_plans.planned(sizes)

    def weights_of(self, parts) -> list:
        """Return the arrays that the main part of a graph takes after the arguments."""
        derive = lambda arrays: program.CompiledGraph(parts.derived, program.kernel_of).run(arrays)
        return [*[self._arrays[i] for i in parts.weights], *self._derived_weights(parts.names, parts.sources, derive)]

    @property
    def derived_weights(self) -> dict:
        """Values derived from the weights for this machine, by name."""
        return dict(self._derived)

    def _derived_weights(self, names, sources, derive) -> list:
        """Return derived values by name, from the cache or computed all together."""
        if not all(name in self._derived for name in names):
            for name, a in zip(names, tls.m.quietly(derive, [self._arrays[i] for i in sources])):
                self._derived.setdefault(name, a)
        return [self._derived[name] for name in names]

    def _hint(self):
        if self.code is not None:
            return "; what is ready in the file does not cover these sizes"
        return (f"; it has ready kernels for {', '.join(self.targets) or 'no machine'}, this one is {targets.host()}"
                " (INGOT_CPU_LEVEL chooses a lower level)")

    def __repr__(self):
        return f"<ingot model {clipped(self._reader.name, 40)}: {clipped(str(self.signature), 80)}>"

    def _repr_html_(self) -> str:
        """Return the tensors that go in and come out, and the weights, as a table."""
        rows = [("input", s.name, f"{s.dtype.short}[{', '.join(map(str, s.shape))}]") for s in self.inputs]
        rows += [("output", s.name, f"{s.dtype.short}[{', '.join(map(str, s.shape))}]") for s in self.outputs]
        rows += [("weight", name, f"{t.dtype.short}{list(t.shape)}") for name, t in self.weights.items()]
        title = f"ingot model {self._reader.name}, ready for {', '.join(self.targets) or 'no machine'}"
        return html_table(("", "name", "type"), rows, (0, 1, 2), title, "model.weights")

    def explain(self, sizes: dict | None = None) -> str:
        """Describe what runs on this machine at named sizes: kernels, products and calls, with their amounts of work."""
        sizes = {name: sizes.get(name, LEAST) if sizes else LEAST for name in self.signature.dims}
        compiled, _ = self.planned(sizes)
        rows = work.works_of(compiled.plan)
        width = max([len(w.name) for w in rows], default=0)
        return shown.Explanation("\n".join([f"{w.kind:<8} {w.name:<{width}}  {w.over}  {w.ops}  {w.flops:,} flops  "
                                            f"{w.bytes_moved:,} bytes" for w in rows]))

    def close(self):
        """Drop compiled graphs; the mapped file goes when nothing uses its weights."""
        self._bound.clear()
        self._derived.clear()


def made_by_passes() -> frozenset:
    """Return the operators that passes alone make, for one machine: files hold none of them."""
    return frozenset().union(*[file.OPERATORS for file in (blocked, blocked_grad, channels_last, recurrent_packed)])


def _kinds(kinds, weights) -> dict:
    """Return the manifest's kinds of weights, checked."""
    if not set(kinds) <= set(weights) or not set(kinds.values()) <= {"parameter", "buffer", "passing buffer"}:
        raise FileError("the kinds of weights are damaged")
    return dict(kinds)


@dataclass
class Variant:
    """A graph in a file: its sizes in `fixed`, and its conditions {text: the user's line}."""

    member: str
    fixed: dict
    conditions: dict
    weights: tuple                   # numbers of the model's weights that it takes
    graph: Graph | None = None
    planned: int = 0                 # number of plans made
    sized_plans: Any = None          # plans that serve several sizes (`symbolic_plan.py`)
    is_sized: bool = True            # whether such plans can be made

    @classmethod
    def of(cls, row: dict, weights: list, dims: set) -> "Variant":
        conditions = {text: str(line) for text, line in row["conditions"]}
        small = all(type(n) is int and n in (0, 1) for n in row["fixed"].values())
        if not set(row["fixed"]) <= dims or not small or type(row["member"]) is not str:
            raise FileError("the manifest's graphs are damaged")
        for condition in conditions:
            holds(condition, dict.fromkeys(dims, LEAST))
        return cls(row["member"], dict(row["fixed"]), conditions, tuple([weights.index(name) for name in row["weights"]]))


class Bound:
    """A compiled graph for some shapes, and its arrays after the arguments. The number of threads may change."""

    __slots__ = ("compiled", "rest")

    def __init__(self, compiled, rest: list):
        self.compiled, self.rest = compiled, rest

    @property
    def is_native(self) -> bool:
        """Whether it calls no NumPy."""
        return self.compiled.is_native

    @property
    def run(self):
        return self.compiled.run


class State:
    """Buffers of a model. Their values are its weights of these names, in writable memory.

    Calls of one model run one after the other, so each sees the writes of the one before.
    """

    def __init__(self, signature, weights: dict):
        self.names, self.lock = signature.state, new_rlock()
        self._specs = signature.inputs[len(signature.inputs) - len(self.names):]
        for name, spec in zip(self.names, self._specs):
            t = weights.get(name)
            if t is None or t.dtype is not spec.dtype or tuple(t.shape) != spec.shape:
                raise FileError(f"the buffer {name} is not what the signature says")
            weights[name] = t.clone()

    def __bool__(self):
        return bool(self.names)

    def __repr__(self):
        return f"<state: {', '.join(self.names) or 'none'}>"

    def copy_to(self, model, other):
        """Copy the buffers of a model to another one of the same file."""
        with self.lock, no_grad():
            for name in self.names:
                other.weights[name].copy_(model.weights[name])

    def call(self, model, args, kwargs):
        """Call the model, write its buffers, and return the result."""
        given = model.signature.arrays_of(args, kwargs)
        buffers = [model.weights[name] for name in self.names]
        with self.lock:
            results = model.results([*given, *buffers])
            with no_grad():
                for t, new in zip(buffers, results[-len(buffers):]):
                    t.copy_(new)
        results = results[:-len(buffers)]
        if given and not any(isinstance(x, Tensor) for x in given):
            results = [t.cpu().numpy() for t in results]
        return treespec.rebuild(model.signature.results, results)


def run_operators(model, arguments) -> list:
    """Run a loaded model operator by operator; return the results as tensors.

    Recorders, vmap and gradients need this, because compiled code would be opaque to them. A quantised model has no gradients.
    """
    tensors = [x if isinstance(x, Tensor) else tensor(x, device=model.device) for x in arguments]
    sizes = model.signature.check([SimpleNamespace(dtype=t._a.dtype, shape=tuple(t.shape)) for t in tensors])
    variant = model.variant_for(sizes)
    graph, weights = model.graph_of(variant), list(model.weights.values())
    values = dict(zip(graph.inputs, [*tensors, *[weights[i] for i in variant.weights]]))
    number = valuer(graph.names, [sizes[name] for name in graph.names])
    before, tls.m.autocast = tls.m.autocast, None
    try:
        with set_grad_enabled(tls.m.grad and not model.quantized):
            for node in graph.nodes:
                params = {name: replaced(x, number) for name, x in node.params.items()}
                results = node.op.call(*[values[x] if type(x) is Value else replaced(x, number) for x in node.inputs], **params)
                values.update(zip(node.outputs, results if node.multi else (results,)))
    finally:
        tls.m.autocast = before
    return [values[v] for v in graph.outputs]
