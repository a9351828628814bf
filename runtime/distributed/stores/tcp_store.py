"""Store served by one process over TCP, where the ranks of a run meet.

It listens on the loopback address, unless it is told another one. Then it demands a secret of the run, which every client must
know (`handshake.py`).
"""

import errno
import socket

from ....ir.errors import ArgumentError
from .distributed_errors import DistNetworkError, DistPortTakenError, DistStoreError
from .handshake import ADVICE, secret_of_run
from .socket_messages import connect, is_loopback
from .store import DEFAULT_TIMEOUT, seconds
from .store_service import ServedStore, StoreClient, StoreServer

__all__ = ["TCPStore"]


def _bound(host) -> str:
    """Return the address to listen on: all of the machine's for a host that others reach, since its name may mean another
    address here than there."""
    return "127.0.0.1" if host == "localhost" else host if is_loopback(host) else ""


def _listener(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((_bound(host), port), family=family, backlog=512)
    except OSError as e:
        raise (DistPortTakenError if e.errno == errno.EADDRINUSE else DistNetworkError)(
            f"the store cannot listen at {host or '*'}:{port}: {e}. If another run uses this port, choose a different "
            "MASTER_PORT") from e


class TCPStore(ServedStore):
    """Store at host_name:port, served by the process with is_master (port 0 takes a free one, see `.port`).

    A host that other machines reach needs the secret of the run, which the environment variable INGOT_RUN_SECRET holds. Who
    does not know it can neither read nor write. The traffic is not encrypted.

    `use_libuv` is ignored: the server is written in Python. A port has one store, so `multi_tenant` is refused.
    """

    def __init__(self, host_name, port=0, world_size=None, is_master=False, timeout=DEFAULT_TIMEOUT, wait_for_workers=True,
                 multi_tenant=False, use_libuv=True):
        if multi_tenant:
            raise ArgumentError("TCPStore: a port has one store; share it by PrefixStore instead of multi_tenant=True")
        secret = secret_of_run()
        if not secret and not is_loopback(host_name):       # of whoever comes, since a keeper without one never listens
            raise DistStoreError(f"the store at {host_name}:{port} can be reached from other machines, so it needs a secret. "
                                 f"{ADVICE}. If all processes run on this machine, name 127.0.0.1 instead")
        server = StoreServer(_listener(host_name, port), secret) if is_master else None
        port = port if server is None else server.listener.getsockname()[1]
        client = StoreClient(lambda deadline: connect(host_name, port, deadline, "the store"), f"{host_name}:{port}",
                             seconds(timeout), secret)
        super().__init__(server, client, world_size if wait_for_workers else None, timeout)
        self.host, self.port, self.world_size = host_name, port, world_size
