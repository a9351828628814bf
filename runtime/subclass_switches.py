"""`ingot._C`: what classes that derive from Tensor, and libraries that ask whether they are traced, take from PyTorch's module
of that name."""

from .api.subclasses import disabled_torch_function as _disabled_torch_function_impl
from .api.subclasses import unasked as DisableTorchFunctionSubclass

__all__ = ["DisableTorchFunction", "DisableTorchFunctionSubclass", "_disabled_torch_function_impl", "_get_tracing_state"]

DisableTorchFunction = DisableTorchFunctionSubclass


def _get_tracing_state() -> None:
    """None, as `jit.is_tracing()` is False: traced functions do what eager code does."""
