"""Pauses between looks at something that another rank, or a library, will finish."""

import os
import time

_YIELDS = 0.0002        # seconds of looks, by turns with others on this core, before pauses begin
_SHORTEST, _LONGEST = 0.00002, 0.001        # pauses in seconds


class Pause:
    """Pauses between looks: turns for others on this core for `busy` seconds, then longer and longer times."""

    def __init__(self, busy: float = _YIELDS):
        self._length, self._start, self._busy = _SHORTEST, time.monotonic(), busy

    def is_short(self) -> bool:
        """Return whether the next pause is a turn for others on this core."""
        return self._length == _SHORTEST

    def take(self, limit: float = _LONGEST):
        """Let others run."""
        if time.monotonic() - self._start < self._busy:
            os.sched_yield()
            return
        time.sleep(max(0.0, min(self._length, limit)))
        self._length = min(2 * self._length, _LONGEST)
