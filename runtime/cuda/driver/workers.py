"""Threads that work beside the program, and end when nothing is left to do or the program has ended: nobody waits for work
whose result nobody will see."""

import os
import threading
from collections import deque
from collections.abc import Callable


class Threads:
    """Up to so many threads as are wanted when work comes; `abandoned(*args)` is called instead of work that is not begun."""

    def __init__(self, abandoned: Callable):
        self.abandoned = abandoned
        self.forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.forget)

    def forget(self):
        """Nothing is to be done, and no thread is there: a forked process has none of them."""
        self.lock, self.jobs, self.count = threading.Lock(), deque(), 0

    def submit(self, most: int, work: Callable, *args):
        """Has a thread call `work(*args)`, where there may be `most` of them."""
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
