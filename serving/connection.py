"""Bytes of a connection, with a deadline and a limit for each part of a request."""

import io
import select
import socket
import time


class TooManyBytes(Exception):
    """A part of a request is longer than it may be."""


class BoundedReader(io.RawIOBase):
    """Reader of a socket. `allow` sets the seconds and bytes that the next part may take, however slowly its bytes come."""

    def __init__(self, sock: socket.socket):
        self.sock = sock
        self.allow(0.0, 0)

    def allow(self, seconds: float, most: int):
        """Begin a part of a request."""
        self.deadline, self.left = time.monotonic() + seconds, most

    def readable(self):
        return True

    def readinto(self, memory):
        """Read some bytes; raise TimeoutError behind the deadline and TooManyBytes behind the limit."""
        if self.left <= 0:
            raise TooManyBytes
        seconds = self.deadline - time.monotonic()
        if seconds <= 0:
            raise TimeoutError
        self.sock.settimeout(seconds)
        count = self.sock.recv_into(memoryview(memory)[:self.left])
        self.left -= count
        return count


def is_gone(sock: socket.socket) -> bool:
    """Return whether the other side has closed a connection."""
    try:
        readable = select.select([sock], [], [], 0)[0]
        return bool(readable) and not sock.recv(1, socket.MSG_PEEK)
    except (OSError, ValueError):
        return True
