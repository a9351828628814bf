"""Inputs that stay where they are: whether those of a call lie where a capture reads them.

Most calls bring the very arrays of the call before, and an array never moves. So arrays are known by their ids, as long as they
live: whoever dies is known no more.
"""

import threading
import weakref
from functools import partial

from ..memory.arrays import used


class Steady:
    """Some inputs of a graph, by their numbers, and the addresses at which work in a stream reads them."""

    def __init__(self, arrays, numbers, stream: int):
        self.numbers, self.stream = tuple(numbers), stream
        self.pointers = [arrays[i].pointer for i in self.numbers]
        self._known = [0] * len(self.numbers)       # their ids; 0 where the array is gone
        self._watched: list = [None] * len(self.numbers)
        self._told: dict = {}                       # places of those whose memory must be told that this stream uses it
        self._lock = threading.Lock()

    def are_there(self, arrays) -> bool:
        """Whether the inputs among these arrays lie where they are read."""
        found = [arrays[i] for i in self.numbers]
        return [*map(id, found)] == self._known or self._take_in(found)

    def _take_in(self, found) -> bool:
        with self._lock:
            known = self._known
            for k, a in enumerate(found):
                if id(a) == known[k]:
                    continue
                if a.pointer != self.pointers[k]:
                    return False
                self._watched[k] = weakref.ref(a, partial(_forget, known, k))       # that of the array before is gone
                known[k] = id(a)
                if a.memory.stream == self.stream:
                    self._told.pop(k, None)
                else:
                    self._told[k] = None
        return True

    def moved(self, pointers) -> set:
        """The numbers of those that lie elsewhere, by the addresses of all inputs."""
        return {i for i, p in zip(self.numbers, self.pointers) if pointers[i] != p}

    def tell(self, arrays):
        """Says that the stream uses them, to whoever does not know."""
        for k in self._told:
            used(arrays[self.numbers[k]], self.stream)


def _forget(known, k, dead):
    known[k] = 0
