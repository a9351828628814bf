"""Batches in page-locked memory, from which GPUs copy asynchronously."""

from ..core.tensor import Tensor

__all__ = ["pin_memory"]


def pin_memory(data, device=None):
    """Return a batch with all tensors in page-locked memory; any GPU copies from it, whatever `device` says."""
    if isinstance(data, Tensor) or hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, dict):
        return {k: pin_memory(v, device) for k, v in data.items()}
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(pin_memory(v, device) for v in data))
    if isinstance(data, (list, tuple)):
        return type(data)(pin_memory(v, device) for v in data)
    return data
