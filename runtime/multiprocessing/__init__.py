"""`ingot.multiprocessing`: Python's multiprocessing, whose queues, pipes and arguments carry tensors in shared memory."""

import multiprocessing as _standard
from multiprocessing import *

from ...ir.errors import ArgumentError as _ArgumentError
from . import shared_tensors as sharing
from . import tensor_pickling as reductions
from .spawn import *

__all__ = ["ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException", "SpawnContext",
           "get_all_sharing_strategies", "get_sharing_strategy", "reductions", "set_sharing_strategy", "sharing", "spawn",
           "start_processes"]
__all__ += _standard.__all__

_STRATEGY = "file_descriptor"

reductions.init_reductions()


def get_all_sharing_strategies() -> set:
    """Return the ways of sharing memory: only file descriptors, which leave nothing behind."""
    return {_STRATEGY}


def get_sharing_strategy() -> str:
    """Return the way of sharing memory."""
    return _STRATEGY


def set_sharing_strategy(new_strategy: str):
    """Accept both names that scripts use; memory is always shared by file descriptors, without their usual limits."""
    if new_strategy not in (_STRATEGY, "file_system"):
        raise _ArgumentError(f"set_sharing_strategy takes 'file_descriptor' or 'file_system', got {new_strategy!r}")
