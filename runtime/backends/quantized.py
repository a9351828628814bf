"""`ingot.backends.quantized`: the engine of quantised layers. ingot has one, so the choice changes nothing."""

import sys

from ..state.switches import Setting
from .switch_board import SwitchBoard

__all__ = ["engine", "supported_engines"]

supported_engines = ["x86", "fbgemm", "onednn", "qnnpack"]
engine: str


class _Board(SwitchBoard):
    engine = Setting("quantized.engine", "x86")


sys.modules[__name__].__class__ = _Board
