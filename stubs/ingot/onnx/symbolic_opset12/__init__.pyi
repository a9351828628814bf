"""Registry for rules of PyTorch's older exporter (`ingot.onnx.symbolic_helper`, `symbolic_opset11` and others)."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.onnx import TensorProtoDataType as TensorProtoDataType
from ingot.onnx import register_custom_op_symbolic as register_custom_op_symbolic
from ingot.onnx import unregister_custom_op_symbolic as unregister_custom_op_symbolic
from ingot.onnx.symbolic_helper import parse_args as parse_args
