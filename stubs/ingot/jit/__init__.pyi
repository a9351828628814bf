"""`@jit.trace`: records a run, guards what it read, replays it as compiled code. `export` and `load` put such code in
files."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
import numpy as _np
from ingot import IngotError as _IngotError
from ingot import ScriptModule as ScriptModule
from ingot import ScriptModule as _ScriptModule
from ingot import _Aval as _Aval
from ingot import device as _device
from ingot import dtype as _dtype
from ingot.jit import annotations as annotations
from ingot.onnx import OnnxModel as _OnnxModel

import contextlib as _contextlib
from ingot.nn import Module as _Module
_P = _t.ParamSpec("_P")
_Q = _t.ParamSpec("_Q")
_R = _t.TypeVar("_R", covariant=True)
_T = _t.TypeVar("_T")
_Compiled = _t.TypeVar("_Compiled", bound=_c.Callable[..., _t.Any])
_Whole = _t.TypeVar("_Whole", bound=_Module | _b.type[_t.Any])
class _Compiler(_t.Protocol):
    def __call__(self, model: _Compiled, /) -> _Compiled: ...
class _Tracer(_t.Protocol):
    @_t.overload
    def __call__(self, func: _Whole, /) -> _Whole: ...  # type: ignore[overload-overlap]
    @_t.overload
    def __call__(self, func: _c.Callable[_P, _R], /) -> Traced[_P, _R]: ...
_Dynamic: _t.TypeAlias = _b.bool | _c.Mapping[_t.Any, _t.Any] | None

def Final(*args: _t.Any, **kwds: _t.Any) -> _t.Any:
    """Special typing construct to indicate final names to type checkers."""
def Attribute(value: _t.Any, type: _t.Any) -> _t.Any:
    """Return the value. `type` is ignored: traces see the value itself."""

class Calibration:
    """Settings of static quantisation."""
    inputs: _c.Iterable[_t.Any]
    keep: _b.tuple[_t.Any, ...]
    method: _b.str
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    def __hash__(self) -> _b.int: ...
    def __init__(self, inputs: _c.Iterable[_t.Any], method: _b.str = 'minmax', keep: _b.tuple[_t.Any, ...] = ()) -> None: ...

class ExportError(_IngotError, _b.RuntimeError):
    """Error of a function that cannot be exported, or of an export whose results differ from eager ones."""
    def __init__(self, *args: _t.Any) -> None: ...

class Future:
    """The result of `fork`."""
    def __init__(self, result: _t.Any) -> None: ...
    def done(self) -> _b.bool:
        """Return True: the function has run."""
    def then(self, callback: _t.Any) -> Future: ...
    def value(self) -> _t.Any: ...
    def wait(self) -> _t.Any: ...

class Model:
    """A loaded model."""
    code: _t.Any
    constants: _t.Any
    kinds: _b.dict[_t.Any, _t.Any]
    path: _t.Any
    quantized: _t.Any
    signature: _t.Any
    state: _t.Any
    targets: _b.tuple[_t.Any, ...]
    variants: _b.list[_t.Any]
    version: _b.str
    weights: _t.Any
    def __call__(self, *args: _t.Any, **kwargs: _t.Any) -> _t.Any: ...
    def __init__(self, reader: _Reader, objects: _b.bool = True) -> None: ...
    def arguments_of(self, tensors: _t.Any) -> _t.Any:
        """Return tensors in the order of `inputs` as arguments: a tuple, or a dict if the model was exported by name."""
    def call_with(self, tensors: _t.Any) -> _t.Any:
        """Call the model with tensors or arrays in the order of `inputs`, whatever the structure of the arguments."""
    def check_graph(self, graph: _Graph, weights: _b.list[_t.Any], fixed: _b.dict[_t.Any, _t.Any], member: _b.str) -> None:
        """Raise unless a member's graph has the declared inputs and outputs where the sizes in `fixed` are fixed."""
    def close(self) -> None:
        """Drop compiled graphs; the mapped file goes when nothing uses its weights."""
    @_b.property
    def derived_weights(self) -> _b.dict[_t.Any, _t.Any]:
        """Values derived from the weights for this machine, by name."""
    device: _device
    def eval(self) -> Model:
        """Return the model itself: it computes what was exported."""
    def explain(self, sizes: _b.dict[_t.Any, _t.Any] | None = None) -> _b.str:
        """Describe what runs on this machine at named sizes: kernels, products and calls, with their amounts of work."""
    @_b.property
    def graph(self) -> _Graph:
        """The graph after the passes for all machines, with its named sizes as symbols."""
    def graph_for(self, sizes: _b.dict[_t.Any, _t.Any]) -> _Graph:
        """Return the graph for named sizes, as symbols; raise FileError unless it holds for them, as it does for its own."""
    def graph_of(self, variant: _Variant) -> _Graph:
        """Return the graph of a variant after the passes for all machines: its inputs are the model's, then weights."""
    @_b.property
    def inputs(self) -> _b.tuple[_t.Any, ...]: ...
    def named_weights(self) -> _b.tuple[_t.Any, ...]: ...
    def needs_python(self, sizes: _t.Any) -> ExportError:
        """Return the error for a graph that needs Python, with the names of the operators that need it."""
    @_b.property
    def outputs(self) -> _b.tuple[_t.Any, ...]: ...
    def planned(self, sizes: _b.dict[_t.Any, _t.Any]) -> _b.tuple[_t.Any, ...]:
        """Return (the compiled graph for this machine and sizes, its parts)."""
    def planned_for_more(self, sizes: _b.dict[_t.Any, _t.Any]) -> _t.Any:
        """Return the graph compiled for these sizes by a plan that serves others too, or None."""
    @_b.property
    def recorded(self) -> _t.Any:
        """The recorded graph with the calls of modules, in files of `ingot.export`."""
    @recorded.setter
    def recorded(self, value: _t.Any) -> None: ...
    def results(self, arguments: _t.Any) -> _b.list[_t.Any]:
        """Return the results as tensors, for tensors or arrays in order."""
    def run(self, arrays: _t.Any) -> _b.list[_t.Any]: ...
    @_b.property
    def sizes(self) -> _b.dict[_t.Any, _t.Any]: ...
    @_b.property
    def source(self) -> _b.dict[_t.Any, _t.Any]:
        """The text of the user's lines, by "file:line"."""
    @source.setter
    def source(self, value: _t.Any) -> None: ...
    def to(self, device: _device | _b.str | _b.int) -> Model:
        """Return the model on a device: itself if it is there, else another one from the same file."""
    def train(self, mode: _b.bool = True) -> Model:
        """Return the model itself, for mode False; files hold no training mode."""
    def variant_for(self, sizes: _b.dict[_t.Any, _t.Any]) -> _Variant:
        """Return the recording for named sizes; raise if there is none."""
    def weights_of(self, parts: _t.Any) -> _b.list[_t.Any]:
        """Return the arrays that the main part of a graph takes after the arguments."""

