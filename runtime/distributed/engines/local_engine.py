"""Engine `local`: the ranks of a run on one machine.

They meet in a folder that only this user can open, and ask the system who is at the other end of each socket. Ranks that end
are noticed at once, by their sockets and by the system's handles of processes.
"""

import contextlib
import os
import secrets
import select
import shutil
import socket
import struct
import tempfile
import time
import weakref
from collections.abc import Callable

import numpy as np

from ..stores.distributed_errors import DistBackendError, DistError, DistNetworkError, DistTimeoutError
from ..stores.meeting import accepted, meet
from ..stores.store import PrefixStore, seconds
from .engine import Engine, Run
from .inbox import Inbox
from .local_channel import LocalChannel
from .local_links import INLINE_BYTES, Link, peer
from .shared_blocks import Block, SharedBlocks

_HELLO = struct.Struct("<I32s")         # the caller's rank, and the token of the run
_engines: "weakref.WeakSet[LocalEngine]" = weakref.WeakSet()
_HELLO_TIME = 10.0  # seconds that who connects may take to say who it is
_FULL = 0.002       # seconds that a sender takes in messages before it tries a full socket again


class LocalEngine(Engine):
    """Links of this rank to all others on its machine."""

    name, choice = "local", 1

    @classmethod
    def refusal(cls, run: Run) -> str:
        """Return the reason why ranks cannot share memory, or no text."""
        if run.on_one_machine:
            return ""
        return "it connects processes of one user on one machine, and these run on several machines"

    def __init__(self, run: Run):
        super().__init__(run)
        self.blocks, self.patience = SharedBlocks(), seconds(run.timeout)
        self.inbox = Inbox(self.rank, self._pump)
        self.links: dict[int, Link] = {}
        self._by_fd: dict[int, Link] = {}
        self._handles: dict[int, int] = {}      # handles of the others' processes, by descriptor
        self._poll = select.poll()
        if self.size > 1:
            self._connect(PrefixStore("local", run.store), self.patience)
        _engines.add(self)

    def channel(self, group) -> LocalChannel:
        """Return the collectives of a group."""
        return LocalChannel(self, group)

    # Connecting.

    def _connect(self, store, patience: float):
        """Connect to lower ranks, and accept higher ones."""
        deadline = time.monotonic() + patience
        if self.rank == 0:
            store.set("folder", tempfile.mkdtemp(prefix="ingot-run-"))      # mode 0700
            store.set("token", secrets.token_bytes(32))
        folder, token = store.get("folder").decode(), store.get("token")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(os.path.join(folder, str(self.rank)))
            listener.listen(self.size + 16)
            meet(store, "listening", self.rank, self.size, patience)
            for other in range(self.rank):
                sock = socket.socket(socket.AF_UNIX)
                sock.settimeout(patience)
                try:
                    sock.connect(os.path.join(folder, str(other)))
                    sock.sendall(_HELLO.pack(self.rank, token))
                except OSError as e:
                    raise DistNetworkError(f"rank {self.rank} cannot connect to rank {other} in {folder}: {e}") from e
                self._open(other, sock)
            while len(self.links) < self.size - 1:
                self._accept(listener, token, deadline, patience)
        meet(store, "connected", self.rank, self.size, patience)
        if self.rank == 0:
            shutil.rmtree(folder, ignore_errors=True)

    def _accept(self, listener, token, deadline, patience):
        missing = [r for r in range(self.size) if r != self.rank and r not in self.links]
        sock = accepted(listener, self.rank, missing, self.size, patience, deadline)
        sock.settimeout(min(patience, _HELLO_TIME))
        try:
            other, theirs = _HELLO.unpack(sock.recv(_HELLO.size, socket.MSG_WAITALL))
        except (OSError, struct.error):
            sock.close()
            return
        if not secrets.compare_digest(theirs, token) or not self.rank < other < self.size or other in self.links:
            sock.close()
            return
        self._open(other, sock)

    def _open(self, other: int, sock: socket.socket):
        who = peer(sock)
        if who is not None and who[1] != os.geteuid():
            raise DistBackendError(f"rank {other} runs as user {who[1]}, and this one as {os.geteuid()}: all ranks of a run "
                                   "belong to one user")
        link = Link(other, sock, self.blocks, lambda *message: self.inbox.put(other, *message), self._drop)
        self.links[other] = self._by_fd[sock.fileno()] = link
        self._poll.register(sock, select.POLLIN)
        if who is not None and hasattr(os, "pidfd_open"):
            with contextlib.suppress(OSError):      # another namespace of processes: the socket alone tells
                handle = os.pidfd_open(who[0])
                self._handles[handle] = other
                self._poll.register(handle, select.POLLIN)

    # Messages.

    def transmit(self, targets, channel: tuple, note: str, memory: np.ndarray):
        """Send bytes: small ones through sockets, large ones once into shared memory."""
        if memory.size <= INLINE_BYTES:
            self._send(targets, channel, note, memory, None)
            return
        block = self.blocks.take(memory.size, len(targets))
        block.view[:memory.size] = memory
        self._send(targets, channel, note, memory, block)

    def lend(self, targets, channel: tuple, note: str, block: Block, size: int):
        """Let ranks read the first bytes of a block, now and later, until they have freed them."""
        self._send(targets, channel, note, block.view[:size], block)

    def _send(self, targets, channel, note, memory, block):
        for i, other in enumerate(targets):
            try:
                if other == self.rank:
                    self._keep(channel, note, memory, block)
                else:
                    self._link(other).send(channel, note, memory, block, self._patient_wait(other))
            except DistError as e:
                if block is not None:
                    self._took_back(block.number, len(targets) - i)
                others = "" if isinstance(e, DistTimeoutError) else self.inbox.others_gone(other)
                reason = f"it has gone ({self.inbox.gone[other]})" if other in self.inbox.gone else e
                raise type(e)(f"rank {self.rank} cannot send {note} to rank {other}: {reason}{others}") from e

    def _keep(self, channel, note, memory, block):
        """Store a message to this rank itself."""
        self.inbox.put(self.rank, channel, note, np.array(memory))
        if block is not None:
            self._took_back(block.number)

    def _took_back(self, number: int, by: int = 1):
        for block in self.blocks.take_back(number, by):
            self._drop(block)

    def _drop(self, block: Block):
        for link in list(self.links.values()):
            link.forget(block)

    def _link(self, other: int) -> Link:
        if other not in self.links:
            raise DistNetworkError("this rank has left the run")
        return self.links[other]

    def _patient_wait(self, other: int) -> Callable[[], None]:
        """Return a function that takes in messages while a socket is full, and raises an error after the run's timeout."""
        deadline = time.monotonic() + self.patience

        def wait():
            if time.monotonic() > deadline:
                raise DistTimeoutError(f"rank {other} takes nothing in any more, for {self.patience:g} s")
            self.inbox.take_in(_FULL)

        return wait

    def _pump(self, limit: float):
        """Take in what arrives; wait for it for at most `limit` seconds."""
        for link in self._by_fd.values():
            link.flush()
        for fd, _ in self._poll.poll(min(limit, 3600.0) * 1000):
            ended = self._handles.get(fd)
            of = self._by_fd.get(fd) if ended is None else self.links[ended]
            if of is None or of.sock.fileno() not in self._by_fd:
                continue
            try:
                more = of.read()
            except (DistError, ValueError, LookupError) as e:
                self._lose(of, f"it sent bytes that are no message: {e}")
                continue
            if ended is not None or not more:
                self._lose(of, "its process has ended" if ended is not None else "the connection was closed")

    def _lose(self, link: Link, reason: str):
        """Watch a rank that has gone no more."""
        del self._by_fd[link.sock.fileno()]
        self._poll.unregister(link.sock)
        for fd in [fd for fd, other in self._handles.items() if other == link.other]:
            self._poll.unregister(fd)
            os.close(fd)
            del self._handles[fd]
        self.inbox.lose(link.other, reason)

    # Closing.

    def close(self):
        """Close for sending. Memory that was lent stays with its readers."""
        for link in self.links.values():
            link.flush()
        self.release()

    def release(self):
        """Close sockets and handles."""
        _engines.discard(self)
        for link in self.links.values():
            link.close()
        for fd in self._handles:
            os.close(fd)
        self.links, self._by_fd, self._handles = {}, {}, {}


def _release_in_child():
    """Close a forked child's copies of the sockets, so that the end of a rank stays visible."""
    for engine in list(_engines):
        engine.release()


os.register_at_fork(after_in_child=_release_in_child)
