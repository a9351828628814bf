"""`ingot.jit.annotations`: types for TorchScript annotations. Code runs as Python, so they are Python's own types."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot.nn import Module as Module

Any = _t.Any
BroadcastingList1 = _b.list[_t.Any]
BroadcastingList2 = _b.list[_t.Any]
BroadcastingList3 = _b.list[_t.Any]
Dict = _b.dict[_t.Any, _t.Any]
List = _b.list[_t.Any]
Tuple = _b.tuple[_t.Any, ...]
