"""Collectives on tensors, in place. Every rank gets the same bits, since values are combined in the order of ranks."""

import functools
import time
from typing import Any

import numpy as np

from ....ir.errors import ArgumentError, DTypeError, ShapeError
from ...autograd.grad_mode import no_grad
from ...core.device_array import DeviceArray, address_of, may_share_memory
from ...core.device_array import place_of as place_of_array
from ...core.placement import on_device_of
from ...core.tensor import Tensor, wrap
from ...core.writes import is_plain, write, write_by, wrote_plainly
from ...state.mode import tls
from ..engines.engine import others
from ..engines.reduce_op import ReduceOp, check_op
from ..groups.world import member_of
from ..stores.distributed_errors import DistTimeoutError
from ..stores.store import seconds
from .traceable import done_in_order, traceable

_SIGNS = -2         # tag of the messages of monitored barriers
_GRACE = 0.1        # seconds to take in a message that has been sent

__all__ = ["all_gather", "all_gather_into_tensor", "all_reduce", "all_reduce_coalesced", "all_to_all", "all_to_all_single",
           "barrier", "broadcast", "gather", "monitored_barrier", "reduce", "reduce_scatter", "reduce_scatter_tensor",
           "scatter"]


def check_tensor(t, what: str) -> Any:
    """Return a tensor's array, on any device; raise for tensors without values."""
    if not isinstance(t, Tensor):
        raise DTypeError(f"{what} takes tensors, got {type(t).__name__}")
    if t._a.__class__ is DeviceArray and t._a.kind in ("meta", "batch"):
        inside = "of the meta device" if t._a.kind == "meta" else "inside of vmap"
        raise DTypeError(f"{what} sends values, and a tensor {inside} has none of its own")
    return t._a


def deliver(t, a, what: str):
    """Write received values into a tensor, on its device."""
    with no_grad():
        write(t, on_device_of(wrap(a.reshape(t._a.shape)), t), what)


def fill(t, by, what: str, channel, is_apart: bool = True):
    """Let `by(out)` compute the values of a tensor, straight into its memory where that is contiguous memory of the channel.
    Elsewhere, or if they are not apart from its operands, values are written after the collective."""
    a, m = t._a, tls.m
    reaches = is_apart and channel.reaches(a)
    if reaches and is_plain(t, m):
        m.run(by, a)
        wrote_plainly(t, what)
        return
    if reaches and a.flags.c_contiguous and a.flags.writeable:
        with no_grad():
            write_by(t, by, what)
        return
    out = channel.empty(a.shape, a.dtype)
    by(out)
    deliver(t, out, what)


def _is_apart(part, whole, row: int) -> bool:
    """Return whether the memory of a part is not in that of a whole, or just that of one of its rows."""
    if not may_share_memory(part, whole):
        return True
    are_contiguous = part.flags.c_contiguous and whole.flags.c_contiguous
    return are_contiguous and address_of(part) == address_of(whole) + row * part.nbytes


def _deliver_each(tensors, found, here: int, what: str):
    """Write the values from all ranks, first the own ones: they may lie where those of others will."""
    for r in sorted(range(len(tensors)), key=lambda r: r != here):
        deliver(tensors[r], found[r], what)


def _described(what, a, *more) -> str:
    return _note(what, a.size, a.dtype, more)


@functools.lru_cache(1024)
def _note(what, size, dtype, more) -> str:
    return " ".join([what, f"of {size} {dtype.name}", *more])


def _alike(tensors, a, what, count):
    """Return the arrays of a list with one tensor like `a` for each rank."""
    if not isinstance(tensors, (list, tuple)) or len(tensors) != count:
        said = f"{len(tensors)} tensors" if isinstance(tensors, (list, tuple)) else type(tensors).__name__
        raise ArgumentError(f"{what} takes a list with one tensor for each of the {count} ranks, got {said}")
    arrays = [check_tensor(t, what) for t in tensors]
    for other in arrays:
        if other.dtype != a.dtype or other.size != a.size:
            raise ShapeError(f"{what} takes tensors alike on all ranks; the list has a {other.dtype.name} of shape "
                             f"{list(other.shape)} beside a {a.dtype.name} of shape {list(a.shape)}")
    return arrays


def place_of(group, rank, group_rank, what, default=None) -> int:
    """Return the group position that an argument pair names."""
    if group_rank is not None:
        if rank is not None:
            raise ArgumentError(f"{what} takes a rank of the run or of the group, not both")
        if not 0 <= group_rank < group.size():
            raise ArgumentError(f"{what}: the group has no rank {group_rank}")
        return group_rank
    return group.position_of(default if rank is None else rank, what)


