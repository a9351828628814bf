"""Pools, and what carries their gradients back, as steps of a native call; low precision is float32 on its way."""

from math import prod

import numpy as np

from ....ir.ops.nn import pool as ops
from ..calls import pool
from ..calls.conv_steps import EXTRA, OPERANDS, X, Y
from ..calls.lowering_rules import native
from ..calls.native_scratch import Steps, wide
from ..calls.step_list import At, Status
from . import pooling


@native(ops.max_pool)
def max_pool(node, operands, results):
    """The largest elements and their places."""
    return _maxima(operands, results, *[node.params[name] for name in ("kernel", "stride", "padding", "dilation")])


@native(ops.adaptive_max_pool)
def adaptive_max_pool(node, operands, results):
    """The same, where all bins are of one size."""
    sizes, counts = operands[0].shape[2:], node.params["size"]
    if any(n % count for n, count in zip(sizes, counts)):
        return None
    bins, rank = tuple([n // count for n, count in zip(sizes, counts)]), len(counts)
    return _maxima(operands, results, bins, bins, ((0, 0),) * rank, (1,) * rank)


def _maxima(operands, results, *window):
    (x,), (out, _), made = operands, results, Steps()
    if not _takes(x):
        return None
    found = pooling.max_plan(x.shape, *window, wide(x.dtype), pool.get_num_threads())
    if found is None:
        return None
    return made.call(found[0].native({X: made.read(0, x), Y: made.write(1, out), OPERANDS: At(2)}).steps)


@native(ops.avg_pool)
def avg_pool(node, operands, results):
    """Means; those of bins have become sums (`passes/simplify/mean_pools.py`)."""
    (x,), how = operands, node.params
    sizes = x.shape[2:]
    in_bins = ops.is_whole(sizes, how["kernel"], how["padding"]) or ops.are_bins(
        sizes, how["kernel"], how["stride"], how["padding"])
    return None if in_bins else _averages(pooling.avg_plan, operands, results, how)


@native(ops.avg_pool_grad)
def avg_pool_grad(node, operands, results):
    """Shares of gradients at all elements of their windows."""
    how = node.params
    if any(lo < 0 for lo, _ in how["padding"]):
        return None
    return _averages(pooling.avg_grad_plan, operands, results, how | {"size": tuple(how["size"])})


def _averages(plan_of, operands, results, how):
    (x,), (out,), made = operands, results, Steps()
    if not _takes(x):
        return None
    plan, _ = plan_of(x.shape, dtype=wide(x.dtype), threads=pool.get_num_threads(), **how)
    return made.call(plan.native({X: made.read(0, x), Y: made.write(1, out)}).steps)


@native(ops.plane_put)
def plane_put(node, operands, results):
    """Values at their places in planes of zeros."""
    (x, indices), (out,), made = operands, results, Steps()
    if not _takes(x) or indices.dtype != np.int64:
        return None
    plan = pooling.put_plan(prod(x.shape[:2]), prod(x.shape[2:]), prod(node.params["size"]), node.params["accumulate"],
                            wide(x.dtype), pool.get_num_threads())
    return made.call(plan.native({X: made.read(0, x), OPERANDS: At(1), Y: made.write(2, out), EXTRA: Status()}).steps)


def _takes(x) -> bool:
    return pooling.takes(wide(x.dtype), x.shape)
