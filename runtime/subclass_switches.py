"""`ingot._C`: what libraries take from PyTorch's module of that name: words for classes that derive from Tensor, names
for annotations (`Graph`, `Node`, `Value`), and questions and notes that have one answer here."""

from ..ir.graph import Graph, Node, Value
from .api.subclasses import disabled_torch_function as _disabled_torch_function_impl
from .api.subclasses import unasked as DisableTorchFunctionSubclass
from .tensor import Tensor

__all__ = ["DisableTorchFunction", "DisableTorchFunctionSubclass", "Graph", "Node", "Value", "_TensorMeta",
           "_disabled_torch_function_impl", "_get_tracing_state", "_log_api_usage_once"]

DisableTorchFunction = DisableTorchFunctionSubclass
_TensorMeta = type(Tensor)


def _get_tracing_state() -> None:
    """None, as `jit.is_tracing()` is False: traced functions do what eager code does."""


def _log_api_usage_once(event: str) -> None:
    """Nothing: nobody keeps what is used."""
