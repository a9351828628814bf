"""Collectives with gradients: they return new tensors, and their gradients are collectives in turn.

The derivative is of the sum of all ranks' losses. So every rank must run backward, and tensors require gradients on all ranks
or on none.
"""

from typing import Any

from ....ir.errors import ArgumentError
from ...api.register.register import FUNCTIONS
from ...autograd.function import Function
from ...autograd.grad_mode import no_grad
from ..engines.reduce_op import ReduceOp, check_op
from ..groups.world import NON_MEMBER, the_group
from . import collectives
from .collectives import check_tensor, place_of

__all__ = ["all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce", "reduce_scatter",
           "scatter"]


def _group_for(group, what):
    if group is NON_MEMBER:
        raise ArgumentError(f"{what} needs a group that this rank is in")
    return the_group(group)


def _check_sum(tensor, op, what):
    check_tensor(tensor, what)
    check_op(op, tensor.dtype)
    if op not in (ReduceOp.SUM, ReduceOp.AVG):
        raise ArgumentError(f"{what} with gradients sums or averages, got ReduceOp.{op.name}")


def _like(t):
    """Return memory for a tensor like another."""
    return FUNCTIONS["zeros_like"](t)


def _copy(t):
    return FUNCTIONS["clone"](t.detach())


def _fill(targets, results):
    """Write results into the caller's memory; only the results themselves have gradients."""
    with no_grad():
        for target, result in zip(targets, results):
            target.copy_(result)


class _AllReduce(Function):
    """Sum (or average) over ranks; so is its gradient."""

    @staticmethod
    def forward(ctx: Any, x, op, group):
        ctx.op, ctx.group = op, group
        y = _copy(x)
        collectives.all_reduce(y, op, group)
        return y

    @staticmethod
    def backward(ctx: Any, g):
        return _AllReduce.apply(g, ctx.op, ctx.group), None, None


class _Broadcast(Function):
    """The source's tensor on every rank; the source gets the sum of all gradients."""

    @staticmethod
    def forward(ctx: Any, x, source, group):
        ctx.source, ctx.group = source, group
        y = _copy(x)
        collectives.broadcast(y, group=group, group_src=source)
        return y

    @staticmethod
    def backward(ctx: Any, g):
        return _Reduce.apply(g, ctx.source, ReduceOp.SUM, ctx.group), None, None


class _Reduce(Function):
    """Sum (or average) on one rank, zeros on others; each rank gets that one's gradient."""

    @staticmethod
    def forward(ctx: Any, x, to, op, group):
        ctx.to, ctx.op, ctx.group = to, op, group
        y = _copy(x)
        collectives.reduce(y, None, op, group, group_dst=to)
        return y if group.rank() == to else _like(y)

    @staticmethod
    def backward(ctx: Any, g):
        g = _Broadcast.apply(g, ctx.to, ctx.group)
        return g if ctx.op is ReduceOp.SUM else g / ctx.group.size(), None, None, None


class _Gather(Function):
    """Every rank's tensor on one rank, zeros on others; each rank gets the gradient of its own."""

    @staticmethod
    def forward(ctx: Any, x, to, group):
        ctx.to, ctx.group = to, group
        results = [_like(x) for _ in range(group.size())]
        collectives.gather(x.detach(), results if group.rank() == to else None, group=group, group_dst=to)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *gs):
        return _Scatter.apply(ctx.to, ctx.group, *gs), None, None


class _Scatter(Function):
    """This rank's tensor of the source's list; the source gets every rank's gradient."""

    @staticmethod
    def forward(ctx: Any, source, group, *xs):
        ctx.source, ctx.group = source, group
        y = _like(xs[0])
        parts = [x.detach() for x in xs] if group.rank() == source else None
        collectives.scatter(y, parts, group=group, group_src=source)
        return y

    @staticmethod
    def backward(ctx: Any, g):
        return None, None, *_Gather.apply(g, ctx.source, ctx.group)


class _AllGather(Function):
    """Every rank's tensor; each rank gets the sum of the gradients of its own."""

    @staticmethod
    def forward(ctx: Any, x, group):
        ctx.group = group
        results = [_like(x) for _ in range(group.size())]
        collectives.all_gather(results, x.detach(), group)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *gs):
        return _ReduceScatter.apply(ReduceOp.SUM, ctx.group, *gs), None


