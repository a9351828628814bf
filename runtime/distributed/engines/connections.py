"""Connections between the ranks of a run: one socket for each pair, and a reader thread for each socket.

Readers take in all messages at once and store them by channel. So a sender never waits for a receiver, and no order of sends
and receives can block. A channel is (group, tag); its messages keep their order. Receivers draw tickets, so several that wait
are served in order.
"""

import contextlib
import os
import secrets
import socket
import struct
import threading
import time
import weakref
from collections import defaultdict
from typing import Any

import numpy as np

from ....ir.locks import new_condition
from .distributed_errors import DistBackendError, DistNetworkError, DistTimeoutError
from .handshake import admit, introduce
from .socket_messages import connect, is_loopback, read, read_into, write_all
from .store import PrefixStore, seconds

_HEADER = struct.Struct("<qqQH")        # group, tag, bytes of the body, bytes of the note
_HELLO = struct.Struct("<I")            # the caller's rank
_meshes: "weakref.WeakSet[Mesh]" = weakref.WeakSet()


class _Box:
    """Messages of one channel from one rank, and how many were requested."""

    __slots__ = ("arrived", "asked", "messages")

    def __init__(self):
        self.messages: dict[int, tuple] = {}
        self.arrived = self.asked = 0


def own_address(store) -> str:
    """Return the address at which other ranks reach this machine."""
    host = getattr(store, "host", None)
    while host is None and hasattr(store, "underlying_store"):
        store = store.underlying_store
        host = getattr(store, "host", None)
    if host is None or is_loopback(host):
        return "127.0.0.1"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, 9))        # sends nothing; reads the routing table for our side
        return probe.getsockname()[0]


