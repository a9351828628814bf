"""ONNX in both directions: `to_onnx` (or PyTorch's `export`) writes models, `from_onnx` reads them.

The tables of operators are in the rooms `importers` (ONNX to ingot) and `writers` (ingot to ONNX). Names of older PyTorch
exporters are in `symbolic_registry.py`.
"""

from ..errors.errors import ExportError as OnnxExporterError
from ..tracing.compiler import is_exporting as is_in_onnx_export
from . import importers, writers
from .exporter import to_onnx
from .model import OnnxModel, from_onnx
from .symbolic_registry import TensorProtoDataType, register_custom_op_symbolic, unregister_custom_op_symbolic
from .torch_export import ONNXProgram, OperatorExportTypes, TrainingMode, export, select_model_mode_for_export

TABLES = (*importers.FAMILIES, *writers.FAMILIES)

__all__ = ["TABLES", "ONNXProgram", "OnnxExporterError", "OnnxModel", "OperatorExportTypes", "TensorProtoDataType",
           "TrainingMode", "export", "from_onnx", "is_in_onnx_export", "register_custom_op_symbolic",
           "select_model_mode_for_export", "to_onnx", "unregister_custom_op_symbolic"]
