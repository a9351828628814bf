"""ONNX operators as functions of ingot, one file a family.

Way in: `importer_of(node)`, `program_of(graph)`. Importers register with `@onnx_op` or in tables with `onnx_ops`. Sizes stay
symbolic where a model computes shapes from shapes. This room does not know the writers.
"""

from . import control, conv_pool, index, math, nn, quantized, random, recurrent, reduce, resize, shape

FAMILIES = (control, conv_pool, index, math, nn, quantized, random, recurrent, reduce, resize, shape)
