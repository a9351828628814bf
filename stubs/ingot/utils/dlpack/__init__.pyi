"""`ingot.utils.dlpack`: exchange of tensors by DLPack."""

# Made by `make stubs` from the live package; not edited by hand.

import typing as _t
from ingot import from_dlpack as from_dlpack

def to_dlpack(tensor: _t.Any) -> _t.Any:
    """Return a DLPack capsule of a tensor's memory."""
