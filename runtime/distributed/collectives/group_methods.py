"""Collectives as methods of ProcessGroup. Ranks are positions in the group; all methods return a Work."""

from ....ir.errors import ArgumentError
from ..engines.reduce_op import ReduceOp
from ..groups.process_group import ProcessGroup
from . import collectives, point_to_point


def _method(function):
    setattr(ProcessGroup, function.__name__, function)
    return function


def _require_own_timeout(timeout):
    """Raise for a time limit of one call: all collectives of a group run in order, under its limit."""
    if timeout is not None:
        raise ArgumentError("a collective has the time limit of its group; pass the limit to new_group(timeout=), or to wait()")


def _one(tensors):
    """Return the tensor of a call: libraries pass it alone, or in a list of one for each device of the process."""
    return tensors[0] if isinstance(tensors, (list, tuple)) and len(tensors) == 1 else tensors


def _several(tensors):
    """Return the tensors of a call, passed as a list or a list of one list."""
    return tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors


@_method
def allreduce(self, tensors, op=ReduceOp.SUM, timeout=None):
    """Replace the tensor on every rank by the combination of all."""
    _require_own_timeout(timeout)
    return collectives.all_reduce(_one(tensors), op, self, True)


@_method
def reduce(self, tensors, root=0, op=ReduceOp.SUM, timeout=None):
    """Replace the tensor on one rank by the combination of all."""
    _require_own_timeout(timeout)
    return collectives.reduce(_one(tensors), None, op, self, True, group_dst=root)


@_method
def broadcast(self, tensors, root=0, timeout=None):
    """Replace the tensor on every rank by that of one."""
    _require_own_timeout(timeout)
    return collectives.broadcast(_one(tensors), None, self, True, group_src=root)


@_method
def allgather(self, output_tensors, input_tensor, timeout=None):
    """Fill the list with every rank's tensor."""
    _require_own_timeout(timeout)
    return collectives.all_gather(_several(output_tensors), _one(input_tensor), self, True)


@_method
def _allgather_base(self, output, input, timeout=None):
    """Fill a tensor with every rank's tensor, one after the other."""
    _require_own_timeout(timeout)
    return collectives.all_gather_into_tensor(output, input, self, True)


@_method
def gather(self, output_tensors, input_tensor, root=0, timeout=None):
    """Fill the list on one rank with every rank's tensor."""
    _require_own_timeout(timeout)
    found = _several(output_tensors) if self.rank() == root else None
    return collectives.gather(_one(input_tensor), found, None, self, True, group_dst=root)


@_method
def scatter(self, output_tensor, input_tensors, root=0, timeout=None):
    """Fill the tensor on each rank with that rank's entry of the list on one."""
    _require_own_timeout(timeout)
    given = _several(input_tensors) if self.rank() == root else None
    return collectives.scatter(_one(output_tensor), given, None, self, True, group_src=root)


@_method
def reduce_scatter(self, output_tensor, input_tensors, op=ReduceOp.SUM, timeout=None):
    """Fill the tensor on rank i with the combination of every rank's i-th."""
    _require_own_timeout(timeout)
    return collectives.reduce_scatter(_one(output_tensor), _several(input_tensors), op, self, True)


@_method
def _reduce_scatter_base(self, output, input, op=ReduceOp.SUM, timeout=None):
    """Run reduce_scatter on one tensor, split into a piece for each rank."""
    _require_own_timeout(timeout)
    return collectives.reduce_scatter_tensor(output, input, op, self, True)


@_method
def alltoall(self, output_tensors, input_tensors, timeout=None):
    """Send the i-th tensor to rank i, and receive one from each."""
    _require_own_timeout(timeout)
    return collectives.all_to_all(output_tensors, input_tensors, self, True)


@_method
def alltoall_base(self, output, input, output_split_sizes, input_split_sizes, timeout=None):
    """Run alltoall on one tensor, split along its first dimension."""
    _require_own_timeout(timeout)
    return collectives.all_to_all_single(output, input, output_split_sizes, input_split_sizes, self, True)


@_method
def send(self, tensors, dst, tag=0):
    """Send a tensor to a rank of the group."""
    return point_to_point.isend(_one(tensors), None, self, tag, group_dst=dst)


@_method
def recv(self, tensors, src, tag=0):
    """Receive a tensor from a rank of the group."""
    return point_to_point.irecv(_one(tensors), None, self, tag, group_src=src)


@_method
def recv_anysource(self, tensors, tag=0):
    """Receive a tensor from the first rank that sends one."""
    return point_to_point.irecv(_one(tensors), None, self, tag)


@_method
def barrier(self, timeout=None):
    """Return a Work that is done when all ranks have arrived."""
    _require_own_timeout(timeout)
    return collectives.barrier(self, True)
