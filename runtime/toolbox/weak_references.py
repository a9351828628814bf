"""`ingot.utils.weak`: dictionaries and references that compare tensors by identity and do not keep them alive."""

import copy
import weakref
from collections.abc import MutableMapping
from typing import Any

from ...ir.errors import DTypeError
from ...ir.interrupts import raise_interrupt
from ..core.tensor import Tensor

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(weakref.ref):
    """A weak reference that equals others of the same object."""

    __slots__ = ("_id",)

    def __init__(self, key, callback=None):
        super().__init__(key, callback)     # type: ignore[call-arg]
        self._id = id(key)

    def __hash__(self):
        return self._id

    def __eq__(self, other):
        mine, theirs = self(), other()
        return mine is theirs if mine is not None and theirs is not None else self is other

    def __ne__(self, other):
        return not self == other


class WeakIdKeyDictionary(MutableMapping):
    """A dictionary with weak keys compared by identity."""

    def __init__(self, dict=None, ref_type=WeakIdRef):
        self.data: Any = {}
        self.ref_type = ref_type
        self.update(() if dict is None else dict)

    def _referred(self, key):
        return self.ref_type(key, lambda ref, data=self.data: data.pop(ref, None))

    def __getitem__(self, key):
        return self.data[self.ref_type(key)]

    def __setitem__(self, key, value):
        self.data[self._referred(key)] = value

    def __delitem__(self, key):
        del self.data[self.ref_type(key)]

    def __contains__(self, key):
        try:
            return self.ref_type(key) in self.data
        except TypeError as error:      # the key cannot be referred to
            raise_interrupt(error, self.ref_type, key)
            return False

    def __iter__(self):
        return (key for ref in list(self.data) if (key := ref()) is not None)

    def __len__(self):
        return len(self.data)

    def __repr__(self):
        return f"<{type(self).__name__} at {id(self):#x}>"

    def keyrefs(self) -> list:
        return list(self.data)

    def copy(self):
        """Return the same entries in another dictionary."""
        return type(self)(self, self.ref_type)

    __copy__ = copy

    def __deepcopy__(self, memo):
        made = memo[id(self)] = type(self)(ref_type=self.ref_type)
        made.update((key, copy.deepcopy(value, memo)) for key, value in self.items())
        return made


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor."""

    __slots__ = ("ref",)

    def __init__(self, tensor):
        if not isinstance(tensor, Tensor):
            raise DTypeError(f"TensorWeakRef takes a tensor, got {type(tensor).__name__}")
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Tensor | None:
        return self.ref()