# One value for all.


@traceable(reads=("tensor",), writes=("tensor",))
def all_reduce(tensor, op=ReduceOp.SUM, group=None, async_op=False):
    """Replace the tensor on every rank by the combination of all of them."""
    group = member_of(group, "all_reduce")
    if group is None:
        return None
    a = check_tensor(tensor, "all_reduce")
    check_op(op, tensor.dtype)
    note, channel = _described("all_reduce", a, op.value), group.channel_of(a)

    def work():
        fill(tensor, lambda out: channel.all_reduce(channel.operand(tensor._a), op, note, out), "all_reduce", channel)
        return [tensor]

    return group.run(work, async_op, channel)


def all_reduce_coalesced(tensors, op=ReduceOp.SUM, group=None, async_op=False):
    """Run all_reduce on several tensors."""
    works = [all_reduce(t, op, group, async_op) for t in tensors]
    return works[-1] if works else None


@traceable(reads=("tensor",), writes=("tensor",))
def reduce(tensor, dst=None, op=ReduceOp.SUM, group=None, async_op=False, group_dst=None):
    """Replace the tensor on rank `dst` by the combination of all of them."""
    group = member_of(group, "reduce")
    if group is None:
        return None
    a = check_tensor(tensor, "reduce")
    check_op(op, tensor.dtype)
    to = place_of(group, dst, group_dst, "reduce")
    note, channel = _described("reduce", a, op.value, f"to {group.ranks[to]}"), group.channel_of(a)

    def work():
        found = channel.reduce(channel.operand(tensor._a), to, op, note)
        if found is not None:
            deliver(tensor, found, "reduce")
        return [tensor]

    return group.run(work, async_op, channel)


@traceable(reads=("tensor",), writes=("tensor",))
def broadcast(tensor, src=None, group=None, async_op=False, group_src=None):
    """Replace the tensor on every rank by that of rank `src`."""
    group = member_of(group, "broadcast")
    if group is None:
        return None
    a = check_tensor(tensor, "broadcast")
    source = place_of(group, src, group_src, "broadcast")
    note, channel = _described("broadcast", a, f"from {group.ranks[source]}"), group.channel_of(a)

    def work():
        if group.rank() == source:
            channel.broadcast(channel.operand(tensor._a), source, note)
        else:
            fill(tensor, lambda out: channel.broadcast(out, source, note, out), "broadcast", channel)
        return [tensor]

    return group.run(work, async_op, channel)


def copy_from(group, first: int, tensors, what: str):
    """Copy values from one rank of a group to all others, joined by dtype and device."""
    kinds: dict = {}
    for t in tensors:
        kinds.setdefault((t._a.dtype, place_of_array(t._a)), []).append(t)
    for (kind, _), same in kinds.items():
        sizes = [t._a.size for t in same]
        note = f"module state of {sum(sizes)} {kind.name}"

        def exchange(*tensors, note=note, sizes=sizes):
            channel, found = group.channel_of(*[t._a for t in tensors]), []
            flat = channel.joined([channel.operand(t._a) for t in tensors])
            group.run(lambda: found.append(channel.broadcast(flat, first, note)), False, channel)
            return [wrap(piece.reshape(t._a.shape)) for t, piece in zip(tensors, channel.cut(found[0], np.cumsum(sizes)[:-1]))]

        exchange.enters_streams = group.is_on_devices(*[t._a for t in same])        # type: ignore[attr-defined]
        for t, value in zip(same, done_in_order(exchange, same, (note, first))):
            if group.rank() != first:
                with no_grad():
                    write(t, on_device_of(value, t), what)


@traceable()
def barrier(group=None, async_op=False, device_ids=None):
    """Return when all ranks have arrived. `device_ids` are ignored: processes meet, not devices."""
    group = member_of(group, "barrier")
    if group is None:
        return None
    return group.run(lambda: group.channel.barrier("barrier"), async_op)


@traceable()
def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
    """Wait for all ranks; raise an error that names a rank missing after the timeout, or with `wait_all_ranks` all of them."""
    group = member_of(group, "monitored_barrier")
    if group is None:
        return
    limit = seconds(group.timeout if timeout is None else timeout)
    missing: list = []
    group.run(lambda: _wait_for_each(group, limit, wait_all_ranks, missing), False)
    if missing:
        named = f"ranks {missing}, which" if wait_all_ranks else f"rank {missing[0]}, which"
        raise DistTimeoutError(f"monitored_barrier: rank {group.engine.rank} waited {limit:g} s for {named} sent nothing")