class NotFiniteError(_IngotError, _b.ArithmeticError):
    """Error of an operation that made nan or infinity out of finite operands, under `jit.debug(nan=True)`."""

class Profile:
    """Compiled code that ran while it was open: `rows` in the order of the programs, `events` (job, work, began, took,
    thread) in nanoseconds."""
    events: _t.Any
    def __init__(self) -> None: ...
    def add(self, job: _t.Any, compiled: _t.Any, moments: _t.Any) -> None: ...
    def headline(self) -> _b.str: ...
    def html(self) -> _b.str:
        """Return the page."""
    @_b.property
    def jobs(self) -> _b.list[_t.Any]: ...
    def nothing(self) -> _b.str:
        """Say what a profile without rows may lack."""
    @_b.property
    def rows(self) -> _b.list[_t.Any]:
        """A Row for each step of each compiled graph that ran."""
    def run(self, job: _t.Any, compiled: _t.Any, arrays: _t.Any) -> _b.list[_t.Any]:
        """Run a job's compiled graph with times, for every open profile."""
    def save(self, path: _t.Any) -> None:
        """Write a page (.html), a drawing of the graphs as they run (.svg) or the timeline (.json)."""
    def svg(self) -> _b.str:
        """Return the drawing of all graphs as they run, with their kernels in colours."""
    def trace(self) -> _b.dict[_t.Any, _t.Any]:
        """Return the timeline for Chrome and Perfetto."""

