"""`ingot._C`: what libraries take from PyTorch's module of that name: words for classes that derive from Tensor, names
for annotations (`Graph`, `Node`, `Value`), and questions and notes that have one answer here."""

import threading
from contextlib import contextmanager
from types import SimpleNamespace

from ..ir.graph.graph import Graph, Node, Value
from ..runtime.api.register import torch_function
from ..runtime.api.tensor_classes.subclasses import disabled_torch_function as _disabled_torch_function_impl
from ..runtime.api.tensor_classes.subclasses import unasked as DisableTorchFunctionSubclass
from ..runtime.core.device import as_device
from ..runtime.core.random import Generator, default_generator
from ..runtime.core.state import tls
from ..runtime.core.tensor import Tensor
from ..runtime.nn.base.conversion import destination
from .dispatch_keys import DispatchKey, DispatchKeySet, _ExcludeDispatchKeyGuard
from .script_mode_switches import SWITCHES

__all__ = ["DisableTorchFunction", "DisableTorchFunctionSubclass", "DispatchKey", "DispatchKeySet", "Generator", "Graph",
           "Node", "TensorBase", "Value", "_ExcludeDispatchKeyGuard", "_TensorMeta", "_are_functorch_transforms_active",
           "_disabled_torch_function_impl", "_get_tracing_state", "_is_alias_of", "_is_torch_function_mode_enabled",
           "_log_api_usage_once", "_nn", "default_generator"]

DisableTorchFunction = DisableTorchFunctionSubclass
TensorBase = Tensor                     # PyTorch's part of Tensor in C++
_TensorMeta = type(Tensor)


class _Thread(threading.local):
    """The run whose calls this thread lists, if it does (`jit/torchscript/call_graph.py`)."""

    listed = None


_thread = _Thread()


@contextmanager
def listing(calls):
    """While the calls of a run are listed in `calls`."""
    before, _thread.listed = _thread.listed, calls
    try:
        yield
    finally:
        _thread.listed = before


def _get_tracing_state():
    """What `jit._get_trace_graph` lists calls in while it does; else None, as traced functions do what eager code does."""
    return _thread.listed


def _are_functorch_transforms_active() -> bool:
    """Whether tensors may stand for batches, whose values nobody can read: inside of vmap."""
    return tls.m.batched is not None


def _is_torch_function_mode_enabled() -> bool:
    """Whether a mode is asked about functions (`overrides.TorchFunctionMode`)."""
    return bool(torch_function.modes())


def _is_alias_of(first: Tensor, second: Tensor) -> bool:
    """Whether two tensors are views of the same memory."""
    return first is second or (first._storage is second._storage and first.numel() > 0)


def _log_api_usage_once(event: str) -> None:
    """Nothing: nobody keeps what is used."""


def _parse_to(*args, **kwargs) -> tuple:
    """(device, dtype, non_blocking, memory_format) of what `Module.to` is given, for classes with a `to` of their own."""
    device, dtype = destination(args, kwargs)
    non_blocking = next((a for a in args if isinstance(a, bool)), kwargs.get("non_blocking", False))
    return None if device is None else as_device(device), dtype, non_blocking, kwargs.get("memory_format")


_nn = SimpleNamespace(_parse_to=_parse_to)


def __getattr__(name):
    if name in SWITCHES:
        return SWITCHES[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
