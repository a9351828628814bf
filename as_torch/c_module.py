"""`torch._C`: parts for subclasses of Tensor, names for annotations, dispatch keys, and switches of the TorchScript executor.

ingot has one dispatcher, so autocast is the only dispatch key that a block of code can leave out. Executor switches remember
their value and change nothing.
"""

import threading
from collections.abc import Callable
from contextlib import contextmanager
from enum import Enum
from types import SimpleNamespace
from typing import Any

from ..ir.errors import ArgumentError
from ..ir.graph.graph import Graph, Node, Value
from ..runtime.amp.autocast_mode import autocast
from ..runtime.api.register import torch_function
from ..runtime.api.tensor_classes.subclasses import disabled_torch_function as _disabled_torch_function_impl
from ..runtime.api.tensor_classes.subclasses import unasked as DisableTorchFunctionSubclass
from ..runtime.core.device import KINDS, as_device
from ..runtime.core.random import Generator, default_generator
from ..runtime.core.tensor import Tensor
from ..runtime.nn.base.conversion import destination
from ..runtime.state.mode import tls

__all__ = ["DisableTorchFunction", "DisableTorchFunctionSubclass", "DispatchKey", "DispatchKeySet", "Generator", "Graph",
           "Node", "TensorBase", "Value", "_ExcludeDispatchKeyGuard", "_TensorMeta", "_are_functorch_transforms_active",
           "_disabled_torch_function_impl", "_get_tracing_state", "_is_alias_of", "_is_torch_function_mode_enabled",
           "_nn", "default_generator"]

DisableTorchFunction = DisableTorchFunctionSubclass
TensorBase = Tensor
_TensorMeta = type(Tensor)


class _Thread(threading.local):
    """The call graph that this thread records into (`call_graph.py`), or None."""

    call_graph = None


_thread = _Thread()


@contextmanager
def recording(call_graph):
    """Record the calls of this thread into `call_graph` inside."""
    before, _thread.call_graph = _thread.call_graph, call_graph
    try:
        yield
    finally:
        _thread.call_graph = before


def _get_tracing_state():
    """Return the graph of `jit._get_trace_graph` while it records; None in `jit.trace`, which does what eager code does."""
    return _thread.call_graph


def _are_functorch_transforms_active() -> bool:
    """Return whether this thread is inside vmap, where tensors may stand for batches."""
    return tls.m.batched is not None


def _is_torch_function_mode_enabled() -> bool:
    return bool(torch_function.modes())


def _is_alias_of(first: Tensor, second: Tensor) -> bool:
    """Return whether two tensors share their storage."""
    return first is second or (first._storage is second._storage and first.numel() > 0)


def _parse_to(*args, **kwargs) -> tuple:
    """Return (device, dtype, non_blocking, memory_format) from the arguments of `Module.to`."""
    device, dtype = destination(args, kwargs)
    non_blocking = next((a for a in args if isinstance(a, bool)), kwargs.get("non_blocking", False))
    return None if device is None else as_device(device), dtype, non_blocking, kwargs.get("memory_format")


_nn = SimpleNamespace(_parse_to=_parse_to)

class DispatchKey(Enum):
    """Parts of PyTorch's dispatcher."""

    CPU = "CPU"
    CUDA = "CUDA"
    Meta = "Meta"
    Dense = "Dense"
    Sparse = "Sparse"
    Python = "Python"
    Functionalize = "Functionalize"
    ADInplaceOrView = "ADInplaceOrView"
    BackendSelect = "BackendSelect"
    Autograd = "Autograd"
    AutogradCPU = "AutogradCPU"
    AutogradCUDA = "AutogradCUDA"
    AutocastCPU = "AutocastCPU"
    AutocastCUDA = "AutocastCUDA"
    AutocastXPU = "AutocastXPU"
    AutocastMPS = "AutocastMPS"
    CompositeExplicitAutograd = "CompositeExplicitAutograd"
    CompositeImplicitAutograd = "CompositeImplicitAutograd"


class DispatchKeySet:
    """A set of keys: `a | b`, `a & b`, `a - b`, `a.has(key)`."""

    def __init__(self, key: Any = ()):
        self._keys = frozenset((key,) if isinstance(key, DispatchKey) else key)

    def has(self, key: DispatchKey) -> bool:
        return key in self._keys

    def add(self, key: DispatchKey) -> "DispatchKeySet":
        return DispatchKeySet(self._keys | {key})

    def remove(self, key: DispatchKey) -> "DispatchKeySet":
        return DispatchKeySet(self._keys - {key})

    def __or__(self, other):
        return DispatchKeySet(self._keys | other._keys)

    def __and__(self, other):
        return DispatchKeySet(self._keys & other._keys)

    def __sub__(self, other):
        return DispatchKeySet(self._keys - other._keys)

    def __eq__(self, other):
        return isinstance(other, DispatchKeySet) and self._keys == other._keys

    def __hash__(self):
        return hash(self._keys)

    def __iter__(self):
        return iter(key for key in DispatchKey if key in self._keys)

    def __repr__(self):
        return f"DispatchKeySet({', '.join(key.name for key in self)})"


class _ExcludeDispatchKeyGuard:
    """Disable autocast inside, on the kinds of devices that the keys name. Other keys are refused."""

    def __init__(self, keys: DispatchKeySet):
        others = [key.name for key in keys if not key.name.startswith("Autocast")]
        if others:
            raise ArgumentError(f"ingot leaves out autocast alone, not {', '.join(others)}; for no gradients use no_grad(), "
                                "for no questions to classes of the user's _C.DisableTorchFunctionSubclass()")
        kinds = [key.name.removeprefix("Autocast").lower() for key in keys]
        self._off = [autocast(kind, enabled=False) for kind in kinds if kind in KINDS]

    def __enter__(self):
        for off in self._off:
            off.__enter__()

    def __exit__(self, *exc):
        for off in reversed(self._off):
            off.__exit__(*exc)
        return False

def _switch(name: str) -> Callable[[bool], bool]:
    """Make the function that sets one executor switch."""
    def setting(value: bool = True) -> bool:
        before, state[0] = state[0], bool(value)
        return before

    state = [False]
    setting.__name__, setting.__doc__ = name, "Set the switch, which changes nothing, and return its value from before."
    return setting


SWITCHES = {name: _switch(name) for name in (
    "_jit_override_can_fuse_on_cpu", "_jit_override_can_fuse_on_gpu", "_jit_set_nvfuser_enabled", "_jit_set_profiling_executor",
    "_jit_set_profiling_mode", "_jit_set_texpr_fuser_enabled")}


def __getattr__(name):
    if name in SWITCHES:
        return SWITCHES[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
