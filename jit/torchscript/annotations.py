"""`ingot.jit.annotations`: types for TorchScript annotations. Code runs as Python, so they are Python's own types."""

from typing import Any

from ...runtime.nn.base.module import Module

__all__ = ["Any", "BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "Dict", "List", "Module", "Tuple"]

Dict, List, Tuple = dict, list, tuple
BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = list      # one number for all dims, or one per dim
