"""Store served by one process through a socket: requests and answers, whatever the kind of address.

At its end that process waits a little for its clients, which may still have something to ask.
"""

import contextlib
import socket
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from multiprocessing import util

from ....ir.locks import new_condition
from .admission import Admission
from .distributed_errors import DistError, DistNetworkError, DistStoreError, DistTimeoutError
from .handshake import introduce
from .socket_messages import read_fields, write_fields
from .store import Store, Table, number_in, seconds, seconds_in

GRACE = 5.0     # seconds beyond a wait's own limit that a client waits for the answer
_LEAVING = 2.0      # seconds that a process which ends waits for the clients of its store
_AT_THE_END = -200  # of what a process does when it ends: after engines have told the other ranks


def reply_to(table: Table, name: bytes, args: list) -> list:
    """Return the answer to a request: its kind, and a value or words."""
    try:
        return [b"ok", _answer(table, name, args)]
    except DistTimeoutError as e:
        return [b"late", str(e).encode()]
    except (DistError, ValueError, TypeError, IndexError, ArithmeticError, MemoryError) as e:
        return [b"error", str(e).encode()]


def _answer(table: Table, name: bytes, args: list) -> bytes:
    key, rest = (args[0].decode() if args else ""), args[1:]
    if name == b"put":
        table.put(key, rest[0])
    elif name == b"get":
        return table.get(key, seconds_in(rest[0]))
    elif name == b"wait":
        table.wait([k.decode() for k in rest], seconds_in(args[0]))
    elif name == b"add":
        return str(table.add(key, number_in(rest[0]))).encode()
    elif name == b"append":
        table.append(key, rest[0])
    elif name == b"compare_set":
        return table.compare_set(key, *rest)
    elif name == b"delete":
        return b"1" if table.delete(key) else b""
    elif name == b"has":
        return b"1" if table.has([k.decode() for k in args]) else b""
    elif name == b"count":
        return str(table.count()).encode()
    else:
        raise DistStoreError(f"the store does not know {name!r}")
    return b""


class _Clients:
    """Number of clients that a server has now."""

    def __init__(self):
        self._count, self._changed = 0, new_condition()

    def change(self, by: int):
        """Count clients that come or go."""
        with self._changed:
            self._count += by
            self._changed.notify_all()

    def wait_for_end(self, place):
        """Return when all clients have left, those of this process first, or after a few seconds. `place` is the listener's
        address."""
        for connection in list(_connections):
            if connection.leads_to(place):
                connection.end()
        with self._changed:
            self._changed.wait_for(lambda: not self._count, _LEAVING)


class StoreServer:
    """Listener that answers each client in a thread of its own."""

    def __init__(self, listener: socket.socket, secret: bytes):
        self.table, self.listener, self.clients = Table(), listener, _Clients()
        util.Finalize(self, self.clients.wait_for_end, [listener.getsockname()], exitpriority=_AT_THE_END)
        self.strangers = Admission(listener, secret, partial(_answer_client, self.table, self.clients), "ingot-store")

    def close(self):
        """Stop listening."""
        self.strangers.close()


def _answer_client(table: Table, clients: _Clients, client, _deadline):
    """Answer requests until the client has gone. This must not keep the server: that would keep the store."""
    clients.change(1)
    try:
        while True:
            name, *args = read_fields(client)
            write_fields(client, reply_to(table, name, args))
    except (OSError, EOFError, ValueError, DistNetworkError):
        return
    finally:
        clients.change(-1)


class _Connection:
    """Socket that closes with its last user."""

    def __init__(self, sock):
        self.sock = sock
        _connections.add(self)

    def leads_to(self, place) -> bool:
        """Return whether a listener of this process at an address is at the other end."""
        try:
            here, there = self.sock.getsockname(), self.sock.getpeername()
        except OSError:         # it was closed
            return False
        return there == place if isinstance(place, (str, bytes)) else there[:1] == here[:1] and there[1:2] == place[1:2]

    def end(self):
        """Tell the server that nothing more comes; its thread may be reading an answer."""
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)

    def __del__(self):
        self.sock.close()


