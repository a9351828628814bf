"""Transport of batches from a worker to its parent: memory by reference, the rest as a small message.

A worker collates into shared blocks. A message names the pieces of blocks with its tensors and arrays. A block's file
descriptor is sent once, with the first message that needs it. When nothing in the parent refers to a block any more, the
worker learns so and reuses it. In the steady state no memory is mapped, zeroed or copied.
"""

import array
import io
import os
import pickle
import socket
import weakref
from collections import deque
from typing import Any

import numpy as np

from ..core.tensor import Tensor, wrap
from ..cpu.memory.alloc import size_class
from ..multiprocessing.shared_memory import CAN_SHARE, SharedBlock
from ..multiprocessing.shared_tensors import check_sendable

INLINE_BYTES = 4096         # smaller values travel inside the message
_MOST_FREE = 8              # unused blocks that a worker caches
_DESCRIPTORS_AT_ONCE = 100


# The worker's side.


class _Slot:
    """Block of this worker: its number, and its users."""

    __slots__ = ("block", "lease", "number", "remote", "sent")

    def __init__(self, number, block):
        self.number, self.block = number, block
        self.lease = None       # weak reference to the piece that arrays in this process use
        self.remote = 0         # pieces that the parent uses
        self.sent = False       # whether the parent has it mapped

    is_free = property(lambda self: not self.remote and (self.lease is None or self.lease() is None))


class Outbox:
    """Sender: makes arrays in shared blocks, and messages that refer to them."""

    def __init__(self):
        self.slots: dict[int, _Slot] = {}
        self.dropped: list[int] = []
        self.block_count = 0

    def empty(self, shape, dtype) -> np.ndarray:
        """Return an uninitialised array, in a shared block unless it is small."""
        dtype = np.dtype(dtype)
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        if size < INLINE_BYTES or not CAN_SHARE:
            return np.empty(shape, dtype)
        slot = self._slot(size_class(size))
        lease = slot.block.lease(0, size)
        slot.lease = weakref.ref(lease)
        return np.ndarray(shape, dtype, lease)

    def _slot(self, size) -> _Slot:
        free = [s for s in self.slots.values() if s.is_free]
        for slot in free:
            if slot.block.size == size:
                return slot
        for slot in free[_MOST_FREE:]:
            del self.slots[slot.number]
            if slot.sent:
                self.dropped.append(slot.number)
        self.block_count += 1
        slot = self.slots[self.block_count] = _Slot(self.block_count, SharedBlock.new(size))
        return slot

    def returned(self, numbers):
        """Record that the parent returned one piece of each of these blocks."""
        for number in numbers:
            self.slots[number].remote -= 1

    def pack(self, value) -> tuple:
        """Return (message, slots that the parent does not know yet) for a value."""
        stream = io.BytesIO()
        pieces: list[tuple] = []
        try:
            _Pickler(stream, 5, buffer_callback=lambda buffer: self._place(buffer, pieces)).dump(value)
        except BaseException:
            self.returned([number for number, _, _ in pieces])
            raise
        body: Any = stream.getbuffer()
        if len(body) >= INLINE_BYTES and CAN_SHARE:
            body = self._piece(np.frombuffer(body, np.uint8))
            self.slots[body[0]].remote += 1
        else:
            body = bytes(body)
        used = {number for number, _, _ in pieces} | ({body[0]} if type(body) is tuple else set())
        fresh = [self.slots[n] for n in sorted(used) if not self.slots[n].sent]
        dropped, self.dropped = self.dropped, []
        return (body, pieces, [s.number for s in fresh], dropped), fresh

    def _place(self, buffer, pieces) -> bool:
        """Place an array's memory in a block (copying if needed) and append the piece; return True to send it inline."""
        memory = buffer.raw()
        if memory.nbytes < INLINE_BYTES or not CAN_SHARE:
            return True
        piece = self._piece(np.frombuffer(memory, np.uint8))
        self.slots[piece[0]].remote += 1
        pieces.append(piece)
        return False

    def _piece(self, flat) -> tuple:
        address = flat.ctypes.data
        for slot in self.slots.values():
            offset = address - slot.block.address
            if 0 <= offset < slot.block.size:
                return slot.number, offset, flat.nbytes
        copy = self.empty(flat.shape, np.uint8)
        copy[...] = flat
        return self._piece(copy)