class _ReduceScatter(Function):
    """Sum (or average) of every rank's tensor for this one; each tensor gets the gradient of its target rank."""

    @staticmethod
    def forward(ctx: Any, op, group, *xs):
        ctx.op, ctx.group = op, group
        y = _like(xs[group.rank()])
        collectives.reduce_scatter(y, [x.detach() for x in xs], op, group)
        return y

    @staticmethod
    def backward(ctx: Any, g):
        gs = _AllGather.apply(g, ctx.group)
        return None, None, *(gs if ctx.op is ReduceOp.SUM else [g / ctx.group.size() for g in gs])


class _AllToAll(Function):
    """Every rank's tensor for this one; gradients go back the same way."""

    @staticmethod
    def forward(ctx: Any, group, shapes, *xs):
        ctx.group, ctx.shapes = group, [x.shape for x in xs]
        results = [FUNCTIONS["zeros"](shape, dtype=xs[0].dtype, device=xs[0].device) for shape in shapes]
        collectives.all_to_all(results, [x.detach() for x in xs], group)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *gs):
        return None, None, *_AllToAll.apply(ctx.group, ctx.shapes, *gs)


def all_reduce(tensor, op=ReduceOp.SUM, group=None):
    """Return the sum (or average) of every rank's tensor."""
    _check_sum(tensor, op, "all_reduce")
    return _AllReduce.apply(tensor, op, _group_for(group, "all_reduce"))


def broadcast(tensor, src, group=None):
    """Return the tensor of rank `src`; those of other ranks give shape and dtype."""
    check_tensor(tensor, "broadcast")
    group = _group_for(group, "broadcast")
    return _Broadcast.apply(tensor, place_of(group, src, None, "broadcast"), group)


def reduce(tensor, dst, op=ReduceOp.SUM, group=None):
    """Return the sum (or average) of every rank's tensor on rank `dst`, zeros on others."""
    _check_sum(tensor, op, "reduce")
    group = _group_for(group, "reduce")
    return _Reduce.apply(tensor, place_of(group, dst, None, "reduce"), op, group)


def gather(tensor, dst=0, group=None) -> tuple:
    """Return every rank's tensor on rank `dst`, zeros on others."""
    check_tensor(tensor, "gather")
    group = _group_for(group, "gather")
    return _Gather.apply(tensor, place_of(group, dst, None, "gather"), group)


def scatter(tensors, src=0, group=None):
    """Return this rank's tensor from the list of rank `src`; lists of other ranks give shapes and dtypes."""
    group = _group_for(group, "scatter")
    if len(tensors) != group.size():
        raise ArgumentError(f"scatter takes a list with one tensor for each of the {group.size()} ranks, got {len(tensors)}")
    return _Scatter.apply(place_of(group, src, None, "scatter"), group, *tensors)


def all_gather(tensor, group=None) -> tuple:
    """Return every rank's tensor."""
    check_tensor(tensor, "all_gather")
    return _AllGather.apply(tensor, _group_for(group, "all_gather"))


def _all_gather_base(output_tensor, input_tensor, group=None):
    """Return every rank's tensor one after the other, shaped like `output_tensor`, which is filled as well."""
    whole = FUNCTIONS["cat"]([part.reshape(-1) for part in all_gather(input_tensor, group)]).reshape(output_tensor.shape)
    _fill([output_tensor], [whole])
    return whole


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None):
    """Return on rank i the sum (or average) of every rank's i-th tensor; fill `output` as well."""
    _check_sum(output, op, "reduce_scatter")
    result = _ReduceScatter.apply(op, _group_for(group, "reduce_scatter"), *input_list)
    _fill([output], [result])
    return result


def all_to_all(output_tensor_list, input_tensor_list, group=None) -> tuple:
    """Return on rank i every rank's i-th tensor, shaped like the first list, whose tensors are filled as well."""
    shapes = [t.shape for t in output_tensor_list]
    results = _AllToAll.apply(_group_for(group, "all_to_all"), shapes, *input_tensor_list)
    _fill(output_tensor_list, results)
    return results


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None):
    """Run all_to_all on one tensor, split along its first dimension (evenly, or by the given sizes)."""
    size = _group_for(group, "all_to_all_single").size()
    parts = [input.split(collectives.row_counts(input, input_split_sizes, size, "input"), 0),
             output.split(collectives.row_counts(output, output_split_sizes, size, "output"), 0)]
    whole = FUNCTIONS["cat"](_AllToAll.apply(_group_for(group, "all_to_all_single"), [t.shape for t in parts[1]], *parts[0]))
    _fill([output], [whole])
    return whole
