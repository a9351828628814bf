"""Random numbers of sharded tensors: all processes draw with the key of the mesh's first process.

So their parts belong together. If all were seeded alike, the numbers are those of one process alone.
"""

from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from ...core.tensor import Tensor, wrap
from ...state.mode import tls
from ..collectives.traceable import done_in_order


@contextmanager
def mesh_keys(mesh):
    """Use the keys of the mesh's first process for this thread's draws."""
    m = tls.m
    before = m.agreed_keys
    if before is None and mesh.get_coordinate() is not None:
        m.agreed_keys = AgreedKeys(mesh)
    try:
        yield
    finally:
        m.agreed_keys = before


class AgreedKeys:
    """Keys of the mesh's first process in place of those that this process draws. A trace asks for them at every call."""

    def __init__(self, mesh):
        self._mesh = mesh

    def place(self, own: tuple) -> tuple:
        """Return the place of the first process's key."""
        return tuple(from_first(np.array(own, np.uint64), self._mesh, "a random key").tolist())

    def key(self, own: Tensor) -> Tensor:
        """Return the first process's key."""
        return done_in_order(self._exchange, [own], ("a random key", self._mesh))[0]

    def _exchange(self, own) -> list:
        return [wrap(from_first(own._a, self._mesh, "a random key"))]


def key(generator, mesh) -> Any:
    """Return the next key of the first process's generator."""
    with mesh_keys(mesh):
        return generator.key()._a


def from_first(a: np.ndarray, mesh, what: str, dims=None) -> np.ndarray:
    """Return the array of the mesh's first process (along some of its dims) in all processes."""
    for i in range(mesh.ndim) if dims is None else dims:
        group, received = mesh.get_group(i), []
        send = partial(group.channel.broadcast, a, 0, f"{what} from the first of {list(group.ranks)}")
        group.run(lambda send=send, received=received: received.append(send()), False)
        a = received[0]
    return a