class _Pickler(pickle.Pickler):
    """Pickler of a batch. Nothing here may refer to the pickler, which refers to the batch: the batch must die at once."""

    def reducer_override(self, obj):
        if not isinstance(obj, Tensor):
            return NotImplemented
        check_sendable(obj)
        a = np.ascontiguousarray(obj._a).reshape(obj._a.shape)
        state = {k: v for k, v in obj.__dict__.items() if not k.startswith("_")}
        memory = pickle.PickleBuffer(a.reshape(-1).view(np.uint8))
        return _rebuild, (type(obj), memory, obj.dtype, a.shape, obj.requires_grad, state)


def _rebuild(cls, memory, dtype, shape, requires_grad, state):
    t = wrap(np.ndarray(shape, dtype.np, memory))
    if cls is not Tensor:
        made = object.__new__(cls)
        made._a, made._node, made._shared = t._a, None, None
        t = made
    if state:
        t.__dict__.update(state)
    return t.requires_grad_() if requires_grad else t


def send(connection, sock, packed):
    """Send a packed value; close a block's descriptor after sending it."""
    header, fresh = packed
    connection.send_bytes(pickle.dumps(header, 5))
    for start in range(0, len(fresh), _DESCRIPTORS_AT_ONCE):
        some = array.array("i", [slot.block.fd for slot in fresh[start:start + _DESCRIPTORS_AT_ONCE]])
        sock.sendmsg([b"f"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, some)])
    for slot in fresh:
        slot.block.forget_file()
        slot.sent = True


# The parent's side.


class _LeaseReference(weakref.ref):
    """Weak reference that reports the death of the last array over a piece."""

    __slots__ = ("number",)
    number: int


class Inbox:
    """Receiver for one worker: its blocks, and pieces that are free again."""

    def __init__(self):
        self.blocks: dict[int, SharedBlock] = {}
        self.references: dict[int, _LeaseReference] = {}
        self.gone: deque = deque()

    def receive(self, connection, sock):
        """Return the next value from a worker; raise EOFError or OSError if the worker is gone."""
        body, pieces, fresh, dropped = pickle.loads(connection.recv_bytes())
        descriptors = _received(sock, len(fresh))
        for number, fd in zip(fresh, descriptors):
            self.blocks[number] = SharedBlock(fd)
            self.blocks[number].forget_file()
        if type(body) is tuple:
            body = self._lease(*body)
        value = pickle.loads(body, buffers=[self._lease(*p) for p in pieces])
        for number in dropped:
            self.blocks.pop(number, None)
        return value

    def _lease(self, number, offset, size):
        lease = self.blocks[number].lease(offset, size)
        reference = _LeaseReference(lease, self._record_free)
        reference.number = number
        self.references[id(reference)] = reference
        return lease

    def _record_free(self, reference):
        """Record that a piece is free. Any thread may call this."""
        self.references.pop(id(reference), None)
        self.gone.append(reference.number)

    def to_return(self) -> list:
        """Return the blocks with a piece freed since the last call."""
        numbers = []
        while self.gone:
            numbers.append(self.gone.popleft())
        return numbers


def _received(sock, count) -> list:
    """Return the file descriptors that follow a message."""
    descriptors = array.array("i")
    while len(descriptors) < count:
        room = socket.CMSG_SPACE(_DESCRIPTORS_AT_ONCE * descriptors.itemsize)
        data, ancillary, _, _ = sock.recvmsg(1, room)
        if not data:
            raise EOFError
        for level, kind, content in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors.frombytes(content[:len(content) - len(content) % descriptors.itemsize])
    return list(descriptors)


def socket_of(connection):
    """Return the socket under a connection, for messages with file descriptors; None without them."""
    return socket.socket(fileno=os.dup(connection.fileno())) if CAN_SHARE else None
