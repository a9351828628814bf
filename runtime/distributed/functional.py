"""Collectives with gradients: they return new tensors, and their gradients are collectives in turn."""

from typing import Any

import numpy as np

from ...ir.errors import ArgumentError
from ..autograd.function import Function
from ..tensor import wrap
from .collectives import check_tensor, gather_arrays, reduce_arrays
from .reduce_op import ReduceOp, check_op
from .world import member_of

__all__ = ["all_gather", "all_reduce"]


def _group_for(group, what):
    found = member_of(group, what)
    if found is None:
        raise ArgumentError(f"{what} needs a group that this rank is in")
    return found


class _AllReduce(Function):
    """The sum (or average) over ranks; so is its gradient."""

    @staticmethod
    def forward(ctx: Any, x, op, group):
        ctx.op, ctx.group = op, group
        found: list = []
        note = f"all_reduce with gradient of {x._a.size} {x._a.dtype.name} {op.value}"
        group.run(lambda: found.append(reduce_arrays(group, x._a, op, note)), False)
        return wrap(found[0])

    @staticmethod
    def backward(ctx: Any, g):
        return _AllReduce.apply(g, ctx.op, ctx.group), None, None


def all_reduce(tensor, op=ReduceOp.SUM, group=None):
    """The sum (or average) of every rank's tensor, as a new tensor."""
    check_tensor(tensor, "all_reduce")
    check_op(op, tensor.dtype)
    if op not in (ReduceOp.SUM, ReduceOp.AVG):
        raise ArgumentError(f"all_reduce with gradients sums or averages, got ReduceOp.{op.name}")
    return _AllReduce.apply(tensor, op, _group_for(group, "all_reduce"))


class _AllGather(Function):
    """Every rank's tensor, stacked; each rank gets the sum of the gradients of its own."""

    @staticmethod
    def forward(ctx: Any, x, group):
        ctx.group = group
        found: list = []
        note = f"all_gather with gradient of {x._a.size} {x._a.dtype.name}"
        group.run(lambda: found.extend(gather_arrays(group, x._a, note)), False)
        return wrap(np.stack(found))

    @staticmethod
    def backward(ctx: Any, g):
        return _AllReduce.apply(g, ReduceOp.SUM, ctx.group)[ctx.group.rank()], None


def all_gather(tensor, group=None) -> tuple:
    """Every rank's tensor, as new tensors."""
    check_tensor(tensor, "all_gather")
    return _AllGather.apply(tensor, _group_for(group, "all_gather")).unbind(0)
