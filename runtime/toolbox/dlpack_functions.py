"""`ingot.utils.dlpack`: exchange of tensors by DLPack."""

from ..interop.tensor_protocols import from_dlpack

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor):
    """Return a DLPack capsule of a tensor's memory."""
    return tensor.__dlpack__()
