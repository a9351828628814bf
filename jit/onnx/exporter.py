"""`to_onnx`: write a function or a module as an ONNX model.

The function is recorded once, with its dynamic dims as symbols. The table of writers translates the operators. Then the model
is read back (by `from_onnx`) and compared with eager, also at other sizes and at those that break conditions of the recording.
A model whose results differ is an error, not a file.
"""

from dataclasses import dataclass
from pathlib import Path

from ...ir import dtype as dt
from ...ir.blocks import Block, block
from ...ir.error_texts.call_errors import explained
from ...ir.errors import ArgumentError
from ...ir.graph.graph import Graph
from ...ir.symbols.scope import Scope
from ...ir.symbols.symbolic import SymInt
from ...ir.version import VERSION
from ...runtime.nn.base.module import Module
from ...runtime.state.mode import tls
from ..errors.errors import ExportError
from ..errors.parameters import unique
from ..exporting.capture import treespec
from ..exporting.capture.buffer_mutations import NO_STATE
from ..exporting.capture.capture import capture, state_of
from ..exporting.capture.example_inputs import arguments_of, result_names
from ..exporting.capture.size_variants import refuse_fixed
from ..tracing.record_graph import for_elsewhere
from ..tracing.trace import Traced
from .dynamic_axes import Free, free_dims
from .format import proto
from .lower_complex import in_parts
from .model import OnnxModel
from .verify import Trials, compare
from .writers.cond import Branches
from .writers.graph_writer import EMITTERS, Claims, Writer
from .writers.recorded_ops import Recorded, Ref, expanded, recorded, resized
from .writers.size_formulas import Sizes

FIRST, DEFAULT, LAST = 17, 18, 22   # versions of the operator set that are written


@explained
def to_onnx(fn, example_inputs, path=None, *, opset: int = DEFAULT, dynamic=None, input_names=None, output_names=None,
            external_data: bool | None = None, verify: bool = True, training: bool | None = False,
            weights_as_inputs: bool = False, stateful: bool = False) -> bytes | None:
    """Write what `fn` computes to `path`, an ONNX model. Without a path its bytes are returned; an open file is written to.

    fn              a function or module
    example_inputs  a tensor or array, a tuple of positional arguments, or a dict of keyword arguments
    opset           the operator set version, 17 to 22
    dynamic         sizes that may change, {"x": {0: "batch"}}; dims of one name always have one size
    external_data   weights in a file beside the model; None does so for models that a single file cannot hold
    training        the mode in which modules are exported; None leaves each in its own. Draws and writes are refused
    weights_as_inputs   list weights among the inputs as well, so that users of the model may replace them
    verify          compare the model with the function, at three more sizes of each dynamic dim and where conditions break
    stateful        let the function write to buffers of modules: each is an optional input of its name after the arguments,
                    which defaults to its value at the export; its next value is an output after the results, `name.next`;
                    without it such a function is refused
    """
    if not callable(fn):
        raise ArgumentError(f"to_onnx takes a function or a module, got {type(fn).__name__}")
    if not FIRST <= opset <= LAST:
        raise ArgumentError(f"to_onnx writes the operator set versions {FIRST} to {LAST}, got {opset}")
    subject = Subject(fn, example_inputs, input_names, output_names, stateful)
    free = free_dims(dynamic, subject.input_names, [t.shape for t in subject.tensors], subject.owners)
    with for_elsewhere(), subject.in_mode(training):
        trials = Trials(subject, free)
        tried = free.tried(trials.run)
        recording = subject.record(free, Claims(opset))
        if subject.state_names:         # what runs of it give shows from now on what it writes
            trials = Trials(subject, free)
        model, arrays = written(recording.program(tried), subject, free, opset, recording.calls)
        for name, value in recording.constants.items():
            model.metadata_props.add(key=name, value=value)
        if weights_as_inputs:
            model.graph.input.extend([proto.make_value(n, dt.from_numpy(a.dtype), a.shape) for n, a in arrays.items()
                                      if n not in subject.state_names])
        checks = trials.checks([*tried, *free.fresh(tried)], recording.conditions) if verify else []
    total = sum(a.nbytes for a in arrays.values())
    is_external = bool(external_data) or (external_data is None and total + (1 << 20) >= proto.LARGE)
    return _delivered(model, arrays, path, is_external, checks)


