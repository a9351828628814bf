"""Limit how often a function is recorded.

A function that needs a new recording at most calls runs eagerly instead. The limit is a token bucket: `BURST` recordings at
once, one more per `CALLS_PER_TOKEN` calls, and fewer while calls keep finding the bucket empty. After a recording without use
the function rests for twice as many calls as the last time.
"""

BURST = 64
CALLS_PER_TOKEN = 32
SLOWER = BURST * CALLS_PER_TOKEN      # eager calls after which one token takes twice as many calls


class RecompileLimit:
    """Decides for a call that no recording fits whether it is recorded."""

    __slots__ = ("_eager_calls", "_last_call", "_pause", "_pause_end", "_tokens")

    def __init__(self):
        self._tokens, self._last_call, self._eager_calls = float(BURST), 0, 0
        self._pause = self._pause_end = 0

    def record_was_useless(self):
        """Pause: a recording was of no use, and the next ones will not be either."""
        self._pause = min(2 * max(self._pause, 1), SLOWER)
        self._pause_end = self._last_call + self._pause

    def should_run_eagerly(self, call_number: int) -> bool:
        """Return whether a call runs eagerly; otherwise take a token for its recording."""
        if call_number <= self._pause_end:
            return True
        rate = CALLS_PER_TOKEN * (1 + self._eager_calls / SLOWER)
        self._tokens = min(BURST, self._tokens + (call_number - self._last_call) / rate)
        self._last_call = call_number
        if self._tokens < 1:
            self._eager_calls += 1
            return True
        if self._tokens == BURST:       # no recording for long
            self._eager_calls = 0
        self._tokens -= 1
        return False
