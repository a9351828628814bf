"""`ingot._C`: what classes that derive from Tensor take from PyTorch's module of that name."""

from .api.subclasses import disabled_torch_function as _disabled_torch_function_impl
from .api.subclasses import unasked as DisableTorchFunctionSubclass

__all__ = ["DisableTorchFunction", "DisableTorchFunctionSubclass", "_disabled_torch_function_impl"]

DisableTorchFunction = DisableTorchFunctionSubclass
