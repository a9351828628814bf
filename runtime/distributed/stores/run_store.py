"""Store of a run: where it is, and which process keeps it. The run's launcher does, or rank 0 without one.

Launchers name their store and the number of a round in INGOT_RUN_STORE. The ranks of a round put its number before their keys,
so they meet no rank of an earlier round.
"""

import os
from typing import NamedTuple
from urllib.parse import urlsplit

from .local_store import LocalStore
from .socket_messages import is_loopback
from .store import DEFAULT_TIMEOUT, PrefixStore, Store
from .store_service import ServedStore
from .tcp_store import TCPStore

RUN_STORE = "INGOT_RUN_STORE"


class StorePlace(NamedTuple):
    """Address of a store: host and port, or the Unix socket of that port if all of its clients run on this machine."""

    host: str
    port: int
    is_local: bool

    def open(self, is_master: bool, timeout=DEFAULT_TIMEOUT, world_size=None, secret: bytes | None = None) -> ServedStore:
        """Return the store at this place, which this process serves or uses."""
        if self.is_local:
            return LocalStore(self.port, is_master, timeout, secret)
        return TCPStore(self.host, self.port, world_size, is_master, timeout, wait_for_workers=False)

    def of_round(self, number: int) -> str:
        """Return the value of INGOT_RUN_STORE for the ranks of a round."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'local' if self.is_local else 'tcp'}://{host}:{self.port}/round{number}"


def store_of_run(host: str, port: int, rank: int, world_size: int, timeout) -> Store:
    """Return the store where ranks meet at an address."""
    kept = urlsplit(os.environ.get(RUN_STORE, ""))
    if (kept.hostname, kept.port) == (host.lower(), port):        # (a program may have chosen another address by itself)
        return PrefixStore(kept.path[1:], StorePlace(host, port, kept.scheme == "local").open(False, timeout))
    is_local = is_loopback(host) or os.environ.get("LOCAL_WORLD_SIZE") == str(world_size)
    return StorePlace(host, port, is_local).open(rank == 0, timeout, world_size)
