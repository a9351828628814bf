"""Random numbers in captured graphs. A graph reads the keys that it draws with from memory of its own, and before each replay
the next ones of their generators are put there: replays draw what the same calls would have drawn without a graph.
"""

import numpy as np

from ....ir.errors import DeviceError
from ...core.device_array import DeviceArray
from ..memory import pools, transfer
from ..memory.arrays import empty
from ..memory.pinned import PINNED

_TOGETHER = 64        # keys that travel in one copy


class Draws:
    """The keys of one graph.

    started   {generator: (its seed, the call that came next when the capture began)}
    """

    def __init__(self, device: int, generators):
        self.device, self.started = device, {g: g.place for g in generators}
        self.keys: list = []             # (generator, how many of its keys come before)
        self.arrays: list = []           # device memory, of so many keys each

    def takes(self, a: np.ndarray) -> bool:
        """Whether a host array is like a key, where there are any."""
        return bool(self.started) and a.dtype == np.uint64 and a.shape == (2,)

    def placed(self, key: np.ndarray) -> DeviceArray:
        """Where the key, which was just drawn, will be at every replay."""
        seed, call = key.tolist()
        generator = next((g for g, (s, first) in self.started.items() if s == seed and call >= first), None)
        if generator is None:
            raise DeviceError("a captured graph draws from a generator that it does not know: call "
                              "graph.register_generator_state(generator) before the capture, and seed it outside")
        number = len(self.keys)
        if number % _TOGETHER == 0:
            with pools.aside(self.device):
                self.arrays.append(empty(self.device, (_TOGETHER, 2), np.uint64))
        self.keys.append((generator, call - self.started[generator][1]))
        return self.arrays[-1][number % _TOGETHER]

    def finish(self):
        """The capture is over, in which nothing was drawn yet: the generators go back to where they were."""
        self.counts = {g: 1 + max(n for other, n in self.keys if other is g) for g in dict(self.keys)}
        for g, count in self.counts.items():
            seed, first = self.started[g]
            if g.place == (seed, first + count):        # (else somebody else drew meanwhile)
                g.put((seed, first))

    def renew(self):
        """Puts the next keys where the graph reads them, in the current stream."""
        if not self.keys:
            return
        places = {g: g.reserve(count) for g, count in self.counts.items()}
        for start, array in zip(range(0, len(self.keys), _TOGETHER), self.arrays):
            staged = PINNED.array(array.shape, array.dtype)
            for row, (g, before) in zip(staged, self.keys[start:start + _TOGETHER]):
                row[:] = places[g][0], places[g][1] + before
            transfer.upload(array, staged, wait=False)
