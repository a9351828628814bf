"""`ingot.backends.mkl`, `openmp` and `opt_einsum`: libraries that ingot does not use.

`einsum` has a path optimizer of its own, so `enabled` and `strategy` of opt_einsum change nothing.
"""

import sys

from ..state.switches import Setting
from .switch_board import SwitchBoard

__all__ = ["enabled", "get_opt_einsum", "is_available", "strategy"]

enabled: bool
strategy: str


class _Board(SwitchBoard):
    enabled, strategy = Setting("opt_einsum.enabled", True), Setting("opt_einsum.strategy", "auto")


sys.modules[__name__].__class__ = _Board


def is_available() -> bool:
    """Return False."""
    return False


def get_opt_einsum() -> None:
    """Return None in place of the package."""