def _wait_for_each(group, limit: float, also_after_missing: bool, missing: list):
    """Wait for a sign of every rank; add the first missing one to a list, or all."""
    engine, channel = group.engine, (group.number, _SIGNS)
    away = [group.ranks[r] for r in others(group)]
    tickets = [engine.inbox.ticket(r, channel) for r in away]
    engine.send(away, channel, "barrier", np.empty(0, np.uint8))
    deadline = time.monotonic() + limit
    for r, ticket in zip(away, tickets):
        try:
            engine.inbox.receive(r, channel, ticket, max(_GRACE, deadline - time.monotonic()), "barrier")
        except DistTimeoutError:
            missing.append(r)
            if not also_after_missing:
                return


# A value from each.


@traceable(reads=("tensor",), writes=("tensor_list",))
def all_gather(tensor_list, tensor, group=None, async_op=False):
    """Fill the list with every rank's tensor."""
    group = member_of(group, "all_gather")
    if group is None:
        return None
    a = check_tensor(tensor, "all_gather")
    _alike(tensor_list, a, "all_gather", group.size())
    note, channel = _described("all_gather", a), group.channel_of(a)

    def work():
        _deliver_each(tensor_list, channel.all_gather(channel.operand(tensor._a), note), group.rank(), "all_gather")
        return list(tensor_list)

    return group.run(work, async_op, channel)


@traceable(reads=("input_tensor",), writes=("output_tensor",))
def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    """Fill a tensor with every rank's tensor, one after the other."""
    group = member_of(group, "all_gather_into_tensor")
    if group is None:
        return None
    out, a = check_tensor(output_tensor, "all_gather_into_tensor"), check_tensor(input_tensor, "all_gather_into_tensor")
    if out.size != a.size * group.size() or out.dtype != a.dtype:
        raise ShapeError(f"all_gather_into_tensor of {a.dtype.name} {list(a.shape)} from {group.size()} ranks does not fit "
                         f"into {out.dtype.name} {list(out.shape)}")
    note, channel = _described("all_gather_into_tensor", a), group.channel_of(a)

    def work():
        mine, what = channel.operand(input_tensor._a), "all_gather_into_tensor"
        is_apart = _is_apart(mine, output_tensor._a, group.rank())
        fill(output_tensor, lambda out: channel.all_gather(mine, note, out.reshape(group.size(), -1)), what, channel, is_apart)
        return [output_tensor]

    return group.run(work, async_op, channel)


@traceable(reads=("tensor",), writes=("gather_list",))
def gather(tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None):
    """Fill the list on rank `dst` with every rank's tensor."""
    group = member_of(group, "gather")
    if group is None:
        return None
    a = check_tensor(tensor, "gather")
    to = place_of(group, dst, group_dst, "gather", group.ranks[0])
    if group.rank() == to:
        _alike(gather_list, a, "gather", group.size())
    elif gather_list:
        raise ArgumentError("gather takes a gather_list on the rank that gathers only")
    note, channel = _described("gather", a, f"to {group.ranks[to]}"), group.channel_of(a)

    def work():
        _deliver_each(gather_list or (), channel.gather(channel.operand(tensor._a), to, note), group.rank(), "gather")
        return list(gather_list or ())

    return group.run(work, async_op, channel)


# A value for each.


@traceable(reads=("scatter_list",), writes=("tensor",))
def scatter(tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None):
    """Fill the tensor on each rank with that rank's entry of the list on rank `src`."""
    group = member_of(group, "scatter")
    if group is None:
        return None
    a = check_tensor(tensor, "scatter")
    source = place_of(group, src, group_src, "scatter", group.ranks[0])
    mine = group.rank() == source
    if mine:
        _alike(scatter_list, a, "scatter", group.size())
    elif scatter_list:
        raise ArgumentError("scatter takes a scatter_list on the rank that scatters only")
    note, channel = _described("scatter", a, f"from {group.ranks[source]}"), group.channel_of(a)

    def work():
        pieces = [channel.operand(t._a) for t in scatter_list] if mine else None
        deliver(tensor, channel.scatter(pieces, source, note, tensor._a), "scatter")
        return [tensor]

    return group.run(work, async_op, channel)


@traceable(reads=("input_list",), writes=("output",))
def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None, async_op=False):
    """Fill `output` on rank i with the combination of every rank's i-th tensor."""
    group = member_of(group, "reduce_scatter")
    if group is None:
        return None
    a = check_tensor(output, "reduce_scatter")
    check_op(op, output.dtype)
    _alike(input_list, a, "reduce_scatter", group.size())
    note, channel = _described("reduce_scatter", a, op.value), group.channel_of(a)

    def work():
        pieces, here = [channel.operand(t._a) for t in input_list], group.rank()
        is_apart = _is_apart(output._a, pieces[here], 0) and not any(
            may_share_memory(output._a, p) for r, p in enumerate(pieces) if r != here)
        fill(output, lambda out: channel.reduce_scatter(pieces, op, note, out), "reduce_scatter", channel, is_apart)
        return [output]

    return group.run(work, async_op, channel)


