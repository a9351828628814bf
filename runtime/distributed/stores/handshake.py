"""Proof that both sides of a new connection know one secret, which is never sent: two challenges, each answered by an HMAC.

It shows who opened the connection. What is sent later is neither encrypted nor signed.
"""

import hashlib
import hmac
import os
import secrets
import socket
import time

from ....ir.requirements import install_extra
from .distributed_errors import DistNetworkError
from .socket_messages import read, write_all

SECRET = "INGOT_RUN_SECRET"
ADVICE = (f"Set {SECRET} to the same random text for all processes of the run, for instance to what "
          "`python -c 'import secrets; print(secrets.token_hex())'` prints. Or start the program by `mpiexec`, which needs "
          f"none: {install_extra('mpi')}")
_SIZE = 32
PATIENCE = 10.0         # seconds for the whole proof of a stranger


def secret_of_run() -> bytes:
    """Return the secret that the environment gives this run, or no bytes."""
    return os.environ.get(SECRET, "").encode()


def _answer(secret, side, first, second) -> bytes:
    return hmac.digest(secret or b"none", side + first + second, hashlib.sha256)


def admit(sock: socket.socket, secret: bytes, deadline: float | None = None) -> bool:
    """Return whether the caller of an accepted connection knows the secret, which it must show before a deadline; show it that
    this side does, too."""
    deadline = time.monotonic() + PATIENCE if deadline is None else deadline
    mine = secrets.token_bytes(_SIZE)
    try:
        sock.settimeout(max(0.01, deadline - time.monotonic()))
        write_all(sock, mine)
        theirs, answer = read(sock, _SIZE, deadline), read(sock, _SIZE, deadline)
        if not hmac.compare_digest(answer, _answer(secret, b"caller", mine, theirs)):
            return False
        write_all(sock, _answer(secret, b"listener", mine, theirs))
    except (OSError, EOFError):
        return False
    sock.settimeout(None)
    return True


def introduce(sock: socket.socket, secret: bytes, what: str, patience: float):
    """Show the listener that this side knows the secret, and check that it does, too."""
    deadline = time.monotonic() + patience
    mine = secrets.token_bytes(_SIZE)
    try:
        theirs = read(sock, _SIZE, deadline)
        write_all(sock, mine, _answer(secret, b"caller", theirs, mine))
        known = hmac.compare_digest(read(sock, _SIZE, deadline), _answer(secret, b"listener", theirs, mine))
    except TimeoutError:
        raise DistNetworkError(f"{what} has not answered within {patience:g} s; is its process stopped or very busy?") from None
    except (EOFError, ConnectionError):
        known = False
    if not known:
        raise DistNetworkError(f"{what} does not belong to this run: it has another secret, or does not speak this protocol. "
                               f"Set {SECRET} to the same text for all processes of the run")
    sock.settimeout(None)
