"""Background threads that end when no work is left or the program ends."""

import os
import threading
from collections import deque
from collections.abc import Callable


class Threads:
    """Pool of threads, started on demand. After the end of the program `abandoned(*args)` is called instead of pending work."""

    def __init__(self, abandoned: Callable):
        self.abandoned = abandoned
        self.forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.forget)

    def forget(self):
        """Reset the pool: a forked process has none of its threads."""
        self.lock, self.jobs, self.count = threading.Lock(), deque(), 0

    def submit(self, most: int, work: Callable, *args):
        """Run `work(*args)` in one of at most `most` threads."""
        with self.lock:
            self.jobs.append((work, args))
            if self.count >= most:
                return
            self.count += 1
        threading.Thread(target=self._run, name="ingot: beside the program").start()

    def _run(self):
        while True:
            with self.lock:
                if not self.jobs:
                    self.count -= 1
                    return
                work, args = self.jobs.popleft()
            if not threading.main_thread().is_alive():
                work = self.abandoned
            work(*args)
