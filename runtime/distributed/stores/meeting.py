"""Meetings of all ranks at a store, before they are connected."""

import os
import socket
import time

from .distributed_errors import DistTimeoutError
from .store import Store


def meet(store: Store, what: str, rank: int, size: int, patience: float):
    """Return when all ranks have come; raise an error that names those who have not."""
    store.set(f"{what}/{rank}", b"1")
    if store.add(f"{what}/count", 1) == size:
        store.set(f"{what}/all", b"1")
    try:
        store.wait([f"{what}/all"], patience)
    except DistTimeoutError:
        raise absent(rank, [r for r in range(size) if not store.check([f"{what}/{r}"])], size, patience) from None


def accepted(listener: socket.socket, rank: int, missing: list, size: int, patience: float, deadline: float) -> socket.socket:
    """Return the next connection to a listener; raise an error that names the missing ranks if none comes in time."""
    listener.settimeout(max(0.01, deadline - time.monotonic()))
    try:
        return listener.accept()[0]
    except TimeoutError:
        raise absent(rank, missing, size, patience) from None


def absent(rank: int, missing: list, size: int, patience: float) -> DistTimeoutError:
    """Return the error of a rank that waited for others in vain."""
    return DistTimeoutError(f"rank {rank} waited {patience:g} s for ranks {missing} to connect; are they running, and is "
                            f"the world size {size}?")


def on_one_machine(store: Store, rank: int, size: int, patience: float) -> bool:
    """Return whether all ranks run on one machine, with one file system for temporary files."""
    key = f"machine/{machine()}"
    store.add(key, 1)
    meet(store, "arrived", rank, size, patience)
    return store.add(key, 0) == size


def machine() -> str:
    """Return a name of this machine, its file system for temporary files, and this user."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            boot = file.read().strip()
        return f"{boot} {os.readlink('/proc/self/ns/mnt')} {os.geteuid()}"
    except OSError:
        return f"{socket.gethostname()} {os.geteuid()}"
