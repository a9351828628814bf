"""`ingot._C.DispatchKey` and what goes with it: which parts of PyTorch's dispatcher a block of code leaves out.

Libraries leave autocast out where they have cast arguments themselves. There is one door for every call here, so of all keys
those of autocast alone are something that can be left out.
"""

from enum import Enum
from typing import Any

from ..ir.errors import ArgumentError
from ..runtime.amp.autocast_mode import autocast
from ..runtime.core.device import KINDS

__all__ = ["DispatchKey", "DispatchKeySet", "_ExcludeDispatchKeyGuard"]


class DispatchKey(Enum):
    """A part of PyTorch's dispatcher, by its name."""

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
    """Several keys: `a | b`, `a & b`, `a - b`, `a.has(key)`."""

    def __init__(self, key: Any = ()):
        self._keys = frozenset((key,) if isinstance(key, DispatchKey) else key)

    def has(self, key: DispatchKey) -> bool:
        """Whether a key is among them."""
        return key in self._keys

    def add(self, key: DispatchKey) -> "DispatchKeySet":
        """These and another one."""
        return DispatchKeySet(self._keys | {key})

    def remove(self, key: DispatchKey) -> "DispatchKeySet":
        """These without one."""
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
    """Leaves autocast out inside, on the kinds of devices that the keys name; other keys are refused."""

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