def _delivered(model, arrays, path, is_external, checks):
    """Return or write the model, after it agrees with the function."""
    if is_external:
        if path is None or hasattr(path, "write"):
            raise ArgumentError("a model with its weights in a file beside it needs a path")
        files = proto.write_model(model, path, arrays)
        try:
            compare(checks, path)
        except ExportError:
            for file in files:
                file.unlink()
            raise
        return None
    data = proto.model_bytes(model, arrays)
    compare(checks, data)
    if path is None:
        return data
    if hasattr(path, "write"):
        path.write(data)
    else:
        Path(path).write_bytes(data)
    return None


class Subject:
    """A function to export, with an example of its arguments, and names."""

    def __init__(self, fn, example_inputs, input_names, output_names, stateful):
        self.fn = fn.fn if isinstance(fn, Traced) else fn
        self.state = state_of(self.fn) if stateful else NO_STATE
        self.state_names: tuple = ()        # of the buffers that it writes
        self.structure, self.tensors, names, self.owners, _ = arguments_of(self.fn, example_inputs)
        if isinstance(self.fn, OnnxModel):
            input_names, output_names = input_names or self.fn.input_names, output_names or self.fn.output_names
        self.input_names = _renamed(names, input_names, "input")
        self.requested_outputs = output_names
        self.output_names: list = []

    def in_mode(self, training: bool | None) -> Block:
        """Return a block with modules in training or evaluation mode (None: their own), and gradients off."""
        return _in_mode(self.fn, training)

    def at(self, sizes: dict, free: Free) -> list:
        """Return the example's tensors with their dynamic dims at other sizes."""
        return [resized(t, {axis: x.of(sizes[x.name]) for axis, x in dims.items()})
                for t, dims in zip(self.tensors, free.by_input)]

    def record(self, free: Free, claims) -> "Recording":
        tensors = self.at(free.base, free)
        args, kwargs = treespec.rebuild(self.structure, tensors)
        symbols = free.symbols(tensors)
        with self.state.restored():
            found = capture(self.fn, args, kwargs, tensors, symbols, self.state, names=self.input_names)
        if found.state and found.state != self.state_names:      # nothing may be decided by what these hold
            self.state_names = found.state
            self.state.expect(found.state)
            return self.record(free, claims)
        if len(self._tensors_of(found.result)) != len(found.graph.outputs) - len(found.state) or not found.graph.outputs:
            raise ExportError("the function gives no tensors, or arrays, or tensors inside of other objects; return tensors in "
                              "lists, tuples and dicts")
        refuse_fixed(symbols)
        graph, weights = in_parts(expanded(found.graph, claims), found.weights)
        return Recording(expanded(graph, claims), weights, len(tensors) + len(found.state),
                         None if symbols is None else symbols.scope, found.modules.calls, found.constants)

    def _tensors_of(self, result) -> list:
        tensors: list = []
        names: list = []
        treespec.describe(result, tensors, names)
        taken = [*self.input_names, *self.state_names]
        names = unique([*taken, *result_names(names)])[len(taken):]       # one name space
        self.output_names = _renamed(names, self.requested_outputs, "output")
        return [treespec.as_tensor(t) for t in tensors]

    def results(self, tensors) -> list:
        """Return the function's results for tensors, and next values of written buffers, as arrays."""
        args, kwargs = treespec.rebuild(self.structure, tensors)
        with self.state.restored():
            found = [t.detach()._a for t in self._tensors_of(self.fn(*args, **kwargs))]
            return [*found, *[t.detach()._a.copy() for t in self.state.now(self.state_names)]]


