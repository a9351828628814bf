"""ONNX in both directions: `to_onnx` (or PyTorch's `export`) writes models, `from_onnx` reads them.

The tables of operators are in the rooms `importers` (ONNX to ingot) and `writers` (ingot to ONNX). Names of older PyTorch
exporters are in `symbolic_registry.py`.
"""

from ..errors.errors import ExportError as OnnxExporterError
from ..tracing.compiler import is_exporting as is_in_onnx_export
from .exporter import to_onnx
from .importers import (
    control,
    random,
    resize,
)
from .importers import (
    conv_pool as in_windows,
)
from .importers import (
    index as in_index,
)
from .importers import (
    math as in_math,
)
from .importers import (
    nn as in_nn,
)
from .importers import (
    quantized as in_quantized,
)
from .importers import (
    recurrent as in_recurrent,
)
from .importers import (
    reduce as in_reduce,
)
from .importers import (
    shape as in_shape,
)
from .model import OnnxModel, from_onnx
from .symbolic_registry import TensorProtoDataType, register_custom_op_symbolic, unregister_custom_op_symbolic
from .torch_export import ONNXProgram, OperatorExportTypes, TrainingMode, export, select_model_mode_for_export
from .writers import (
    activation,
    cond,
    fourier,
    logic,
)
from .writers import (
    conv_pool as out_windows,
)
from .writers import (
    index as out_index,
)
from .writers import (
    math as out_math,
)
from .writers import (
    nn as out_nn,
)
from .writers import (
    quantized as out_quantized,
)
from .writers import (
    recurrent as out_recurrent,
)
from .writers import (
    reduce as out_reduce,
)
from .writers import (
    shape as out_shape,
)

TABLES = (control, in_index, in_math, in_nn, in_quantized, random, in_recurrent, in_reduce, resize, in_shape,
          in_windows, activation, cond, fourier, out_index, logic, out_math, out_nn, out_quantized,
          out_recurrent, out_reduce, out_shape, out_windows)

__all__ = ["TABLES", "ONNXProgram", "OnnxExporterError", "OnnxModel", "OperatorExportTypes", "TensorProtoDataType",
           "TrainingMode", "export", "from_onnx", "is_in_onnx_export", "register_custom_op_symbolic",
           "select_model_mode_for_export", "to_onnx", "unregister_custom_op_symbolic"]
