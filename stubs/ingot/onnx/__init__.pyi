"""ONNX in both directions: `to_onnx` (or PyTorch's `export`) writes models, `from_onnx` reads them."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot import Tensor as _Tensor
from ingot.compiler import is_exporting as _is_exporting
from ingot.jit import ExportError as _ExportError
from ingot.jit import from_onnx as from_onnx
from ingot.jit import to_onnx as to_onnx
from ingot.nn import Module as _Module
from ingot.onnx import symbolic_helper as symbolic_helper
from ingot.onnx import symbolic_opset11 as symbolic_opset11
from ingot.onnx import symbolic_opset12 as symbolic_opset12
from ingot.onnx import symbolic_opset9 as symbolic_opset9
import enum as _enum

TABLES: _b.tuple[_t.Any, ...]

class ONNXProgram(_b.bytes):
    """An ONNX model as the bytes of its file."""
    def __call__(self, *args: _t.Any, **kwargs: _t.Any) -> _b.tuple[_t.Any, ...]:
        """Return the outputs of the model, run by ingot."""
    @_b.property
    def model_proto(self) -> _t.Any:
        """The model as an object of the onnx package."""
    def save(self, destination: _t.Any) -> None: ...

OnnxExporterError = _ExportError

class OnnxModel(_Module):
    """An ONNX model as a module."""
    graph_name: _t.Any
    input_names: _t.Any
    output_names: _t.Any
    prefix: _b.str
    def __init__(self, graph: _t.Any, program: _Program, weights: _b.dict[_t.Any, _t.Any], signature: _b.list[_t.Any],
                 file: _b.tuple[_b.str, _b.int]) -> None: ...
    def compute(self, *inputs: _t.Any) -> _t.Any: ...
    def enter(self, name: _b.str, array: _t.Any) -> None:
        """Add a weight under the rest of its name."""
    def extra_repr(self) -> _b.str: ...
    def forward(self, *inputs: _t.Any, **named: _t.Any) -> _Tensor:
        """Return the outputs for tensors (or numpy arrays) in the order of `input_names`, or by name."""
    @_b.property
    def signature(self) -> _b.list[_t.Any]:
        """(name, dtype, sizes) of each input; sizes are numbers, names of dynamic dims, or None."""

class OperatorExportTypes(_enum.Enum):
    """Kinds of operators that PyTorch can write. ingot writes those of ONNX, and refuses other operators."""
    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3

class TensorProtoDataType(_enum.IntEnum):
    UNDEFINED = 0
    FLOAT = 1
    UINT8 = 2
    INT8 = 3
    UINT16 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    STRING = 8
    BOOL = 9
    FLOAT16 = 10
    DOUBLE = 11
    UINT32 = 12
    UINT64 = 13
    COMPLEX64 = 14
    COMPLEX128 = 15
    BFLOAT16 = 16

class TrainingMode(_enum.Enum):
    """The mode in which modules are exported."""
    EVAL = 0
    PRESERVE = 1
    TRAINING = 2

def export(model: _t.Any, args: _t.Any = (), f: _t.Any = None, *,
           kwargs: _b.dict[_b.str, _t.Any] | None = None, export_params: _b.bool = True,
           verbose: _b.bool | None = None, input_names: _t.Any = None, output_names: _t.Any = None,
           opset_version: _b.int | None = None, dynamic_axes: _t.Any = None,
           dynamic_shapes: _t.Any = None, do_constant_folding: _b.bool = True,
           external_data: _b.bool | None = None, verify: _b.bool = True, dynamo: _b.bool = True,
           training: _t.Any = ..., operator_export_type: _t.Any = ...,
           keep_initializers_as_inputs: _b.bool = False, custom_opsets: _t.Any = None,
           custom_translation_table: _t.Any = None, export_modules_as_functions: _b.bool = False,
           autograd_inlining: _b.bool = True, optimize: _b.bool = True, report: _b.bool = False,
           profile: _b.bool = False, dump_exported_program: _b.bool = False,
           artifacts_dir: _b.str = '.', stateful: _b.bool = False) -> ONNXProgram | None:
    """Export with `to_onnx`, under PyTorch's names."""
is_in_onnx_export = _is_exporting
def register_custom_op_symbolic(symbolic_name: _b.str, symbolic_fn: _c.Callable[..., _t.Any],
                                opset_version: _b.int) -> None:
    """Keep a rule for an operator "namespace::name"."""
def select_model_mode_for_export(model: _t.Any, mode: _t.Any) -> _t.Any:
    """Put a model into the mode of an export inside; restore the mode of each module afterwards."""
def unregister_custom_op_symbolic(symbolic_name: _b.str, opset_version: _b.int) -> None:
    """Drop a rule."""

class _Program:
    """A graph as a list of steps."""
    constants: _t.Any
    inputs: _b.tuple[_t.Any, ...]
    name: _t.Any
    outputs: _b.tuple[_t.Any, ...]
    reads_around: _b.set[_t.Any]
    steps: _b.list[_t.Any]
    def __init__(self, name: _t.Any, inputs: _t.Any, outputs: _t.Any, nodes: _t.Any, constants: _t.Any,
                 context: _t.Any, around: _t.Any = ...) -> None: ...
    def run(self, values: _t.Any, scope: _t.Any = None) -> _b.list[_t.Any]:
        """Return the outputs for the inputs' values; `scope` holds the enclosing values."""
