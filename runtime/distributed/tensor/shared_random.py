"""Random numbers of sharded tensors: all processes draw with the key of the mesh's first process.

So their parts belong together. If all were seeded alike, the numbers are those of one process alone.
"""

from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from ...state.mode import tls


@contextmanager
def mesh_keys(mesh):
    """Use the keys of the mesh's first process for this thread's draws."""
    m = tls.m
    before = m.agrees
    if before is None and mesh.get_coordinate() is not None:
        m.agrees = lambda place: tuple(from_first(np.array(place, np.uint64), mesh, "a random key").tolist())
    try:
        yield
    finally:
        m.agrees = before


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