RecursiveScriptModule = _ScriptModule

class ScriptFunction:
    """The class of compiled functions; nothing is an instance, since `script` returns functions unchanged."""

class TraceError(_IngotError, _b.RuntimeError):
    """Error of a function that does what a trace could not repeat faithfully. User code that catches it changes nothing:
    the recording that runs is told of each."""
    args: _b.tuple[_t.Any, ...]
    position: _Position | None
    def __init__(self, *args: _t.Any) -> None: ...
    def locate(self, position: _Position | None) -> None:
        """Add the user's line to the message, unless it has one."""

class Traced(_t.Generic[_P, _R]):
    """A function that replays what is recorded of it, and records what is new. A call tries the quick call of the last one,
    then the entries of its key, then the symbolic entries of its family."""
    def forget(self) -> None:
        """Drop all recordings and what they showed; the next call records again."""
    @_b.property
    def maker(self) -> _t.Any:
        """Makes a traced function with the options of this one."""
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    @_t.overload
    def __get__(self, instance: None, owner: _t.Any = None) -> _t.Self: ...
    @_t.overload
    def __get__(self: Traced[_t.Concatenate[_T, _Q], _R], instance: _T, owner: _t.Any = None) -> Traced[_Q, _R]: ...
    def __init__(self, fn: _c.Callable[_P, _R], dynamic: _t.Any = None, fullgraph: _b.bool = False, run: _t.Any = None,
                 refuse: _b.bool = True) -> None: ...
    __name__: _b.str
    __qualname__: _b.str
    __wrapped__: _c.Callable[_P, _R]
    example_inputs: _t.Any
    def explain(self, profile: _b.bool = False) -> _b.str:
        """Describe what runs: reasons for several recordings, what was fused or not and why, and the work of each kernel. With `profile` the text has the time of each kernel, on random values (`jit.profile` measures real calls)."""
    fn: _c.Callable[_P, _R]
    @_b.property
    def graphs(self) -> _b.dict[_b.str, _t.Any]:
        """For each recorded segment, the graph as recorded and after each pass that changed it."""
    @_b.property
    def kernels(self) -> _b.dict[_b.str, _t.Any]:
        """The generated kernels by name: what each computes, and its code."""
    offers: _b.tuple[_b.str, ...]
    run: _c.Callable[_P, _R]
    def save(self, f: _t.Any, _extra_files: _t.Any = None) -> None: ...
    def stats(self) -> _b.dict[_b.str, _t.Any]:
        """Return counts of calls and compiles, the reason of each recording, and what the compiled paths consist of."""

class TracerWarning(_b.RuntimeWarning):
    """Warning that a traced function runs eagerly, always or often. The message says why."""
    @_b.staticmethod
    def ignore_lib_warnings() -> None:
        """Do nothing: ingot's own modules cause no such warnings."""

class TracingCheckError(TraceError):
    """Error of PyTorch for a trace whose results are wrong. ingot never raises it: its traces are guarded."""

def annotate(the_type: _t.Any, the_value: _t.Any) -> _t.Any:
    """Return the value. `the_type` is ignored: traces see the value itself."""

class debug:
    """Checks of operators: for a `with` block, or until `debug(nan=False)`."""
    def __enter__(self) -> _t.Self: ...
    def __exit__(self, *exc: _t.Any) -> None: ...
    def __init__(self, nan: _b.bool = True) -> None: ...

def enable_onednn_fusion(enabled: _b.bool) -> None:
    """Store the switch, which has no effect."""
def export(fn: _t.Any, example_inputs: _t.Any = None, path: _t.Any = None, *, dynamic: _t.Any = None,
           freeze: _b.bool = True, targets: _t.Any = ..., packed: _b.bool = False, quantize: _t.Any = None,
           progress: _t.Any = None, stateful: _b.bool = False) -> _t.Any:
    """Write what `fn` computes to `path`, an `.ingot` file, and return it loaded as a callable."""
