"""`ingot.distributed._functional_collectives`: collectives that return new tensors, as tensor-parallel libraries call them.

They are complete when they return, and have gradients.
"""

from ....ir.errors import ArgumentError
from ...api.register.register import FUNCTIONS
from ...core.tensor import Tensor
from ..engines.reduce_op import ReduceOp
from ..groups.world import the_group
from . import differentiable_collectives
from .device_mesh import DeviceMesh

__all__ = ["AsyncCollectiveTensor", "all_gather_tensor", "all_gather_tensor_autograd", "all_reduce", "all_reduce_coalesced",
           "all_to_all_single", "all_to_all_single_autograd", "broadcast", "permute_tensor", "reduce_scatter_tensor",
           "reduce_scatter_tensor_autograd", "wait_tensor"]


class AsyncCollectiveTensor:
    """Type without instances: a result that is still pending."""


def _group(group):
    """Return the group of an argument: a group, a mesh of one dimension, or a mesh and one of its dimensions."""
    if isinstance(group, DeviceMesh):
        return group.get_group()
    if isinstance(group, tuple) and len(group) == 2 and isinstance(group[0], DeviceMesh):
        return group[0].get_group(group[1])
    if isinstance(group, (list, str)):
        raise ArgumentError("a functional collective takes a process group, a DeviceMesh of one dimension, or (mesh, dim); "
                            f"got {group!r}. distributed.new_group makes a group of ranks")
    return the_group(group)


def _op(name: str) -> ReduceOp:
    try:
        return ReduceOp[name.upper()]
    except KeyError:
        raise ArgumentError(f"a reduction is named by one of {[op.value for op in ReduceOp]}, got {name!r}") from None


def wait_tensor(tensor: Tensor) -> Tensor:
    """Return the tensor, which is complete."""
    return tensor


def all_reduce(self, reduceOp, group, tag="") -> Tensor:
    """Return the combination of every rank's tensor; sums and averages have gradients."""
    op = _op(reduceOp)
    if op in (ReduceOp.SUM, ReduceOp.AVG):
        return differentiable_collectives.all_reduce(self, op, _group(group))
    found = FUNCTIONS["clone"](self.detach())
    _group(group).allreduce(found, op).wait()
    return found


def all_reduce_coalesced(self, reduceOp, group, tag="") -> list:
    """Run all_reduce on several tensors."""
    return [all_reduce(t, reduceOp, group) for t in self]


def broadcast(self, src, group, tag="") -> Tensor:
    """Return the tensor of rank `src` of the run."""
    return differentiable_collectives.broadcast(self, src, _group(group))


def all_gather_tensor(self, gather_dim, group, tag="") -> Tensor:
    """Return every rank's tensor, joined along a dimension."""
    return FUNCTIONS["cat"](differentiable_collectives.all_gather(self, _group(group)), gather_dim)


def reduce_scatter_tensor(self, reduceOp, scatter_dim, group, tag="") -> Tensor:
    """Return this rank's piece along a dimension of the sum (or average) of every rank's tensor."""
    members = _group(group)
    size = self.shape[scatter_dim]
    if size % members.size():
        raise ArgumentError(f"reduce_scatter_tensor: {size} along dimension {scatter_dim} do not divide among "
                            f"{members.size()} ranks")
    pieces = self.split(size // members.size(), scatter_dim)
    return differentiable_collectives.reduce_scatter(FUNCTIONS["empty_like"](pieces[0]), pieces, _op(reduceOp), members)


def all_to_all_single(self, output_split_sizes, input_split_sizes, group, tag="") -> Tensor:
    """Send pieces along the first dimension to all ranks (evenly, or by the given sizes), and receive one from each."""
    rows = self.shape[0] if output_split_sizes is None else sum(output_split_sizes)
    out = FUNCTIONS["empty"]((rows, *self.shape[1:]), dtype=self.dtype, device=self.device)
    return differentiable_collectives.all_to_all_single(out, self, output_split_sizes, input_split_sizes, _group(group))


def permute_tensor(self, src_dst, group, tag="") -> Tensor:
    """Return the tensor of the rank that sends to this one: `src_dst[i]` is the target of rank i of the group."""
    members = _group(group)
    if sorted(src_dst) != list(range(members.size())):
        raise ArgumentError(f"permute_tensor takes a permutation of the group's {members.size()} ranks, got {src_dst}")
    to, source = src_dst[members.rank()], list(src_dst).index(members.rank())
    flat = self.reshape(-1)
    sent = [flat.numel() if r == to else 0 for r in range(members.size())]
    received = [flat.numel() if r == source else 0 for r in range(members.size())]
    return all_to_all_single(flat, received, sent, members).reshape(self.shape)


all_gather_tensor_autograd, reduce_scatter_tensor_autograd = all_gather_tensor, reduce_scatter_tensor
all_to_all_single_autograd = all_to_all_single
