"""Store served by one process through a Unix socket, where ranks on one machine meet without a port.

Its address is a port number all the same, which launchers give: it names a socket in a folder of this user.
"""

import contextlib
import fcntl
import os
import socket
import tempfile
import time

from ...cpu.compiler.private_folder import PrivateFolder, UntrustedError
from .distributed_errors import DistNetworkError, DistPortTakenError, DistStoreError
from .handshake import secret_of_run
from .store import DEFAULT_TIMEOUT, seconds
from .store_service import ServedStore, StoreClient, StoreServer

_PAUSE = 0.02


def _folder() -> str:
    """Return the folder of this user's sockets, which nobody else can open."""
    path = os.path.join(tempfile.gettempdir(), f"ingot-stores-{os.geteuid()}")
    try:
        PrivateFolder(path, make=True).close()
    except UntrustedError as e:
        raise DistStoreError(f"the store's folder: {e}") from e
    return path


def _connect(path: str, deadline: float) -> socket.socket:
    """Return a connection to a listener, which may start a little later."""
    while True:
        sock = socket.socket(socket.AF_UNIX)
        try:
            sock.settimeout(max(0.1, deadline - time.monotonic()))
            sock.connect(path)
            sock.settimeout(None)
            return sock
        except OSError as e:
            sock.close()
            if time.monotonic() > deadline:
                raise DistNetworkError(f"cannot connect to the store at {path}: {e}. Is the launcher or rank 0 running, on "
                                       "this machine, and is the port the same everywhere?") from e
            time.sleep(_PAUSE)


def _is_served(path: str) -> bool:
    """Return whether a process listens at a socket; one that was killed leaves its name behind."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
        probe.connect(path)
        return True
    return False


def _listener(path: str) -> socket.socket:
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        if _is_served(path):
            raise DistPortTakenError(f"another run meets at {path}; choose a different MASTER_PORT")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(512)
        return listener
    finally:
        os.close(folder)


class _Server(StoreServer):
    """Server whose name goes with it."""

    def __init__(self, path: str, secret: bytes):
        super().__init__(_listener(path), secret)
        self.path = path

    def close(self):
        """Stop listening."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        super().close()


class LocalStore(ServedStore):
    """Store for the processes of one user on one machine; `port` tells the runs apart. The secret is by default that of the
    environment."""

    def __init__(self, port: int, is_master=False, timeout=DEFAULT_TIMEOUT, secret: bytes | None = None):
        path, secret = os.path.join(_folder(), str(port)), secret_of_run() if secret is None else secret
        client_of = lambda deadline: _connect(path, deadline)
        server = _Server(path, secret) if is_master else None
        super().__init__(server, StoreClient(client_of, path, seconds(timeout), secret), None, timeout)