def fork(func: _t.Any, *args: _t.Any, **kwargs: _t.Any) -> Future:
    """Run a function now; `wait` returns its result. Kernels run in parallel inside."""
def freeze(mod: _t.Any, preserved_attrs: _t.Any = None, optimize_numerics: _b.bool = True) -> _t.Any:
    """Return the module: every trace computes values that depend on weights alone only once."""
def from_onnx(source: _t.Any) -> _OnnxModel:
    """Return an ONNX model, given by its path, its bytes or as a ModelProto, as a module that is traced when called."""
def fuser(name: _t.Any) -> _t.Any:
    """Do nothing inside, after a check of the fuser's name."""

def host(fn: _Compiled, *args: _t.Any, **kwargs: _t.Any) -> _Compiled:
    """Mark a function that a trace runs as it is, on tensors, at every call."""

def ignore(drop: _Compiled, **kwargs: _t.Any) -> _Compiled:
    """Return the function: traces record it; `jit.host` makes Python call it every time."""
def is_scripting() -> _b.bool:
    """Return False: code always runs as Python."""
def is_tracing() -> _b.bool:
    """Return False, also in traces, which do what eager code does. `compiler.is_compiling` tells whether a trace
    records."""
def isinstance(obj: _t.Any, target_type: _t.Any) -> _b.bool:
    """Return whether an object is of a type; of List[int] and others, only the outer type counts."""
def load(path: _t.Any, objects: _b.bool = True, device: _device | _b.str | _b.int | None = None, *,
         map_location: _t.Any = None) -> Model:
    """Load the model of an `.ingot` file that `export` wrote: a callable that takes tensors or NumPy arrays."""
def onednn_fusion_enabled() -> _b.bool:
    """Return the value of `enable_onednn_fusion`."""
def optimize_for_inference(mod: _t.Any, other_methods: _t.Any = None) -> _t.Any:
    """Return the module: every trace is optimised. `other_methods` is ignored: a trace takes any method."""
def optimized_execution(should_optimize: _t.Any) -> _t.Any:
    """Compile traced functions inside, or run them eagerly."""

def profile() -> _contextlib._GeneratorContextManager[Profile]:
    """Measure all compiled code that runs inside of the `with` block; see `Profile`."""
def quantize(fn: _t.Any, calibration: _t.Any, *, dynamic: _t.Any = None, progress: _t.Any = None) -> _t.Any:
    """Return a model that computes `fn` in 8-bit integers where it can, in a temporary file that goes with the model."""
def record_graph(fn: _t.Any, example_inputs: _t.Any, dynamic: _t.Any = None, *, example_kwargs: _t.Any = None) -> _Captured:
    """Run `fn(*example_inputs)` and return it as a graph. `dynamic` chooses symbolic sizes as for `jit.trace`: True for
    all, or {parameter or position: {dim: name}}; None or False for none."""
def save(m: _t.Any, f: _t.Any) -> None:
    """Export the result of `jit.trace(f, example_inputs)` to a file for `jit.load`."""

@_t.overload
def script(obj: _Compiled, optimize: _t.Any = None, _frames_up: _b.int = 0, _rcb: _t.Any = None,
           example_inputs: _t.Any = None) -> _Compiled: ...
@_t.overload
def script(obj: None = None, optimize: _t.Any = None, _frames_up: _b.int = 0, _rcb: _t.Any = None,
           example_inputs: _t.Any = None) -> _Compiler:
    """Return a module whose calls are traced, as `ingot.compile` does."""
def script_method(fn: _t.Any) -> _t.Any:
    """Return the method."""
def set_fusion_strategy(strategy: _t.Any) -> _b.list[_t.Any]:
    """Store the strategy, which has no effect, and return the one before."""
def strict_fusion() -> _t.Any:
    """Do nothing inside."""