_connections: "weakref.WeakSet[_Connection]" = weakref.WeakSet()


class RemoteTable(ABC):
    """Table in another process. `place` says where; `patience` is how long an answer may take, in seconds, if it waits for no
    key."""

    def __init__(self, place: str):
        self.place, self.patience = place, 60.0

    @abstractmethod
    def _exchanged(self, fields: list, patience: float) -> list:
        """Send a request; return the answer, which may take so many seconds."""

    def gone(self, error: BaseException) -> DistStoreError:
        """Return the error of a table that does not answer."""
        return DistStoreError(f"the store {self.place} has gone ({error}); the launcher, or without one rank 0, keeps it "
                              "and must end last")

    def _ask(self, name, *args, patience=None):
        fields = [name, *(a if isinstance(a, bytes) else str(a).encode() for a in args)]
        kind, reply = self._exchanged(fields, self.patience if patience is None else patience)
        if kind != b"ok":
            raise (DistTimeoutError if kind == b"late" else DistStoreError)(reply.decode())
        return reply

    def put(self, key, value):
        self._ask(b"put", key, value)

    def get(self, key, timeout):
        return self._ask(b"get", key, timeout, patience=timeout)

    def wait(self, keys, timeout):
        self._ask(b"wait", timeout, *keys, patience=timeout)

    def add(self, key, amount):
        return int(self._ask(b"add", key, amount))

    def append(self, key, value):
        self._ask(b"append", key, value)

    def compare_set(self, key, expected, desired):
        return self._ask(b"compare_set", key, expected, desired)

    def delete(self, key):
        return bool(self._ask(b"delete", key))

    def has(self, keys):
        return bool(self._ask(b"has", *keys))

    def count(self):
        return int(self._ask(b"count"))


class StoreClient(RemoteTable):
    """Table of a server, used from another process; each thread has its own connection. `connected(deadline)` returns one."""

    def __init__(self, connected: Callable[[float], socket.socket], place: str, timeout: float, secret: bytes):
        super().__init__(f"at {place}")
        self.connected, self.timeout, self.secret = connected, timeout, secret
        self.here = threading.local()
        self._socket()

    def _socket(self):
        if not hasattr(self.here, "sock"):
            sock = _Connection(self.connected(time.monotonic() + self.timeout))
            introduce(sock.sock, self.secret, f"the store {self.place}", self.timeout)
            self.here.sock = sock
        return self.here.sock.sock

    def _exchanged(self, fields: list, patience: float) -> list:
        sock = self._socket()
        try:
            sock.settimeout(patience + GRACE)
            write_fields(sock, fields)
            return read_fields(sock)
        except (OSError, EOFError) as e:
            self.here.sock.end()        # an answer that comes late is none to the next request
            raise self.gone(e) from e
        except BaseException:           # a signal's, in the middle of messages
            self.close()
            raise

    def close(self):
        """Drop this thread's connection; the next request makes a new one."""
        self.here.__dict__.pop("sock", None)


class ServedStore(Store):
    """Store of a server, which may run in this process. With a world size it waits until that many processes have come."""

    def __init__(self, server: StoreServer | None, client: StoreClient, world_size: int | None, timeout):
        super().__init__(timeout)
        self._server = server
        self.table = self._client = client
        if world_size:
            self._meet(world_size)

    def _meet(self, world_size):
        """Return when the expected number of processes has arrived."""
        if self.table.add("init/joined", 1) >= world_size:
            self.table.put("init/complete", b"1")
        if self._server is not None:
            self.table.wait(["init/complete"], seconds(self.timeout))

    @property
    def served(self) -> Table | None:
        """Table that this process serves, if it does; its use takes no request."""
        return None if self._server is None else self._server.table

    def close(self):
        """Drop the connection, and stop serving."""
        self._client.close()
        if self._server is not None:
            self._server.close()

    def __del__(self):
        if hasattr(self, "_client"):
            self.close()
