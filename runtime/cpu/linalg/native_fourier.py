"""Fourier transforms as steps of a native call."""

import numpy as np

from ....ir.ops.math import fourier as ops
from ..calls import pool
from ..calls.lowering_rules import native
from ..calls.step_list import NativeCall, Table
from .eager_fourier import scale_of
from .fourier import transform_plan


@native(ops.fft)
def fft(node, operands, results):
    """One dim after the other, the last one first; all but the first where the result lies."""
    (x,), (out,), steps, scratch = operands, results, [], 0
    inverse, norm = node.params["inverse"], node.params["norm"]
    for d in reversed(node.params["dim"]):
        task, scale = "rows" if d == len(x.shape) - 1 else "columns", scale_of(norm, x.shape[d], inverse)
        made = _transformed(task, x, d, scale, inverse, 1 if steps else 0)
        if made is None:
            return None
        steps += made.steps
        scratch = max(scratch, made.scratch_bytes)
    return NativeCall(tuple(steps), scratch) if steps and out.size else None


@native(ops.rfft)
def rfft(node, operands, results):
    """Half of the frequencies of rows of real numbers."""
    x, dim = operands[0], node.params["dim"]
    if not _is_last(x, dim):
        return None
    return _transformed("halves", x, dim, scale_of(node.params["norm"], x.shape[dim], False), False)


@native(ops.irfft)
def irfft(node, operands, results):
    """Rows of real numbers of half of their frequencies."""
    x, dim, n = operands[0], node.params["dim"], node.params["n"]
    if n % 2 or not _is_last(x, dim):
        return None
    return _transformed("wholes", x, dim, scale_of(node.params["norm"], n, True), True)


def _is_last(x, dim) -> bool:
    return dim == len(x.shape) - 1 and x.size > 0


def _transformed(task, x, dim, scale, inverse, source=0):
    """The steps that eager code takes, from an operand to the result; None where no kernel does it."""
    made = transform_plan(task, x.dtype, x.shape, dim, scale, inverse, pool.get_num_threads())
    return None if made is None else made.plan.native([source, 1, Table(made.factors.view(np.int64))])
