"""Limit what recording costs: a traced function that gains nothing from it runs about as fast as eager code.

The rule, in measured seconds of the calling thread:

1. The first `FREE` calls record, compile and bind sizes as they need it. Some of them run eagerly to be **timed**, once calls
   replay or `IN_A_ROW` calls made investments.
2. Later calls **invest** only what they can afford. A recording, a compilation or a binding is made if all calls so far and its
   expected cost take at most `1 + LOOK + INVEST` times the eager calls. So replays that save time pay for new recordings, and a
   function that settles is compiled once it has run for some time.
3. Calls **rest** if looking for a recording and replaying it takes longer than the eager call: they run without a look, until
   looks take at most `LOOK` of the time.
4. Recordings **in a row** for one reason, after a first one, are useless until one of them is replayed. The third is worth a
   warning. From the `PATIENCE`-th on no call is recorded for a while, twice as long after each. A replay of one of them ends
   that.

Costs do not count if the limit is `by_count`, as `fullgraph` asks, while calls are profiled, and under
`use_deterministic_algorithms`: products of a replay may differ from those of eager code in the last place. A clock that stands
still makes all costs zero.
"""

import re
import time
from collections import deque
from collections.abc import Callable
from typing import ClassVar

from ...runtime.api.register.process_settings import DETERMINISTIC
from ...runtime.core.state import COUNTERS, OPEN_PROFILES

FREE = 10
INVEST, LOOK = 0.15, 0.1
UNKNOWN = 20            # recordings that take as long as a first compilation, as far as one can know
IN_A_ROW, PATIENCE = 3, 16
LONGEST_PAUSE = 2048    # calls
LONGEST_REST = 1024     # calls
SAMPLES, FEWEST = 3, 2  # timed eager calls of which the shortest counts, and how many of them are needed
OUTLIER = 4             # times the usual seconds of a look that count at most
SETTLED = 16            # replays after the last investment that are timed, if they pay; later ones are not
FROM_NOW_ON = "from now on"      # what a reason says of a value that later calls take as an input
_VALUE = re.compile(r"\b(is|was|gave|has) .*?(?=;| \(read| \(needed|$)|(?<![\w:.\[])-?\d[\w.+-]*")


def kind_of_reason(reason: str) -> str:
    """Return a reason without the numbers and texts that differ from call to call. Line numbers stay. A value that is an input
    from now on is no reason for further recordings."""
    if FROM_NOW_ON in reason:
        return ""
    text, mark, place = reason.rpartition(" [")
    return _VALUE.sub(lambda found: f"{found[1] or ''} #", text) + mark + place


class Streak:
    """Useless recordings in a row for one kind of reason; `unused` has the templates of the latest ones."""

    def __init__(self):
        self.clear()

    def clear(self):
        self.kind, self.count, self.seconds = "", 0, 0.0
        self.unused: list = []

    def add(self, kind: str, seconds: float, template):
        """Count a recording; start again if it has another reason. A recording without one fits any."""
        if kind and self.kind and kind != self.kind:
            self.clear()
        self.kind, self.count, self.seconds = kind or self.kind, self.count + 1, self.seconds + seconds
        if template is not None:
            self.unused = [*self.unused[1 - PATIENCE:], template]