def to_c(model: _t.Any, example_inputs: _t.Any = None, path: _t.Any = 'model', *, name: _t.Any = None,
         embed: _b.bool = True, threads: _b.int = 1, concurrency: _b.int = 4, target: _b.str = 'native',
         stateful: _b.bool = False) -> _Written:
    """Write a model for C programs: `<path>.h`, `<path>.o` and `lib<name>.so` in the same folder."""
def to_onnx(fn: _t.Any, example_inputs: _t.Any, path: _t.Any = None, *, opset: _b.int = 18,
            dynamic: _t.Any = None, input_names: _t.Any = None, output_names: _t.Any = None,
            external_data: _b.bool | None = None, verify: _b.bool = True,
            training: _b.bool | None = False, weights_as_inputs: _b.bool = False,
            stateful: _b.bool = False) -> _b.bytes | None:
    """Write what `fn` computes to `path`, an ONNX model. Without a path its bytes are returned; an open file is written
    to."""

@_t.overload
def trace(func: _Whole, example_inputs: _t.Any = None,  # type: ignore[overload-overlap]
          optimize: _t.Any = None, check_trace: _b.bool = True,
          check_inputs: _t.Any = None, check_tolerance: _b.float = 1e-5, strict: _b.bool = True, *,
          example_kwarg_inputs: _b.dict[_b.str, _t.Any] | None = None, dynamic: _Dynamic = None,
          fullgraph: _b.bool = False, refuse: _b.bool = True) -> _Whole: ...
@_t.overload
def trace(func: _c.Callable[_P, _R], example_inputs: _t.Any = None, optimize: _t.Any = None, check_trace: _b.bool = True,
          check_inputs: _t.Any = None, check_tolerance: _b.float = 1e-5, strict: _b.bool = True, *,
          example_kwarg_inputs: _b.dict[_b.str, _t.Any] | None = None, dynamic: _Dynamic = None,
          fullgraph: _b.bool = False, refuse: _b.bool = True) -> Traced[_P, _R]: ...
@_t.overload
def trace(func: None = None, *, dynamic: _Dynamic = None, fullgraph: _b.bool = False, refuse: _b.bool = True) -> _Tracer:
    """Decorate a function, method, module or class: recorded at its first run, replayed as compiled code afterwards. A module stays a module of its class, with its attributes; of a class, calls of its objects are traced."""
def trace_module(mod: _t.Any, inputs: _t.Any, *args: _t.Any, **kwargs: _t.Any) -> _t.Any:
    """Raise: trace each method by itself."""

def unused(fn: _Compiled) -> _Compiled:
    """Return the function."""
def wait(future: _t.Any) -> _t.Any:
    """Return the result of `fork`."""

class _Reader:
    """An open `.ingot` file with a checked manifest."""
    manifest: _t.Any
    memory: _t.Any
    name: _t.Any
    path: _b.str
    def __init__(self, path: _b.str) -> None: ...
    def json(self, name: _b.str) -> _t.Any: ...
    def member(self, name: _b.str) -> _np.ndarray[_t.Any, _t.Any]:
        """Return the bytes of a member, checked, in place in the mapped file."""
    def names(self) -> _b.list[_t.Any]: ...
    def size(self, name: _b.str) -> _b.int: ...
    def text(self, name: _b.str) -> _b.str: ...

