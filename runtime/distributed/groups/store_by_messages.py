"""Store of ranks that are connected already: rank 0 serves it, and tells the others where."""

import os
import secrets
import socket

import numpy as np

from ..engines.engine import Engine
from ..stores.handshake import SECRET
from ..stores.local_store import LocalStore
from ..stores.meeting import machine
from ..stores.store import Store, seconds
from ..stores.tcp_store import TCPStore

_CHANNEL = (-1, 0)      # of no group


def store_by_messages(engine: Engine, timeout) -> Store:
    """Return the store of a run: on one machine without a port, and on several with a secret that rank 0 draws."""
    if engine.rank:
        engine.send([0], _CHANNEL, "machine", _bytes(machine()))
        number, host, port, secret = _received(engine, 0, timeout).split("\n")
        if number:
            return LocalStore(int(number), False, timeout)
        os.environ.setdefault(SECRET, secret)
        return TCPStore(host, int(port), engine.size, False, timeout, wait_for_workers=False)
    away = list(range(1, engine.size))
    machines = {machine(), *(_received(engine, r, timeout) for r in away)}
    if len(machines) == 1:
        drawn = secrets.randbits(60)
        store: Store = LocalStore(drawn, True, timeout)
        said = f"{drawn}\n\n\n"
    else:
        secret = os.environ.setdefault(SECRET, secrets.token_hex(32))
        host = socket.getfqdn()
        served = TCPStore(host, 0, engine.size, True, timeout, wait_for_workers=False)
        store, said = served, f"\n{host}\n{served.port}\n{secret}"
    engine.send(away, _CHANNEL, "store", _bytes(said))
    return store


def _bytes(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), np.uint8)


def _received(engine, rank: int, timeout) -> str:
    ticket = engine.inbox.ticket(rank, _CHANNEL)
    return bytes(engine.inbox.receive(rank, _CHANNEL, ticket, seconds(timeout), "init_process_group").body).decode()
