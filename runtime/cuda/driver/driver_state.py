"""State of a thread's driver calls: recording (`launch_cache.py`), graph capture (`pools.py`), deferral (`launch_queue.py`)."""

import threading
from typing import Any


class _Thread(threading.local):
    recorder: Any = None
    runs = False                # whether it runs what waited
    plans = False               # whether the driver takes down what it is asked, and does nothing (`planning.py`)
    pool = 0                    # the pool that new blocks come from: another one while a graph is captured
    held: list | None = None    # what that graph keeps alive
    draws: Any = None           # where it has the keys of its random numbers (`graphs.py`)


thread = _Thread()