class _Graph:
    """A frozen program."""
    inputs: _b.tuple[_t.Any, ...]
    name: _b.str
    nodes: _b.tuple[_t.Any, ...]
    outputs: _b.tuple[_t.Any, ...]
    updates: _b.tuple[_t.Any, ...]
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    def __hash__(self) -> _b.int: ...
    def __init__(self, name: _b.str, inputs: _b.tuple[_t.Any, ...], nodes: _b.tuple[_t.Any, ...],
                 outputs: _b.tuple[_t.Any, ...], updates: _b.tuple[_t.Any, ...] = ()) -> None: ...
    def __len__(self) -> _b.int: ...
    @_b.property
    def key(self) -> _b.tuple[_t.Any, ...]:
        """Return a hashable description of everything but names and lines."""
    @key.setter
    def key(self, value: _t.Any) -> None: ...
    @_b.property
    def names(self) -> _b.dict[_t.Any, _t.Any]:
        """Return {name: value now} of the symbolic sizes and numbers."""
    @_b.property
    def results(self) -> _c.KeysView:
        """Return the values that leave the graph, returned or written, in the same order in every process."""
    @results.setter
    def results(self, value: _t.Any) -> None: ...
    @_b.property
    def symbols(self) -> _b.dict[_t.Any, _t.Any]:
        """Return the symbolic numbers in types, parameters and operands by key; empty for a graph of fixed sizes."""
    @symbols.setter
    def symbols(self, value: _t.Any) -> None: ...
    @_b.property
    def updated(self) -> _b.dict[_t.Any, _t.Any]:
        """Return the final value of each written input."""
    @updated.setter
    def updated(self, value: _t.Any) -> None: ...
    @_b.property
    def uses(self) -> _b.dict[_t.Any, _t.Any]:
        """Return the nodes that read each value (once per operand), in order. Returned and written values: `results`."""
    @uses.setter
    def uses(self, value: _t.Any) -> None: ...
    def values(self) -> _c.Iterable[_Value]:
        """Return inputs, then every node's results in order."""

class _Variant:
    """A graph in a file: its sizes in `fixed`, and its conditions {text: the user's line}."""
    conditions: _b.dict[_t.Any, _t.Any]
    fixed: _b.dict[_t.Any, _t.Any]
    graph: _Graph | None
    is_sized: _b.bool
    member: _b.str
    planned: _b.int
    sized_plans: _t.Any
    weights: _b.tuple[_t.Any, ...]
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    __hash__: _t.Any
    def __init__(self, member: _b.str, fixed: _b.dict[_t.Any, _t.Any], conditions: _b.dict[_t.Any, _t.Any],
                 weights: _b.tuple[_t.Any, ...], graph: _Graph | None = None, planned: _b.int = 0,
                 sized_plans: _t.Any = None, is_sized: _b.bool = True) -> None: ...
    @_b.classmethod
    def of(cls, row: _b.dict[_t.Any, _t.Any], weights: _b.list[_t.Any], dims: _b.set[_t.Any]) -> _Variant: ...

class _Position(_t.NamedTuple):
    """A line of the user's code."""
    file: _b.str
    line: _b.int
    function: _b.str
    @_b.property
    def name(self) -> _b.str:
        """The function's own name."""
    def of(self, text: _b.str) -> _b.str:
        """Return the text with the file, line and function that it does not name yet."""

class _Captured:
    """A recorded run."""
    arguments: _b.tuple[_t.Any, ...]
    captured: _b.dict[_t.Any, _t.Any]
    conditions: _b.dict[_t.Any, _t.Any]
    graph: _Graph
    result: _b.object
    result_spec: _b.object
    sizes: _b.dict[_t.Any, _t.Any]
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    def __hash__(self) -> _b.int: ...
    def __init__(self, graph: _Graph, arguments: _b.tuple[_t.Any, ...], captured: _b.dict[_t.Any, _t.Any],
                 sizes: _b.dict[_t.Any, _t.Any], conditions: _b.dict[_t.Any, _t.Any], result: _b.object,
                 result_spec: _b.object) -> None: ...

class _Written(_t.NamedTuple):
    """Paths of the files that `to_c` wrote; `weights` is None if they are in the library."""
    header: _b.str
    object: _b.str
    shared: _b.str
    weights: _b.str | None

class _Value:
    """One value of a graph: an input, or a result of a node."""
    aval: _Aval
    index: _b.int
    name: _b.str
    node: _t.Any
    number: _t.Any
    owner: _t.Any
    def __init__(self, aval: _Aval, *, node: _t.Any = None, index: _b.int = 0, name: _b.str = '',
                 owner: _t.Any = None, number: _t.Any = None) -> None: ...
    @_b.property
    def dtype(self) -> _dtype: ...
    @_b.property
    def is_input(self) -> _b.bool: ...
    @_b.property
    def ndim(self) -> _b.int: ...
    @_b.property
    def shape(self) -> _b.tuple[_t.Any, ...]: ...

Error = TraceError
interface = unused
script_if_tracing = unused
