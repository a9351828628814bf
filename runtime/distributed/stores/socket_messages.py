"""Messages over sockets: whole reads, and messages of several fields."""

import ipaddress
import socket
import struct
import time

from .distributed_errors import DistNetworkError, DistStoreError

_COUNT = struct.Struct("<I")
_MOST_BYTES = 1 << 26       # of a message
_STEP = 1 << 20             # bytes for which memory is taken before they have come
_PAUSE = 0.02


def is_loopback(host: str) -> bool:
    """Return whether a name or number of a host reaches this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_into(sock: socket.socket, memory, deadline: float | None = None) -> None:
    """Fill a writable buffer from a socket; raise EOFError if the other side has closed it. All of it must come before a
    deadline, if there is one: the timeout of a socket is for each part."""
    view = memoryview(memory).cast("B")
    while len(view):
        if deadline is not None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError("the time is over")
            sock.settimeout(left)
        n = sock.recv_into(view)
        if not n:
            raise EOFError("the connection was closed")
        view = view[n:]


def read(sock: socket.socket, size: int, deadline: float | None = None) -> bytes:
    """Return exactly `size` bytes."""
    memory = bytearray(size)
    read_into(sock, memory, deadline)
    return bytes(memory)


def write_all(sock: socket.socket, *parts) -> None:
    """Send buffers one after the other, in as few packets as possible."""
    left = [memoryview(p).cast("B") for p in parts if len(p)]
    while left:
        n = sock.sendmsg(left)
        while left and n >= len(left[0]):
            n -= len(left.pop(0))
        if n:
            left[0] = left[0][n:]


def packed_fields(fields) -> list:
    """Return the parts of a message: byte strings, each after its length."""
    if sum(map(len, fields)) + _COUNT.size * len(fields) > _MOST_BYTES:
        raise DistStoreError(f"a message to a store has at most {_MOST_BYTES >> 20} MiB; send tensors by collectives")
    return [_COUNT.pack(len(fields)), *[part for f in fields for part in (_COUNT.pack(len(f)), f)]]


def unpacked_fields(memory) -> list:
    """Return the byte strings of a message."""
    data, found, at = bytes(memory), [], _COUNT.size
    for _ in range(_COUNT.unpack_from(data)[0]):
        begin = at + _COUNT.size
        at = begin + _COUNT.unpack_from(data, at)[0]
        found.append(data[begin:at])
    return found


def write_fields(sock: socket.socket, fields) -> None:
    """Send a list of byte strings as one message."""
    write_all(sock, *packed_fields(fields))


def read_fields(sock: socket.socket) -> list:
    """Return the next message's byte strings. Memory grows with what has come, not with what a message claims."""
    count = _checked(_COUNT.size * _COUNT.unpack(read(sock, _COUNT.size))[0]) // _COUNT.size
    found: list = []
    left = _MOST_BYTES
    for _ in range(count):
        size = _checked(_COUNT.unpack(read(sock, _COUNT.size))[0], left)
        found.append(b"".join([read(sock, min(_STEP, size - at)) for at in range(0, size, _STEP)]))
        left -= size + _COUNT.size
    return found


def _checked(n: int, most: int = _MOST_BYTES) -> int:
    if n > most:
        raise DistNetworkError(f"a message claims {n} bytes: the other side does not speak this protocol")
    return n


def connect(host: str, port: int, deadline: float, what: str) -> socket.socket:
    """Return a connection to a listener, which may start a little later."""
    while True:
        try:
            sock = socket.create_connection((host, port), timeout=max(0.1, deadline - time.monotonic()))
            if sock.getsockname() != sock.getpeername():      # a port of our own can connect to itself while nothing listens
                break
            sock.close()
        except OSError as e:
            if isinstance(e, socket.gaierror) or time.monotonic() > deadline:
                raise DistNetworkError(f"cannot connect to {what} at {host}:{port}: {e}. Is its process running, and are "
                                       "address and port the same everywhere?") from e
        if time.monotonic() > deadline:
            raise DistNetworkError(f"nobody answers as {what} at {host}:{port}")
        time.sleep(_PAUSE)
    sock.settimeout(None)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock
