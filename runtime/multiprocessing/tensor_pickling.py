"""Pickling of tensors between processes: as shared memory, never as a copy of values.

A tensor sent through a queue or pipe, or passed to a new process, moves to shared memory. Sender and receiver then see each
other's writes.
"""

import threading
from multiprocessing import resource_sharer, util
from multiprocessing.reduction import DupFd, ForkingPickler
from time import monotonic, sleep
from typing import Any

from ...ir.errors import DeviceError
from ..core.tensor import Tensor
from ..nn.base.parameter import Buffer, Parameter
from .shared_memory import CAN_SHARE, SharedBlock, block_from, block_of, empty
from .shared_tensors import check_sendable, share_memory_

_PATIENCE = 5.0    # seconds that an ending process waits for receivers of its tensors
_NOT_STATE = ("_base", "_data_version", "_path", "_retained_grad", "_former_leaf", "_part_of", "_retains", "_traced")


def reduce_block(block: SharedBlock):
    """Reduce a block to a file descriptor for the receiver."""
    return _rebuild_block, (DupFd(block.fd),)


def _rebuild_block(handle):
    try:
        fd = handle.detach()
    except (ConnectionError, FileNotFoundError, EOFError) as e:
        raise DeviceError("a tensor in shared memory cannot be received: the process that sent it has ended. Keep the sender "
                          "alive until its tensors have arrived") from e
    return block_from(fd)


def reduce_tensor(t: Tensor):
    """Reduce a tensor to a window into its block."""
    check_sendable(t)
    a = _shared_array(t)
    block: Any = block_of(a)
    window = (a.ctypes.data - block.address, a.shape, a.strides)
    state = {k: v for k, v in t.__dict__.items() if k not in _NOT_STATE}
    return rebuild_tensor, (type(t), block, t._storage, t.dtype, window, t.requires_grad, state)


def _shared_array(t):
    """Return the array of a tensor in a block that can still be sent."""
    share_memory_(t)
    block: Any = block_of(t._a)
    if block.fd is None:
        copy = empty(t._a.shape, t._a.dtype)
        copy[...] = t._a
        return copy
    return t._a


def rebuild_tensor(cls, block, storage, dtype, window, requires_grad, state):
    """Return the receiver's tensor over the same memory."""
    offset, shape, strides = window
    t = object.__new__(cls)
    t._a = block.array(shape, dtype.np, offset, strides)
    t._node = None
    t._storage = storage
    storage.lend()
    t.__dict__.update(state)
    return t.requires_grad_() if requires_grad else t


def _wait_for_receivers():
    """Wait at the end of a process for receivers: they fetch sent tensors from this process."""
    deadline = monotonic() + _PATIENCE
    for thread in threading.enumerate():
        if thread.name == "QueueFeederThread":      # it ends now, and may be about to send
            thread.join(max(0.0, deadline - monotonic()))
    waiting = getattr(getattr(resource_sharer, "_resource_sharer", None), "_cache", None)
    while waiting and monotonic() < deadline:
        sleep(0.005)


def _at_end_of_process(_=None):
    """Register the wait, after queues finish (priority 10) and before the listener closes (0)."""
    util.Finalize(None, _wait_for_receivers, exitpriority=5)


class _Registration:
    """Object that lives as long as this module, for `register_after_fork`."""


def init_reductions():
    """Make multiprocessing send tensors as shared memory, if the platform has it."""
    if not CAN_SHARE:
        return
    ForkingPickler.register(SharedBlock, reduce_block)
    for cls in (Tensor, Parameter, Buffer):
        ForkingPickler.register(cls, reduce_tensor)
    _at_end_of_process()
    util.register_after_fork(_registration, _at_end_of_process)


_registration = _Registration()
