"""`ingot.backends.cudnn`: switches under cuDNN's name, which ingot does not use.

`allow_tf32` and `fp32_precision` allow TF32 for float32 convolutions and recurrent layers on a GPU, as in PyTorch. The other
switches have no effect: results are always deterministic.
"""

import sys

from ...ir.errors import ArgumentError
from ..state import float32_precision
from ..state.switches import Setting
from .switch_board import SwitchBoard, switched

__all__ = ["allow_tf32", "benchmark", "benchmark_limit", "conv", "deterministic", "enabled", "flags", "fp32_precision",
           "is_acceptable", "is_available", "rnn", "version"]

enabled: bool
benchmark: bool
benchmark_limit: int
deterministic: bool
conv = float32_precision.Operation("cuda", "conv")
rnn = float32_precision.Operation("cuda", "rnn")
allow_tf32: bool
fp32_precision: str


class _Board(SwitchBoard):
    SWITCHES = ("enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32", "fp32_precision")
    enabled, benchmark = Setting("cudnn.enabled", True), Setting("cudnn.benchmark", False)
    benchmark_limit, deterministic = Setting("cudnn.benchmark_limit", 10), Setting("cudnn.deterministic", False)
    fp32_precision = float32_precision.switch("cuda")

    @property
    def allow_tf32(self) -> bool:
        allowed = {float32_precision.ask("cuda", op) == "tf32" for op in ("conv", "rnn")}
        if len(allowed) == 2:
            raise ArgumentError("cudnn.allow_tf32 is asked for, but convolutions and recurrent layers differ: ask "
                                "cudnn.conv.fp32_precision and cudnn.rnn.fp32_precision")
        return allowed == {True}

    @allow_tf32.setter
    def allow_tf32(self, allowed: bool):
        conv.fp32_precision = rnn.fp32_precision = "tf32" if allowed else "ieee"


sys.modules[__name__].__class__ = _Board


def is_available() -> bool:
    """Return False: cuDNN is not used."""
    return False


def is_acceptable(tensor) -> bool:
    """Return False: cuDNN is not used."""
    return False


def version():
    """Return None: cuDNN is not used."""
    return


def flags(enabled=False, benchmark=False, benchmark_limit=10, deterministic=False, allow_tf32=True, fp32_precision="none",
          **others):
    """Set the switches inside. fp32_precision overrides allow_tf32."""
    board = sys.modules[__name__]
    return switched(board, {"enabled": enabled, "benchmark": benchmark, "benchmark_limit": benchmark_limit,
                            "deterministic": deterministic, "fp32_precision": fp32_precision,
                            "allow_tf32": fp32_precision == "tf32" if fp32_precision != "none" else allow_tf32})
