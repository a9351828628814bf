"""ONNX: models written by `to_onnx` (or `export`, as PyTorch calls it) and read by `from_onnx`.

The tables of operators are the `in_*` files (ONNX to ingot) and the `out_*` files (ingot to ONNX).
"""

from ..compiler import is_exporting as is_in_onnx_export
from ..errors import ExportError as OnnxExporterError
from . import (
    in_control,
    in_index,
    in_math,
    in_nn,
    in_quantized,
    in_random,
    in_recurrent,
    in_reduce,
    in_resize,
    in_shape,
    in_windows,
    out_activation,
    out_branch,
    out_fourier,
    out_index,
    out_logic,
    out_math,
    out_nn,
    out_quantized,
    out_recurrent,
    out_reduce,
    out_shape,
    out_windows,
)
from .export import to_onnx
from .foreign_rules import TensorProtoDataType, register_custom_op_symbolic, unregister_custom_op_symbolic
from .model import OnnxModel, from_onnx
from .spelled import ONNXProgram, OperatorExportTypes, TrainingMode, export, select_model_mode_for_export

TABLES = (in_control, in_index, in_math, in_nn, in_quantized, in_random, in_recurrent, in_reduce, in_resize, in_shape,
          in_windows, out_activation, out_branch, out_fourier, out_index, out_logic, out_math, out_nn, out_quantized,
          out_recurrent, out_reduce, out_shape, out_windows)

__all__ = ["TABLES", "ONNXProgram", "OnnxExporterError", "OnnxModel", "OperatorExportTypes", "TensorProtoDataType",
           "TrainingMode", "export", "from_onnx", "is_in_onnx_export", "register_custom_op_symbolic",
           "select_model_mode_for_export", "to_onnx", "unregister_custom_op_symbolic"]
