"""Random numbers of tensors that are shared out: all processes draw with the key of the first process of the mesh, so what
one of them has of a tensor belongs to what the others have. Where all were seeded alike, that is the numbers of one process
alone."""

from contextlib import contextmanager
from typing import Any

import numpy as np

from ...core.state import tls
from ..collectives.collectives import broadcast_array


@contextmanager
def together(mesh):
    """Inside, this thread's random keys are those of the mesh's first process."""
    m = tls.m
    before = m.agrees
    if before is None and mesh.get_coordinate() is not None:
        m.agrees = lambda place: tuple(from_first(np.array(place, np.uint64), mesh, "a random key").tolist())
    try:
        yield
    finally:
        m.agrees = before


def key(generator, mesh) -> Any:
    """Return the next key of a generator, which is that of the mesh's first process."""
    with together(mesh):
        return generator.key()._a


def from_first(a: np.ndarray, mesh, what: str, dims=None) -> np.ndarray:
    """Return an array of the first process of a mesh (along some of its dims), in all."""
    for i in range(mesh.ndim) if dims is None else dims:
        group, found = mesh.get_group(i), []
        group.run(lambda group=group, a=a, found=found: found.append(broadcast_array(group, a, 0, f"{what} from the first of "
                                                                                         f"{list(group.ranks)}")), False)
        a = found[0]
    return a
