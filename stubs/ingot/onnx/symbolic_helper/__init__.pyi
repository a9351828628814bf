"""Registry for rules of PyTorch's older exporter (`ingot.onnx.symbolic_helper`, `symbolic_opset11` and others)."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot.onnx import TensorProtoDataType as TensorProtoDataType
from ingot.onnx import register_custom_op_symbolic as register_custom_op_symbolic
from ingot.onnx import unregister_custom_op_symbolic as unregister_custom_op_symbolic

def parse_args(*descriptors: _b.str) -> _c.Callable[..., _t.Any]:
    """Return a decorator of such rules, which leaves them as they are. `descriptors` are ignored: rules get Python
    values."""
