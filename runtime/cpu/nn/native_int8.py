"""Convolutions of bytes as steps of a native call."""

from ....ir.ops.quantized import int8_conv as ops
from ....passes.layout.plain_operands import ROWS
from ..calls import pool
from ..calls.lowering_rules import native
from . import int8_conv


@native(ops.conv_int8, ops.depthwise_int8, reads=ROWS)
def conv(node, operands, results):
    """Windows over bytes; only images may lie apart."""
    x, w, start, factor, beside = operands
    params = dict(node.params)
    params.pop("dtype")
    if any(a.size and a.strides != _plain(a) for a in (w, start, factor)) or min((*x.strides, 0)) < 0:
        return None
    made = int8_conv.plan(int8_conv.where_of(x), w.shape, None if beside is None else int8_conv.where_of(beside),
                          int8_conv.where_of(results[0]), int8_conv.KINDS[results[0].dtype], tuple(sorted(params.items())),
                          pool.get_num_threads())
    return made.native([0, 1, 2, 3, None if beside is None else 4, 5])


def _plain(a):
    strides, step = [], a.dtype.itemsize
    for n in reversed(a.shape):
        strides.insert(0, step)
        step *= n
    return tuple(strides)
