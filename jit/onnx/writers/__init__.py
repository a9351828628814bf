"""Operators of ingot as ONNX nodes, one file a family.

Way in: `Writer`, `@emits`, `emits_each`. A writer claims an operator; an operator without a writer is refused by name. This
room does not know the importers.
"""

from . import activation, cond, conv_pool, fourier, index, math, nn, quantized, recurrent, reduce, shape

FAMILIES = (activation, cond, conv_pool, fourier, index, math, nn, quantized, recurrent, reduce, shape)
