"""`ingot.backends.mkldnn`: switches without effect; oneDNN is not used, and CPUs multiply float32 in float32."""

import sys

from ..state import float32_precision
from ..state.switches import Setting
from .switch_board import SwitchBoard, switched

__all__ = ["allow_tf32", "conv", "deterministic", "enabled", "flags", "fp32_precision", "is_available", "matmul", "rnn"]

enabled: bool
deterministic: bool
allow_tf32: bool | None
conv = float32_precision.Operation("mkldnn", "conv")
matmul = float32_precision.Operation("mkldnn", "matmul")
rnn = float32_precision.Operation("mkldnn", "rnn")
fp32_precision: str


class _Board(SwitchBoard):
    SWITCHES = ("enabled", "deterministic", "allow_tf32", "fp32_precision")
    enabled, deterministic = Setting("mkldnn.enabled", False), Setting("mkldnn.deterministic", False)
    allow_tf32 = Setting("mkldnn.allow_tf32", None)
    fp32_precision = float32_precision.switch("mkldnn")


sys.modules[__name__].__class__ = _Board


def is_available() -> bool:
    """Return False: oneDNN is not used."""
    return False


def flags(enabled=False, deterministic=False, allow_tf32=True, fp32_precision="none"):
    """Set the switches inside."""
    return switched(sys.modules[__name__], {"enabled": enabled, "deterministic": deterministic, "allow_tf32": allow_tf32,
                                            "fp32_precision": fp32_precision})