@dataclass
class Recording:
    """A recorded function: its graph (`count` arguments, then the weights by name), scope, module calls, and constants of
    Python."""

    graph: Graph
    weights: dict
    count: int
    scope: Scope | None
    calls: dict
    constants: dict

    @property
    def conditions(self) -> dict:
        return {} if self.scope is None else self.scope.conditions

    def program(self, tried) -> Recorded:
        """Return the operators to write, for the sizes at which the function was tried."""
        sizes = None if self.scope is None else Sizes(self.scope, [tuple(point.values()) for point in tried])
        return recorded(self.graph, self.weights, self.count, sizes)


def _renamed(names, new_names, what) -> list:
    if new_names is None:
        return names
    new_names = list(new_names)
    if len(new_names) > len(names) or len(set(new_names)) != len(new_names):
        raise ArgumentError(f"{what}_names has {new_names} for the {len(names)} {what}s {names}")
    return unique([*new_names, *names[len(new_names):]])


# Writing.


def written(program: Recorded, subject: Subject, free: Free, opset: int, calls: dict) -> tuple:
    """Return (the model without its weights, its weights by name); `calls` are the module calls by name."""
    w = Writer(opset)
    w.calls = calls
    input_names = [*subject.input_names, *subject.state_names]
    output_names = unique([*input_names, *subject.output_names, *[f"{n}.next" for n in subject.state_names]])[len(input_names):]
    for ref, name in zip(program.arguments, input_names):
        w.bind(ref, w.fresh(name))
    w.reserve(output_names)
    for ref, name, array in program.captured:
        w.names[ref] = w.fresh(name)
        w.constants[w.names[ref]] = array
    _note_uses(w, program)
    w.branches = Branches(program)
    for item in program.items:
        if item.op in EMITTERS and EMITTERS[item.op].lazy is not None:
            w.waiting.update(dict.fromkeys(item.outputs, item))
        elif not w.branches.homes[item]:
            w.write(item)
    for ref, name in zip(program.outputs, output_names):
        w.item = None
        w.require(ref.dtype, f"result {name}")
        w.put("Identity", [w.name(ref)], [name], {})
    inputs = [proto.make_value(name, ref.dtype, _sizes(ref, free, name))
              for name, ref in zip(input_names, program.arguments)]
    outputs = [proto.make_value(name, ref.dtype, _sizes(ref, free, name))
               for name, ref in zip(output_names, program.outputs)]
    graph = proto.make_graph(type(subject.fn).__name__ if isinstance(subject.fn, Module) else
                             getattr(subject.fn, "__name__", "graph"), w.nodes, inputs, outputs)
    used = proto.names_read(graph)
    weights = {n: a for n, a in w.constants.items() if n in used}
    before = [t._a for t in subject.state.tensors(subject.state_names)]
    return proto.make_model(graph, opset, VERSION), {**dict(zip(subject.state_names, before)), **weights}


def _note_uses(w, program):
    for item in program.items:
        w.made_by.update(dict.fromkeys(item.outputs, item))
        for x in [x for x in item.inputs if type(x) is Ref]:
            w.used_by.setdefault(x, []).append(item)
    for ref in program.outputs:
        w.used_by.setdefault(ref, []).append(None)


def _sizes(ref, free, name) -> list:
    """Return a value's sizes in the model: numbers, names of dynamic dims, and own names for derived sizes."""
    known = {name: symbol for symbol, name in free.names.items()}
    return [n if type(n) is not SymInt else known.get(n.text, f"{name}_{i}") for i, n in enumerate(ref.shape)]


@block
def _in_mode(fn, training):
    modules, mode = list(fn.modules()) if isinstance(fn, Module) else [], tls.m
    before, grad = [m.training for m in modules], mode.grad

    def begin():
        mode.grad = False
        if modules and training is not None:
            fn.train(training)

    def put_back():
        mode.grad = grad
        for m, was in zip(modules, before):
            m.training = was

    return begin, put_back
