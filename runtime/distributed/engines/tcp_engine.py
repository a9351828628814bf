"""Engine `tcp`: one socket for each pair of ranks, and a reader thread for each socket. It runs where it is asked for.

Readers take in all messages at once. So a sender never waits for a receiver, and no order of sends and receives can block.
"""

import contextlib
import os
import secrets
import socket
import struct
import sys
import threading
import time
import weakref
from collections import defaultdict
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np

from ..stores.admission import Admission
from ..stores.distributed_errors import DistNetworkError, DistTimeoutError
from ..stores.handshake import introduce
from ..stores.meeting import absent
from ..stores.socket_messages import connect, is_loopback, read, read_into, write_all
from ..stores.store import PrefixStore, seconds
from .engine import Engine, Run
from .inbox import Inbox

_HEADER = struct.Struct("<qqQH")        # group, tag, bytes of the body, bytes of the note
_HELLO = struct.Struct("<I")            # the caller's rank
_LEAST_BACKLOG = 64     # connections that wait to be accepted
_engines: "weakref.WeakSet[TCPEngine]" = weakref.WeakSet()


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


def _hear_rank(joined: SimpleQueue, caller: socket.socket, deadline: float):
    """Read the rank of a caller that knows the secret, and hand its connection on."""
    try:
        other, = _HELLO.unpack(read(caller, _HELLO.size, deadline))
    except (OSError, EOFError):
        return
    caller.settimeout(None)
    joined.put((other, caller.dup()))       # the admission closes its own


class TCPEngine(Engine):
    """Connections of this rank to all others."""

    name, choice = "tcp", -1

    def __init__(self, run: Run):
        super().__init__(run)
        self.inbox = Inbox(self.rank)
        self.links: dict[int, socket.socket] = {}
        self.sending = defaultdict(threading.Lock)
        self.readers: list[Any] = []
        if self.size > 1:
            patience = seconds(run.timeout)
            self._connect(PrefixStore("tcp", run.store), time.monotonic() + patience, patience)
        _engines.add(self)

    # Connecting.

    def _connect(self, store, deadline, patience):
        """Connect to lower ranks, and accept higher ones."""
        if self.rank == 0:
            store.set("token", secrets.token_bytes(32))
        token = store.get("token")
        joined: SimpleQueue = SimpleQueue()     # of (rank, socket): admissions go on beside each other
        listener = socket.create_server((own_address(store), 0), backlog=max(self.size, _LEAST_BACKLOG))
        door = Admission(listener, token, partial(_hear_rank, joined), "ingot-rank")
        try:
            store.set(str(self.rank), "{}:{}".format(*listener.getsockname()[:2]))
            for other in range(self.rank):
                host, _, port = store.get(str(other)).decode().rpartition(":")
                sock = connect(host, int(port), deadline, f"rank {other}")
                introduce(sock, token, f"rank {other} at {host}:{port}", patience)
                write_all(sock, _HELLO.pack(self.rank))
                self._open(other, sock, patience)
            while len(self.links) < self.size - 1:
                self._take_next(joined, deadline, patience)
        finally:
            door.close()

    def _take_next(self, joined, deadline, patience):
        try:
            other, sock = joined.get(timeout=max(0.01, deadline - time.monotonic()))
        except Empty:
            missing = [r for r in range(self.size) if r != self.rank and r not in self.links]
            raise absent(self.rank, missing, self.size, patience) from None
        if not self.rank < other < self.size or other in self.links:
            sock.close()
            return
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
                if size > sys.maxsize:
                    raise ValueError(f"a message claims {size} bytes")
                note = read(sock, length).decode()
                body = np.empty(size, np.uint8)
                read_into(sock, body.data)
                self.inbox.put(other, (group, tag), note, body)
        except (OSError, EOFError, ValueError, MemoryError) as e:      # (the last one by a size that is none)
            self.inbox.lose(other, str(e))

    # Messages.

    def transmit(self, targets, channel: tuple, note: str, memory: np.ndarray):
        """Send bytes to ranks."""
        said = note.encode()
        head = _HEADER.pack(*channel, memory.size, len(said)) + said
        for other in targets:
            if other == self.rank:
                self.inbox.put(other, channel, note, np.array(memory))
                continue
            try:
                with self.sending[other]:
                    write_all(self.links[other], head, memory.data)
            except (OSError, KeyError) as e:
                late = isinstance(e, BlockingIOError)
                raise (DistTimeoutError if late else DistNetworkError)(
                    f"rank {self.rank} cannot send {note} to rank {other}: "
                    + ("it takes nothing in any more" if late else f"it has gone ({self.inbox.gone.get(other, e)})"
                       + self.inbox.others_gone(other))) from e

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
        _engines.discard(self)


def _forget_in_child():
    """Close a forked child's copies of the connections, so that the end of a rank stays visible."""
    for engine in list(_engines):
        for sock in engine.links.values():
            sock.close()
        engine.links = {}


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
