"""Store served by one process over TCP, where the ranks of a run meet.

It listens on the loopback address, unless it is told another one. Then it demands a secret of the run, which every client must
know (`handshake.py`).
"""

import contextlib
import socket
import threading
import time

from ....ir.errors import ArgumentError
from .distributed_errors import DistError, DistNetworkError, DistStoreError, DistTimeoutError
from .handshake import ADVICE, admit, introduce, secret_of_run
from .socket_messages import connect, is_loopback, read_fields, write_fields
from .store import DEFAULT_TIMEOUT, Store, Table, seconds

__all__ = ["TCPStore"]

_GRACE = 5.0    # seconds beyond a wait's own limit that a client waits for the answer
_STRANGERS = 256    # connections that may try to prove themselves at once


def _answer(table: Table, name: bytes, args: list) -> bytes:
    key, rest = (args[0].decode() if args else ""), args[1:]
    if name == b"put":
        table.put(key, rest[0])
    elif name == b"get":
        return table.get(key, float(rest[0]))
    elif name == b"wait":
        table.wait([k.decode() for k in rest], float(key))
    elif name == b"add":
        return str(table.add(key, int(rest[0]))).encode()
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


def _bound(host) -> str:
    """Return the address to listen on: all of the machine's for a host that others reach, since its name may mean another
    address here than there."""
    return "127.0.0.1" if host == "localhost" else host if is_loopback(host) else ""


class _Server:
    """Listener that answers each client in a thread of its own."""

    def __init__(self, host, port, secret):
        self.table, self.secret = Table(), secret
        self.strangers = threading.BoundedSemaphore(_STRANGERS)
        if not secret and not is_loopback(host):
            raise DistStoreError(f"the store at {host}:{port} can be reached from other machines, so it needs a secret. "
                                 f"{ADVICE}. If all processes run on this machine, name 127.0.0.1 instead")
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self.listener = socket.create_server((_bound(host), port), family=family, backlog=512)
        except OSError as e:
            raise DistNetworkError(f"the store cannot listen at {host or '*'}:{port}: {e}. If another run uses this port, "
                                   "choose a different MASTER_PORT") from e
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, name="ingot-store", daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.strangers.acquire()        # each leaves within the time that a proof may take
            threading.Thread(target=self._serve, args=(client,), name="ingot-store-client", daemon=True).start()

    def _serve(self, client):
        with client:
            with contextlib.ExitStack() as at_the_door:
                at_the_door.callback(self.strangers.release)
                if not admit(client, self.secret):
                    return
            try:
                while True:
                    name, *args = read_fields(client)
                    try:
                        reply = [b"ok", _answer(self.table, name, args)]
                    except DistTimeoutError as e:
                        reply = [b"late", str(e).encode()]
                    except (DistError, ValueError, TypeError, IndexError) as e:
                        reply = [b"error", str(e).encode()]
                    write_fields(client, reply)
            except (OSError, EOFError, ValueError, DistNetworkError):
                return      # the client has gone, or is a stranger

    def close(self):
        """Stop listening."""
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)        # wakes the thread that waits in accept
        self.listener.close()


class _Connection:
    """Socket that closes with its last user."""

    def __init__(self, sock):
        self.sock = sock

    def __del__(self):
        self.sock.close()


class _Client:
    """Table of a server, used from another process; each thread has its own connection."""

    def __init__(self, host, port, timeout, secret):
        self.host, self.port, self.timeout, self.secret = host, port, timeout, secret
        self.here = threading.local()
        self._socket()

    def _socket(self):
        if not hasattr(self.here, "sock"):
            sock = _Connection(connect(self.host, self.port, time.monotonic() + self.timeout, "the store"))
            introduce(sock.sock, self.secret, f"the store at {self.host}:{self.port}", self.timeout)
            self.here.sock = sock
        return self.here.sock.sock

    def _ask(self, name, *args, patience=60.0):
        fields = [name, *(a if isinstance(a, bytes) else str(a).encode() for a in args)]
        sock = self._socket()
        try:
            sock.settimeout(patience + _GRACE)
            write_fields(sock, fields)
            kind, reply = read_fields(sock)
        except (OSError, EOFError) as e:
            raise DistStoreError(f"the store at {self.host}:{self.port} has gone ({e}); rank 0 keeps it, so it must end "
                                 "last") from e
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

    def close(self):
        self.here.__dict__.pop("sock", None)


class TCPStore(Store):
    """Store at host_name:port, served by the process with is_master (port 0 takes a free one, see `.port`).

    A host that other machines reach needs the secret of the run, which the environment variable INGOT_RUN_SECRET holds. Who
    does not know it can neither read nor write. The traffic is not encrypted.

    `use_libuv` is ignored: the server is written in Python. A port has one store, so `multi_tenant` is refused.
    """

    def __init__(self, host_name, port=0, world_size=None, is_master=False, timeout=DEFAULT_TIMEOUT, wait_for_workers=True,
                 multi_tenant=False, use_libuv=True):
        super().__init__(timeout)
        if multi_tenant:
            raise ArgumentError("TCPStore: a port has one store; share it by PrefixStore instead of multi_tenant=True")
        self.host, self.world_size = host_name, world_size
        secret = secret_of_run()
        self._server = _Server(host_name, port, secret) if is_master else None
        self.port = port if self._server is None else self._server.port
        self.table = self._client = _Client(host_name, self.port, seconds(self.timeout), secret)
        if world_size and wait_for_workers:
            self._meet(world_size, is_master)

    def _meet(self, world_size, is_master):
        """Return when the expected number of processes has arrived."""
        if self.table.add("init/joined", 1) >= world_size:
            self.table.put("init/complete", b"1")
        if is_master:
            self.table.wait(["init/complete"], seconds(self.timeout))

    def close(self):
        """Drop the connection, and stop serving."""
        self._client.close()
        if self._server is not None:
            self._server.close()

    def __del__(self):
        if hasattr(self, "_client"):
            self.close()
