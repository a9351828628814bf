"""Calls of a traced function that run eagerly: counted by reason, and errors where the user allows none (`fullgraph`)."""

from collections import Counter
from itertools import repeat
from operator import length_hint

from ..errors.errors import TraceError
from .labels import definition_of

TRACED = "inside of another traced function, which records it as its own code"
OFF = "traces are off (INGOT_JIT=0, jit=False, or set_stance('force_eager'))"
TOO_OFTEN = "it was recorded too often (see misses)"
TOO_DEAR = "a recording would take longer than it has saved so far (see misses)"
TOO_DEAR_TO_COMPILE = "compiling its recording would take longer than it has saved so far"
TOO_DEAR_TO_BIND = "binding its recording to new sizes would take longer than it has saved so far"
TIMED = "it is timed, since recordings are made only where they save time"
RESTING_LOOKS = "looking for a recording takes longer than the function itself"
RESTING_REPLAYS = "replaying its recording takes longer than the function itself"
_MODES = (
    (lambda m: m.anomaly, "under detect_anomaly(), which looks at operations one by one",
     "leave that out, or look with jit.debug(nan=True)"),
    (lambda m: m.batched is not None, "inside of vmap", "put vmap inside of the traced function"),
    (lambda m: m.function_modes, "under a mode that intercepts functions (TorchFunctionMode)",
     "enter the mode inside of the traced function"),
    (lambda m: m.saved_hooks is not None,
     "inside of saved_tensors_hooks (or of a checkpoint), since a trace decides itself what it keeps",
     "put a checkpoint inside of the traced function"),
)
NOT_LOOKED_UP = frozenset((TRACED, OFF, *[reason for _, reason, _ in _MODES]))      # `stats()["calls"]` lacks these calls


class EagerCalls:
    """Counts of the eager calls of one function, by reason. With `fullgraph` such a call raises instead, unless it runs as a
    part of another trace or the user has switched traces off. Without `refuses` a call that no trace could repeat is one of
    them, and raises nothing.

    left    an iterator that ends with the present rest: so many calls run without a look for recordings. They count once
            `settle` is called.
    """

    def __init__(self, fn, fullgraph: bool, refuses: bool = True):
        self._fn, self.fullgraph, self.refuses = fn, fullgraph, refuses
        self.counts: Counter = Counter()
        self.raised = 0         # calls whose recording raised, which are not counted by reason
        self.left = repeat(None, 0)
        self._ahead, self._reason = 0, ""       # calls of the present rest that do not count yet, and why they rest

    def add(self, reason: str, way_out: str | None = None):
        """Count a call that runs eagerly. `way_out` says what to do instead, in words; None if nothing is wrong with it."""
        self.counts[reason] += 1
        if self.fullgraph and way_out is not None:
            place = definition_of(self._fn)
            raise TraceError(f"fullgraph=True, but {place.name} would run as it is: {reason}{way_out and '; ' + way_out}")

    def rest(self, calls: int, reason: str):
        """Let so many calls rest."""
        self.left, self._ahead, self._reason = repeat(None, calls), calls, reason

    def settle(self) -> int:
        """Count the calls that rested since the last time; return how many these are."""
        left = length_hint(self.left)
        rested, self._ahead = self._ahead - left, left
        if rested:
            self.counts[self._reason] += rested
        return rested

    def wake(self):
        """End the present rest."""
        self.left, self._ahead = repeat(None, 0), 0

    def by_reason(self) -> dict:
        """Return the counts of calls by reason."""
        return dict(self.counts)


def mode_of_thread(m) -> tuple:
    """Return (why a thread in this mode runs traced functions eagerly, what to do instead)."""
    if m.recorder is not None:
        return TRACED, None
    return next(((reason, way_out) for is_on, reason, way_out in _MODES if is_on(m)), (OFF, None))