@traceable(reads=("input",), writes=("output",))
def reduce_scatter_tensor(output, input, op=ReduceOp.SUM, group=None, async_op=False):
    """Run reduce_scatter on one tensor, split into a piece for each rank."""
    group = member_of(group, "reduce_scatter_tensor")
    if group is None:
        return None
    out, a = check_tensor(output, "reduce_scatter_tensor"), check_tensor(input, "reduce_scatter_tensor")
    check_op(op, output.dtype)
    if a.size != out.size * group.size() or out.dtype != a.dtype:
        raise ShapeError(f"reduce_scatter_tensor of {a.dtype.name} {list(a.shape)} over {group.size()} ranks does not fit into "
                         f"{out.dtype.name} {list(out.shape)}")
    note, channel = _described("reduce_scatter_tensor", out, op.value), group.channel_of(out)

    def work():
        pieces, what = channel.operand(input._a).reshape(group.size(), -1), "reduce_scatter_tensor"
        is_apart = _is_apart(output._a, pieces, group.rank())
        fill(output, lambda out: channel.reduce_scatter(pieces, op, note, out.reshape(-1)), what, channel, is_apart)
        return [output]

    return group.run(work, async_op, channel)


@traceable(reads=("input_tensor_list",), writes=("output_tensor_list",))
def all_to_all(output_tensor_list, input_tensor_list, group=None, async_op=False):
    """Send the i-th tensor to rank i, and receive one from each; sizes may differ from rank to rank."""
    group = member_of(group, "all_to_all")
    if group is None:
        return None
    for tensors in (output_tensor_list, input_tensor_list):
        if len(tensors) != group.size():
            raise ArgumentError(f"all_to_all takes one tensor for each of the {group.size()} ranks, got {len(tensors)}")
    kind = _one_kind([*output_tensor_list, *input_tensor_list], "all_to_all")
    note, channel = f"all_to_all of {kind}", group.channel_of(*[t._a for t in output_tensor_list])

    def work():
        outs = [channel.empty(t._a.shape, t._a.dtype) for t in output_tensor_list]
        channel.all_to_all([channel.operand(t._a) for t in input_tensor_list], outs, note)
        for t, out in zip(output_tensor_list, outs):
            deliver(t, out, "all_to_all")
        return list(output_tensor_list)

    return group.run(work, async_op, channel)


@traceable(reads=("input",), writes=("output",))
def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False):
    """Run all_to_all on one tensor, split along its first dimension (evenly, or by the given sizes)."""
    group = member_of(group, "all_to_all_single")
    if group is None:
        return None
    cuts = [_rows_of_ranks(t, sizes, group.size(), which)
            for t, sizes, which in ((output, output_split_sizes, "output"), (input, input_split_sizes, "input"))]
    what, channel = "all_to_all_single", group.channel_of(output._a)
    note = f"{what} of {_one_kind([output, input], what)}"

    def work():
        a = channel.operand(input._a)
        pieces, is_apart = channel.cut(a, cuts[1]), not may_share_memory(a, output._a)
        fill(output, lambda out: channel.all_to_all(pieces, channel.cut(out, cuts[0]), note), what, channel, is_apart)
        return [output]

    return group.run(work, async_op, channel)


def _one_kind(tensors, what) -> str:
    """Return the dtype of all tensors by its name."""
    kinds = sorted({check_tensor(t, what).dtype.name for t in tensors})
    if len(kinds) > 1:
        raise DTypeError(f"{what} takes tensors of one dtype, got {' and '.join(kinds)}")
    return kinds[0]


def row_counts(t, sizes, count, which) -> list:
    """Return how many rows of a tensor go to each rank, or come from it."""
    check_tensor(t, "all_to_all_single")
    rows = t._a.shape[0] if t._a.ndim else 1
    sizes = sizes or ([rows // count] * count if rows % count == 0 else [])
    if sum(sizes) != rows or len(sizes) != count:
        raise ShapeError(f"all_to_all_single: the {rows} rows of the {which} do not divide among {count} ranks by {sizes}")
    return list(sizes)


def _rows_of_ranks(t, sizes, count, which) -> np.ndarray:
    """Return where the rows of one rank end and those of the next begin."""
    return np.cumsum(row_counts(t, sizes, count, which))[:-1]
