"""`ingot.utils.deterministic`: a switch without effect. Memory of new tensors is always zeroed."""

import sys
from types import ModuleType

from ..state.switches import Setting

fill_uninitialized_memory: bool

__all__ = ["fill_uninitialized_memory"]


class _Board(ModuleType):
    fill_uninitialized_memory = Setting("utils.deterministic.fill_uninitialized_memory", True)


sys.modules[__name__].__class__ = _Board
