"""State of a driver and of threads: caches that are dropped when it is replaced, and what each thread does with its calls.

Threads record calls (`launch_cache.py`), capture graphs (`pools.py`) and run deferred calls (`launch_queue.py`).
"""

import functools
import math
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

_drops: list[Callable] = []


def on_replaced_driver(drop: Callable) -> Callable:
    """Register a function that drops what belongs to a driver."""
    _drops.append(drop)
    return drop


def drop_caches():
    """Drop all that belongs to a driver that was replaced."""
    for drop in _drops:
        drop()


class DriverCache(dict[Any, Any]):
    """Values that belong to a driver, by key; the cache starts anew when it is full."""

    def __init__(self, most: float = math.inf):
        super().__init__()
        self.most = most
        on_replaced_driver(self.clear)

    def put(self, key, value):
        if len(self) >= self.most:
            self.clear()
        self[key] = value
        return value


def driver_lru_cache(size: int):
    """Decorate a function as `functools.lru_cache` does, for results that belong to a driver."""
    def decorate(function):
        cached = functools.lru_cache(size)(function)
        on_replaced_driver(cached.cache_clear)
        return cached

    return decorate


class _Thread(threading.local):
    recorder: Any = None        # hears of its calls (`LaunchRecorder`), or holds them back (`HeldCalls`)
    runs = False                # whether it runs deferred calls
    plans = False               # whether the driver only records calls (`planning.py`)
    pool = 0                    # pool of new blocks: the graph's while a graph is captured
    held: list | None = None    # objects that the captured graph keeps alive
    draws: Any = None           # keys of its random numbers (`graphs.py`)
    collectives: list | None = None     # (group's channel, note) of collectives that are launched (`joint_capture.py`)


thread = _Thread()
END_CAPTURES: list[Callable] = []       # end the capture of this thread if its graph is gone
LEFT: deque = deque()                   # endings of blocks `with graph(...)` (`graphs.py`)


def is_capturing() -> bool:
    """Return whether this thread captures a graph."""
    if thread.held is None and not LEFT:
        return False
    for end in END_CAPTURES:
        end()
    return thread.held is not None
