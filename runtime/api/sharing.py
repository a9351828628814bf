"""Tensor methods about memory that other processes can map."""

from ...ir.lazy import lazy
from .register import api

sharing = lazy(__package__, "..multiprocessing.sharing")


@api(function=False)
def is_shared(self) -> bool:
    """Whether the memory is one that other processes can map."""
    return sharing.is_shared(self)


@api(function=False)
def share_memory_(self):
    """Moves the memory of this tensor, and of every tensor that shares it, to where other processes can map it."""
    return sharing.share_memory_(self)
