"""Inputs and outputs of an exported program's graph, under PyTorch's names (`export.graph_signature`)."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot.export import ExportBackwardSignature as ExportBackwardSignature
from ingot.export import ExportGraphSignature as ExportGraphSignature
import enum as _enum

class ConstantArgument:
    """An argument that is no tensor, with its value at the export."""
    name: _b.str
    value: _t.Any
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    def __hash__(self) -> _b.int: ...
    def __init__(self, name: _b.str, value: _t.Any) -> None: ...

class InputKind(_enum.Enum):
    """Kind of a graph input."""
    USER_INPUT = 1
    PARAMETER = 2
    BUFFER = 3
    CONSTANT_TENSOR = 4

class InputSpec:
    """A graph input: its kind, its name in the graph, and the name of its parameter or buffer."""
    arg: TensorArgument | ConstantArgument
    kind: InputKind
    persistent: _b.bool | None
    target: _b.str | None
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    def __hash__(self) -> _b.int: ...
    def __init__(self, kind: InputKind, arg: TensorArgument | ConstantArgument, target: _b.str | None = None,
                 persistent: _b.bool | None = None) -> None: ...

class OutputKind(_enum.Enum):
    """Kind of a graph output: a result of the function, or the next value of a buffer that it writes."""
    USER_OUTPUT = 1
    BUFFER_MUTATION = 2
    USER_INPUT_MUTATION = 3

class OutputSpec:
    """A result."""
    arg: TensorArgument | ConstantArgument
    kind: OutputKind
    target: _b.str | None
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    def __hash__(self) -> _b.int: ...
    def __init__(self, kind: OutputKind, arg: TensorArgument | ConstantArgument, target: _b.str | None = None) -> None: ...

class TensorArgument:
    """A tensor, by its name in the graph."""
    name: _b.str
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    def __hash__(self) -> _b.int: ...
    def __init__(self, name: _b.str) -> None: ...
