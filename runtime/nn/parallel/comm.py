"""Tensors between devices, with gradients that come back: copies for several, cuts and joins, sums."""

import warnings

from ....ir.errors import ArgumentError
from ...api.register.register import FUNCTIONS
from ...autograd.grad_mode import no_grad
from ...backends import accelerator
from ...core.device import CPU, Device, require

__all__ = ["broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced", "scatter"]


def placed(device) -> Device:
    """The device that is meant by a name, a device or the index of an accelerator. Where there is none, and for -1, an index
    means the CPU."""
    if not isinstance(device, int):
        return require(device)
    kind = accelerator.current_accelerator()
    return CPU if kind is None or device == -1 else Device(kind.type, accelerator.index_of(device))


def broadcast(tensor, devices=None, *, out=None) -> tuple:
    """The tensor on each device: itself where it is on the first of them already, else copies."""
    if out is not None:
        with no_grad():
            return tuple(o.copy_(tensor) for o in out)
    return tuple(tensor.to(placed(d), copy=i > 0) for i, d in enumerate(devices))


def broadcast_coalesced(tensors, devices, buffer_size=10485760) -> list:
    """Several tensors on each device: one list for each. Every tensor is sent for itself, whatever `buffer_size`."""
    return [list(column) for column in zip(*(broadcast(t, devices) for t in tensors))] or [[] for _ in devices]


def scatter(tensor, devices=None, chunk_sizes=None, dim=0, streams=None, *, out=None) -> tuple:
    """Pieces along a dim, one for each device, as even as `chunk` makes them (so perhaps fewer), or of `chunk_sizes`."""
    if out is not None:
        pieces = tensor.split([o.shape[dim] for o in out], dim)
        with no_grad():
            return tuple(o.copy_(p) for o, p in zip(out, pieces))
    pieces = tensor.chunk(len(devices), dim) if chunk_sizes is None else tensor.split(list(chunk_sizes), dim)
    if len(pieces) > len(devices):
        raise ArgumentError(f"scatter: {len(pieces)} chunk_sizes for {len(devices)} devices")
    return tuple(p.to(placed(d)) for p, d in zip(pieces, devices))


def gather(tensors, dim=0, destination=None, *, out=None):
    """The tensors joined along a dim on one device (the accelerator in use, unless one is named); numbers become a vector."""
    tensors = list(tensors)
    if all(t.ndim == 0 for t in tensors) and dim == 0:
        warnings.warn("gather along dim 0 got tensors without dims; it gives a vector of them", stacklevel=2)
        tensors = [t.unsqueeze(0) for t in tensors]
    if out is not None:
        return FUNCTIONS["cat"]([t.to(out.device) for t in tensors], dim, out=out)
    if destination is None and accelerator.is_available():
        destination = accelerator.current_device_index()
    device = placed(-1 if destination is None else destination)
    return FUNCTIONS["cat"]([t.to(device) for t in tensors], dim)


def reduce_add(inputs, destination=None):
    """The sum of tensors of one shape, on one device (the accelerator in use, unless one is named)."""
    inputs = list(inputs)
    if len({tuple(t.shape) for t in inputs}) != 1:
        raise ArgumentError(f"reduce_add takes tensors of one shape, got {[tuple(t.shape) for t in inputs]}")
    if destination is None:
        destination = accelerator.current_device_index() if accelerator.is_available() else -1
    total = inputs[0].to(placed(destination), copy=True)
    for t in inputs[1:]:
        total = total + t.to(total.device)
    return total


def reduce_add_coalesced(inputs, destination=None, buffer_size=10485760) -> tuple:
    """The sums of the first tensors of each device's list, of the second ones, and so on."""
    return tuple(reduce_add(column, destination) for column in zip(*inputs))
