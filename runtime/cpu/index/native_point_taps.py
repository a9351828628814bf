"""Sums of elements at given places of planes as steps of a native call."""

import math

from ....ir.ops.nn import sampled_points as ops
from ..calls import pool
from ..calls.lowering_rules import native
from ..calls.step_list import NativeCall
from . import sampled_points


def _call(kind, x, y, places, weighted, arrays) -> NativeCall | None:
    """The job on (planes, places, weights, values); `arrays` are their numbers."""
    if not sampled_points.runs(x, places):
        return None
    plan = sampled_points.plan(kind, x.dtype, weighted, *x.shape[:2], math.prod(x.shape[2:]), math.prod(places.shape[2:]),
                               places.shape[1], pool.get_num_threads())
    return plan.native(arrays)


@native(ops.taps_take)
def take(node, operands, results):
    """Values of planes."""
    (x, places, weights), (y,) = operands, results
    return _call("take", x, y, places, weights is not None, (0, 1, None if weights is None else 2, 3))


@native(ops.taps_put)
def put(node, operands, results):
    """Planes of values."""
    (y, places, weights), (x,) = operands, results
    return _call("put", x, y, places, weights is not None, (3, 1, None if weights is None else 2, 0))


@native(ops.taps_dots)
def dots(node, operands, results):
    """Weights of planes and values."""
    (x, y, places), _ = operands, results
    return _call("dots", x, y, places, True, (0, 2, 3, 1))