class RecompileLimit:
    """Decides which calls of one function are looked up, recorded and compiled; `first` is the number of calls before.

    watched     whether calls that look for recordings are timed
    invested    seconds of all investments so far
    """

    clock: Callable[[], float] = staticmethod(time.thread_time)      # busy machines do not disturb it
    _typical: ClassVar[dict] = {}       # expected seconds of each kind of investment, over all functions

    def __init__(self, by_count: bool = False, first: int = 0):
        self.by_count, self.watched, self.streak, self.invested = by_count, not by_count, Streak(), 0.0
        self._first = self._number = first
        self._eager: deque = deque(maxlen=SAMPLES)
        self._worth = self._spent = 0.0         # after the free calls: if all had been eager, and as they were
        self._free = 0.0                # invested by the free calls
        self._recent: deque = deque(maxlen=SAMPLES)     # seconds of calls that looked
        self._expected: dict = {}       # seconds by kind of investment
        self._looks = self._in_a_row = 0        # calls since the last investment, and the latest that all made one
        self._pause = self._pause_end = self._rest_end = 0
        self._is_preparing = False

    @property
    def eager(self) -> float:
        """Seconds of an eager call, as far as they were measured."""
        return min(self._eager, default=0.0)

    @property
    def _look(self) -> float:
        """Expected seconds of a call that looks for a recording: the median of some."""
        return sorted(self._recent)[len(self._recent) // 2] if self._recent else 0.0

    @property
    def _is_free(self) -> bool:
        return self._number <= self._first + FREE

    @property
    def _ignores_costs(self) -> bool:
        is_deterministic = DETERMINISTIC.get() != "default"     # (modes of users would see the public function)
        return self.by_count or is_deterministic or bool(OPEN_PROFILES or COUNTERS)

    # Looks and rests.

    def rest(self, number: int) -> int:
        """Return how many calls from this one on run without a look, and let them rest; 0 if this one looks."""
        calls = self.would_rest(number)
        self._rest_end = max(self._rest_end, number + calls - 1)
        if calls and not self._is_free:
            self._worth += self.eager
            self._spent += self.eager
        return calls

    def would_rest(self, number: int) -> int:
        """Return how many calls `rest` would let run without a look."""
        self._catch_up(number)
        if self._ignores_costs:
            return 0
        if number <= self._rest_end or self._times():
            return 1
        lack = self._spent + self._look - (1 + LOOK) * (self._worth + self.eager)
        if self._is_free or lack <= 0:
            return 0
        return 1 + min(LONGEST_REST, int(lack / max(LOOK * self.eager, 1e-9)))

    def _times(self) -> bool:
        """Return whether this call runs eagerly to be timed: a few calls, and all free ones of a function that may be quicker
        so. They also make eager calls as quick as they become."""
        if self._look == 0:
            return False
        is_unknown = len(self._eager) < FEWEST
        if not self._is_free:
            return is_unknown
        has_begun = self._looks > 1 or self._in_a_row >= IN_A_ROW
        return has_begun and (is_unknown or self.eager < 2 * self._look)

    def _catch_up(self, number: int):
        """Count the calls since the last one that was told: they replayed as calls before, or rested."""
        silent, eager = max(0, number - max(self._number, self._first + FREE) - 1), self.eager
        self._worth += silent * eager
        self._spent += silent * (eager if number <= self._rest_end + 1 else min(self._look, eager))
        self._number = number

    def missed(self, number: int):
        """Note that no recording fits a call, or that it is not compiled."""
        self._look_again()
        self._catch_up(number)

    def _look_again(self):
        self.watched, self._looks = not self.by_count, 0

    def ran_eagerly(self, seconds: float):
        """Count the seconds of an eager call, without what looking for a recording took."""
        self._eager.append(seconds)

    def looked(self, seconds: float, invested_before: float):
        """Count the seconds of a call that looked for a recording. What it invested counts apart."""
        invested = self.invested - invested_before
        self._in_a_row = self._in_a_row + 1 if invested else 0
        self._looks += 1
        seconds = max(0.0, seconds - invested)
        self._recent.append(seconds)
        if self._is_preparing:
            self._is_preparing = False
            self._recent.clear()
        if not self._is_free:
            self._spent += min(seconds, OUTLIER * self._look)       # there may have been a garbage collection
            self._worth += self.eager
            self.watched = self._looks < SETTLED or self._look > self.eager

    def changes_looks(self):
        """Note that the present look prepares later ones, which take other seconds."""
        self._is_preparing = True

    # Investments.

    def affords(self, *kinds: str) -> bool:
        """Return whether investments of these kinds are made."""
        if self._is_free or self._ignores_costs:
            return True
        so_far = self._spent + self.invested - self._free
        return so_far + sum(map(self._cost, kinds)) <= (1 + LOOK + INVEST) * (self._worth + self.eager)

    def _cost(self, kind: str) -> float:
        """Return the expected seconds of an investment, by this function or else by others."""
        unknown = self._typical.get(kind, UNKNOWN * self._expected.get("recording", 0.0))
        return self._expected.get(kind, unknown)

    def invest(self, kind: str, seconds: float):
        """Count an investment."""
        self._look_again()
        self.invested += seconds
        self._free += seconds if self._is_free else 0.0
        for known in (self._expected, self._typical):
            known[kind] = (known.get(kind, seconds) + seconds) / 2

    # Recordings.

    def may_record(self) -> bool:
        """Return whether a call that no recording fits is recorded."""
        return not self.pauses and self.affords("recording", "compiling")

    @property
    def pauses(self) -> bool:
        """Whether no call is recorded for a while."""
        return self._number <= self._pause_end

    def recorded(self, reason: str, seconds: float, template=None) -> bool:
        """Count a recording; return whether it is the third useless one in a row, or a later one. `reason` is empty for a first
        one. `template` recognises its replays; it is None if the recording was thrown away."""
        self.invest("recording", max(0.0, seconds - self.eager))
        kind = kind_of_reason(reason)
        self.streak.add(kind, seconds, template)
        if self.streak.count >= PATIENCE:
            self.pause()
        return self.streak.count >= IN_A_ROW and bool(kind) and self.streak.seconds > 0

    def pause(self):
        """Record no call for a while: a recording was of no use, and the next ones will not be either."""
        self._pause = min(2 * max(self._pause, 1), LONGEST_PAUSE)
        self._pause_end = self._number + self._pause

    def replayed(self, template):
        """Note a replay that led to a template."""
        if any(template is t for t in self.streak.unused):
            self.streak.clear()
            self._pause = self._pause_end = 0
