"""`fx.passes.shape_prop`: an interpreter that records shapes and dtypes of results."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot import Size as _Size
from ingot.fx import Interpreter as _Interpreter
from ingot.fx import Node as _Node

class ShapeProp(_Interpreter):
    """An interpreter that stores the `TensorMetadata` of each result, or containers of them, in
    `node.meta["tensor_meta"]`."""
    def propagate(self, *args: _t.Any) -> _t.Any:
        """Run the graph on arguments."""
    def run_node(self, n: _Node) -> _t.Any:
        """Run a node and describe its result."""

class TensorMetadata(_t.NamedTuple):
    """Shape, dtype and layout of a tensor."""
    shape: _Size
    dtype: _t.Any
    requires_grad: _b.bool
    stride: _b.tuple[_b.int, ...]
    memory_format: _t.Any
    is_quantized: _b.bool
    qparams: _b.dict[_b.str, _t.Any]
