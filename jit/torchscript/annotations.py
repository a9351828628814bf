"""Names that annotate functions for PyTorch's older compiler. Code always runs as Python, so they are Python's own types."""

from typing import Any

from ...runtime.nn.base.module import Module

__all__ = ["Any", "BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "Dict", "List", "Module", "Tuple"]

Dict, List, Tuple = dict, list, tuple
BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = list      # of one number for all places, or of one for each