class Mesh:
    """Connections of this rank to all others."""

    def __init__(self, rank: int, size: int, store, timeout):
        self.rank, self.size = rank, size
        self.links: dict[int, socket.socket] = {}
        self.sending = defaultdict(threading.Lock)
        self.arrived = new_condition()
        self.boxes: dict[tuple, _Box] = defaultdict(_Box)
        self.gone: dict[int, str] = {}
        self.readers: list[Any] = []
        if size > 1:
            self._connect(PrefixStore("mesh", store), time.monotonic() + seconds(timeout), seconds(timeout))
        _meshes.add(self)

    # Connecting.

    def _connect(self, store, deadline, patience):
        """Connect to lower ranks, and accept higher ones."""
        if self.rank == 0:
            store.set("token", secrets.token_bytes(32))
        token = store.get("token")
        with socket.create_server((own_address(store), 0), backlog=self.size) as listener:
            store.set(str(self.rank), "{}:{}".format(*listener.getsockname()[:2]))
            for other in range(self.rank):
                host, _, port = store.get(str(other)).decode().rpartition(":")
                sock = connect(host, int(port), deadline, f"rank {other}")
                introduce(sock, token, f"rank {other} at {host}:{port}", patience)
                write_all(sock, _HELLO.pack(self.rank))
                self._open(other, sock, patience)
            while len(self.links) < self.size - 1:
                self._admit(listener, token, deadline, patience)

    def _admit(self, listener, token, deadline, patience):
        listener.settimeout(max(0.01, deadline - time.monotonic()))
        try:
            sock, _ = listener.accept()
        except TimeoutError:
            missing = [r for r in range(self.size) if r != self.rank and r not in self.links]
            raise DistTimeoutError(f"rank {self.rank} waited {patience:g} s for ranks {missing} to connect; are they running, "
                                   f"and is the world size {self.size}?") from None
        if not admit(sock, token):
            sock.close()        # a stranger
            return
        sock.settimeout(patience)
        try:
            other, = _HELLO.unpack(read(sock, _HELLO.size))
        except (OSError, EOFError):
            sock.close()
            return
        if not self.rank < other < self.size or other in self.links:
            sock.close()
            return
        sock.settimeout(None)
        self._open(other, sock, patience)

    def _open(self, other, sock, patience):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@ll", max(1, int(patience)), 0))
        self.links[other] = sock
        reader = threading.Thread(target=self._read, args=(other, sock), name=f"ingot-rank-{other}", daemon=True)
        self.readers.append(reader)
        reader.start()

    def _read(self, other, sock):
        """Read messages of a rank until it closes."""
        try:
            while True:
                group, tag, size, length = _HEADER.unpack(read(sock, _HEADER.size))
                note = read(sock, length).decode()
                body = np.empty(size, np.uint8)
                read_into(sock, body.data)
                with self.arrived:
                    box = self.boxes[other, group, tag]
                    box.messages[box.arrived] = (note, body)
                    box.arrived += 1
                    self.arrived.notify_all()
        except (OSError, EOFError, ValueError) as e:
            with self.arrived:
                self.gone[other] = str(e)
                self.arrived.notify_all()

    # Messages.

    def send(self, other: int, channel: tuple, note: str, memory):
        """Send a buffer to a rank."""
        if other == self.rank:
            self._keep(channel, note, memory)
            return
        said = note.encode()
        view = memoryview(memory).cast("B") if len(memory) else b""
        try:
            with self.sending[other]:
                write_all(self.links[other], _HEADER.pack(*channel, len(view), len(said)) + said, view)
        except (OSError, KeyError) as e:
            late = isinstance(e, BlockingIOError)
            raise (DistTimeoutError if late else DistNetworkError)(
                f"rank {self.rank} cannot send {note} to rank {other}: "
                + ("it takes nothing in any more" if late else f"it has gone ({self.gone.get(other, e)})")) from e

    def _keep(self, channel, note, memory):
        """Store a message to this rank itself."""
        with self.arrived:
            box = self.boxes[self.rank, *channel]
            box.messages[box.arrived] = (note, np.frombuffer(bytes(memory), np.uint8))
            box.arrived += 1
            self.arrived.notify_all()

    def ticket(self, other: int, channel: tuple) -> int:
        """Request the channel's next message."""
        with self.arrived:
            box = self.boxes[other, *channel]
            box.asked += 1
            return box.asked - 1

    def has(self, other: int, channel: tuple, ticket: int) -> bool:
        """Return whether a requested message has arrived."""
        with self.arrived:
            return ticket in self.boxes[other, *channel].messages

    def receive(self, other: int, channel: tuple, ticket: int, timeout: float, what: str) -> tuple:
        """Return (note, bytes) of a requested message."""
        with self.arrived:
            box = self.boxes[other, *channel]
            there = self.arrived.wait_for(lambda: ticket in box.messages or other in self.gone, timeout)
            if ticket in box.messages:
                return box.messages.pop(ticket)
        if not there:
            raise DistTimeoutError(f"rank {self.rank} waited {timeout:g} s in {what} for rank {other}, which has sent nothing; "
                                   "is it stuck, or busy with something else?")
        raise DistBackendError(f"rank {other} has gone while rank {self.rank} waited for it in {what} "
                               f"({self.gone[other]}); see that process's output")

    def first(self, others, channel: tuple, timeout: float, what: str) -> tuple:
        """Return (rank, note, bytes) of the first unrequested message on a channel, from any rank."""
        def waiting():
            return next((r for r in others if self.boxes[r, *channel].asked < self.boxes[r, *channel].arrived), None)

        with self.arrived:
            self.arrived.wait_for(lambda: waiting() is not None or all(r in self.gone for r in others), timeout)
            sender = waiting()
            if sender is not None:
                box = self.boxes[sender, *channel]
                box.asked += 1
                return (sender, *box.messages.pop(box.asked - 1))
        raise DistTimeoutError(f"rank {self.rank} waited {timeout:g} s in {what}, and no rank has sent anything")

    # Closing.

    def close(self):
        """Close for sending: sent messages still arrive, then the others see the end."""
        for sock in self.links.values():
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_WR)
        deadline = time.monotonic() + 1.0
        for reader in self.readers:      # until the others close too: closing earlier could lose messages in flight
            reader.join(max(0.0, deadline - time.monotonic()))
        for sock in self.links.values():
            sock.close()
        _meshes.discard(self)


def _forget_in_child():
    """Close a forked child's copies of the connections, so that the end of a rank stays visible."""
    for mesh in list(_meshes):
        for sock in mesh.links.values():
            sock.close()
        mesh.links = {}


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
