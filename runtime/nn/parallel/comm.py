"""Differentiable transfers between devices: broadcast, scatter, gather, sums."""

from ....ir.errors import ArgumentError
from ...api.register.register import FUNCTIONS
from ...autograd.grad_mode import no_grad
from ...backends import accelerator
from ...core.device import CPU, Device, require
from ...state.messages import warn

__all__ = ["broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced", "scatter"]


def device_of(device) -> Device:
    """Return the device of a name, a device or an accelerator index. Without accelerators, and for -1, an index means the
    CPU."""
    if not isinstance(device, int):
        return require(device)
    kind = accelerator.current_accelerator()
    return CPU if kind is None or device == -1 else Device(kind.type, accelerator.index_of(device))


def broadcast(tensor, devices=None, *, out=None) -> tuple:
    """Return the tensor on each device: itself on its own device, else copies."""
    if out is not None:
        with no_grad():
            return tuple(o.copy_(tensor) for o in out)
    return tuple(tensor.to(device_of(d), copy=i > 0) for i, d in enumerate(devices))


def broadcast_coalesced(tensors, devices, buffer_size=10485760) -> list:
    """Copy several tensors to each device, one list per device. `buffer_size` is ignored: tensors are not joined
    into buffers."""
    return [list(column) for column in zip(*(broadcast(t, devices) for t in tensors))] or [[] for _ in devices]


def scatter(tensor, devices=None, chunk_sizes=None, dim=0, streams=None, *, out=None) -> tuple:
    """Split a tensor along a dim into a piece per device, like `chunk` (perhaps fewer) or with `chunk_sizes`. `streams` is
    ignored: copies run in the current stream of their device."""
    if out is not None:
        pieces = tensor.split([o.shape[dim] for o in out], dim)
        with no_grad():
            return tuple(o.copy_(p) for o, p in zip(out, pieces))
    pieces = tensor.chunk(len(devices), dim) if chunk_sizes is None else tensor.split(list(chunk_sizes), dim)
    if len(pieces) > len(devices):
        raise ArgumentError(f"scatter: {len(pieces)} chunk_sizes for {len(devices)} devices")
    return tuple(p.to(device_of(d)) for p, d in zip(pieces, devices))


def gather(tensors, dim=0, destination=None, *, out=None):
    """Concatenate tensors along a dim on one device, by default the current accelerator; numbers become a vector."""
    tensors = list(tensors)
    if all(t.ndim == 0 for t in tensors) and dim == 0:
        warn("gather along dim 0 got tensors without dims; it gives a vector of them")
        tensors = [t.unsqueeze(0) for t in tensors]
    if out is not None:
        return FUNCTIONS["cat"]([t.to(out.device) for t in tensors], dim, out=out)
    if destination is None and accelerator.is_available():
        destination = accelerator.current_device_index()
    device = device_of(-1 if destination is None else destination)
    return FUNCTIONS["cat"]([t.to(device) for t in tensors], dim)


def reduce_add(inputs, destination=None):
    """Sum tensors of one shape on one device, by default the current accelerator."""
    inputs = list(inputs)
    if len({tuple(t.shape) for t in inputs}) != 1:
        raise ArgumentError(f"reduce_add takes tensors of one shape, got {[tuple(t.shape) for t in inputs]}")
    if destination is None:
        destination = accelerator.current_device_index() if accelerator.is_available() else -1
    total = inputs[0].to(device_of(destination), copy=True)
    for t in inputs[1:]:
        total = total + t.to(total.device)
    return total


def reduce_add_coalesced(inputs, destination=None, buffer_size=10485760) -> tuple:
    """Sum lists of tensors over devices, position by position. `buffer_size` is ignored: tensors are not joined into
    buffers."""
    return tuple(reduce_add(column, destination) for column in zip(*inputs))
