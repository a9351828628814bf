"""Links between two ranks on one machine: a Unix socket, frames on it, and blocks of shared memory that it lends."""

import array
import os
import select
import socket
import struct
from collections import deque
from collections.abc import Callable

import numpy as np

from ....ir.locks import Turn, new_lock
from ..stores.distributed_errors import DistBackendError, DistError, DistNetworkError
from .shared_blocks import Block, SharedBlocks, mapped

INLINE_BYTES = 1 << 14      # larger bodies are lent in shared memory
_INLINE, _LENT, _RETURNED, _DROPPED = range(4)
_FRAME = struct.Struct("<BBHIqqQ")      # kind, whether it brings a descriptor, bytes of the note, block, group, tag, bytes
_READ = 1 << 18
_FDS = socket.CMSG_SPACE(8 * 4)         # descriptors that one read takes
_CLOSED_ON_EXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
_MOST = 1 << 48             # bytes of a body


class _Loan:
    """Body in another rank's memory. It goes back when no array refers to it any more."""

    def __init__(self, view: np.ndarray, number: int, returns: deque):
        self.__array_interface__ = {**view.__array_interface__}
        self._view, self._number, self._returns = view, number, returns

    def __del__(self):
        self._returns.append(self._number)


class Link:
    """Connection of this rank to another one.

    `arrived(channel, note, body)` takes each message; `dropped(block)` tells all ranks of a block that is no more.
    """

    def __init__(self, other: int, sock: socket.socket, blocks: SharedBlocks, arrived: Callable, dropped: Callable):
        self.other, self.sock, self.blocks, self._arrived, self._block_dropped = other, sock, blocks, arrived, dropped
        sock.setblocking(False)
        self.broken = ""            # the reason, once frames can be sent no more
        self._sending = new_lock()
        self._returns: deque[int] = deque()         # numbers of blocks that this rank has read
        self._dropped: deque[int] = deque()         # numbers of own blocks that are no more
        self._unread = bytearray()
        self._fds: deque[int] = deque()
        self._theirs: dict[int, np.ndarray] = {}

    # Sending.

    def send(self, channel: tuple, note: str, body: np.ndarray, block: Block | None, wait: Callable[[], None]):
        """Send a message: a body, or a block that has it. `wait` takes in messages while the socket is full."""
        said = note.encode()
        with self._sending:
            if block is None:
                self._write([_FRAME.pack(_INLINE, 0, len(said), 0, *channel, body.size), said, body.data], (), wait)
            else:
                new = self.other not in block.known
                block.known.add(self.other)
                frame = _FRAME.pack(_LENT, new, len(said), block.number, *channel, body.size)
                self._write([frame, said, block.size.to_bytes(8, "little") if new else b""], (block.fd,) if new else (), wait)

    def forget(self, block: Block):
        """Tell the other rank that a block is no more."""
        if self.other in block.known:
            self._dropped.append(block.number)
            self.flush()

    def flush(self):
        """Return blocks that were read, unless a message is being sent, which does that as well."""
        if not (self._returns or self._dropped) or self.broken:
            return
        turn = Turn()
        try:
            if turn.takes(self._sending, False):
                self._write([], (), None)
        except DistNetworkError:
            return          # a receiver or the next sender says so
        finally:
            turn.give_back()

    def _write(self, parts: list, fds: tuple, wait: Callable[[], None] | None):
        """Send frames, then returns of blocks. Without `wait` nothing is sent if the socket is full."""
        if self.broken:
            raise DistNetworkError(self.broken)
        notes = [(kind, numbers, numbers.popleft()) for kind, numbers in ((_RETURNED, self._returns), (_DROPPED, self._dropped))
                 for _ in range(len(numbers))]
        parts = [*parts, b"".join([_FRAME.pack(kind, 0, 0, number, 0, 0, 0) for kind, _, number in notes])]
        left = [memoryview(p).cast("B") for p in parts if len(p)]
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        began = False
        try:
            while left:
                try:
                    n = self.sock.sendmsg(left, rights)
                except BlockingIOError:
                    if wait is not None:
                        wait()
                    elif began:
                        select.select((), (self.sock,), ())
                    else:
                        for _, numbers, number in notes:
                            numbers.append(number)
                        return
                    continue
                rights, began = [], True
                while left and n >= len(left[0]):
                    n -= len(left.pop(0))
                if n:
                    left[0] = left[0][n:]
        except BaseException as e:
            if isinstance(e, OSError) and not isinstance(e, DistError):
                self.broken = f"it has gone ({e})"
                raise DistNetworkError(self.broken) from e
            if began:
                self.broken = "a message to it was interrupted"
            raise

    # Receiving.

    def read(self) -> bool:
        """Take in what has arrived; return whether more can come."""
        while True:
            try:
                data, notes, _, _ = self.sock.recvmsg(_READ, _FDS, _CLOSED_ON_EXEC)
            except BlockingIOError:
                return True
            except OSError:
                return False
            for level, kind, payload in notes:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    self._fds.extend(array.array("i", payload[:len(payload) // 4 * 4]))
            if not data:
                return False
            self._unread += data
            self._take_frames()
            if len(data) < _READ and not notes:
                return True

    def _take_frames(self):
        at, unread = 0, self._unread
        while len(unread) - at >= _FRAME.size:
            kind, fresh, length, number, group, tag, size = _FRAME.unpack_from(unread, at)
            begin = at + _FRAME.size
            if kind == _RETURNED:
                for block in self.blocks.take_back(number):
                    self._block_dropped(block)
                at = begin
                continue
            if kind == _DROPPED:
                self._theirs.pop(number, None)
                at = begin
                continue
            if size > (INLINE_BYTES if kind == _INLINE else _MOST):
                raise DistBackendError(f"rank {self.other} sent a frame that is not of this protocol")
            end = begin + length + (size if kind == _INLINE else 8 * fresh)
            if len(unread) < end:
                break
            note = bytes(unread[begin:begin + length]).decode()
            if kind == _INLINE:
                body = np.frombuffer(bytes(unread[begin + length:end]), np.uint8)
            else:
                if fresh:
                    self._theirs[number] = mapped(self._fds.popleft(), int.from_bytes(unread[end - 8:end], "little"))
                body = np.asarray(_Loan(self._theirs[number][:size], number, self._returns))
            self._arrived((group, tag), note, body)
            at = end
        del unread[:at]

    def close(self):
        """Close the socket and its unread descriptors."""
        self.broken = self.broken or "this rank has left the run"
        self.sock.close()
        while self._fds:
            os.close(self._fds.popleft())


def peer(sock: socket.socket) -> tuple[int, int] | None:
    """Return (process, user) at the other end of a Unix socket, where the system tells."""
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    pid, uid, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return pid, uid
