"""Limit what recording costs: a traced function that gains nothing from it runs about as fast as eager code.

The rule, in measured seconds of the calling thread:

1. The first `FREE` calls record, compile and bind sizes as they need it. Some of them run eagerly to be **timed**: two after
   each two replays, or all of them after `IN_A_ROW` recordings in a row.
2. Later calls **invest** only what they can afford. A recording, a compilation or a binding is made if all calls so far and its
   expected cost take at most `1 + LOOK + INVEST` times the eager calls. So replays that save time pay for new recordings, and a
   function that settles is compiled once it has run for some time. Compilations and bindings are expected to cost in proportion
   to the operators. Sharing the code of another segment and listing operators to run one by one are kinds of their own.
3. Calls **rest** if looking for a recording and replaying it takes longer than the eager call: they run without a look, until
   looks take at most `LOOK` of the time. A resting call takes `PASSING_ON` longer than an eager one. A look after a rest is
   expected to take as long as one that finds nothing. The last call of a rest is timed, and decides about the next one.
4. Recordings **in a row** for one reason, after a first one, are useless until one of them is replayed. From the
   `PATIENCE`-th on no call is recorded for a while, twice as long after each. A replay of one of them ends that.
5. The third recording for one **cause** is worth a warning, and so is the sixth for any causes, unless `PAYS` replays for
   each came since the second. The first gradients and the first state of an optimizer are no such causes (`warms_up`).
6. From the `LATE`-th call on it is worth the warning if most calls were not replayed, and one kind of reason came in
   `IN_A_ROW` forms (`ChangingReasons`): a counter, a list that grows. A reason that stays the same needs one recording more.
   From the `LATEST`-th call on three quarters of the calls without a replay are worth it, whatever the reason. Before, a
   function that is too short to gain anything is not told: short examples of a few hundred calls are such.

Costs do not count if the limit is `by_count`, as `fullgraph` asks, while calls are profiled, and under
`use_deterministic_algorithms`: products of a replay may differ from those of eager code in the last place. A clock that stands
still makes all costs zero.
"""

import re
import time
import weakref
from collections import Counter, deque
from collections.abc import Callable
from typing import ClassVar, NamedTuple

from ...runtime.api.register.process_settings import DETERMINISTIC
from ...runtime.state.mode import COUNTERS, OPEN_PROFILES
from ...runtime.state.switches import Switch

NO_SECOND = Switch("whether a second recording of a function is an error", False)
FREE = 10
INVEST, LOOK = 0.05, 0.1
UNKNOWN = 20            # recordings that take as long as a first compilation, as far as one can know
OVERHEAD = 8            # operators that take as long as the part of a compilation that does not depend on their number
IN_A_ROW, PATIENCE = 3, 16
PAYS = 16               # replays that pay for a recording, about
MOST_CAUSES = 64        # that are told apart
LONGEST_PAUSE = 2048    # calls
LONGEST_REST = 1024     # calls
SAMPLES, FEWEST = 3, 2  # timed eager calls of which the shortest counts, and how many of them are needed
WARM, COLD = 7, 1e-3    # eager calls until they are quick, where one takes less seconds than loading its code into caches
OUTLIER = 4             # times the usual seconds of a look that count at most
PASSING_ON = 2e-7       # seconds that a traced function takes to call the function
LATE, LATEST = 20, 1000         # calls after which the share of replays counts
SETTLED = 8             # replays after the last investment that are timed, if they pay; later ones are not
FROM_NOW_ON = "from now on"      # what a reason says of a value that later calls take as an input
_WARMS_UP = re.compile(r"was None, and is set|was set, and is None|the (state or the )?groups of ")
WARM_UPS = 4            # such recordings of a function: gradients, state, each in a step that updates and in one that does not
_VALUE = re.compile(r"\b(is|was|gave|has) .*?(?=;| \(read| \(needed|$)|(?<![\w:.\[])-?\d[\w.+-]*")


def kind_of_reason(reason: str) -> str:
    """Return a reason without the numbers and texts that differ from call to call. Line numbers stay. A value that is an input
    from now on is no reason for further recordings."""
    if FROM_NOW_ON in reason:
        return ""
    text, mark, place = reason.rpartition(" [")
    return _VALUE.sub(lambda found: f"{found[1] or ''} #", text) + mark + place


def warms_up(reason: str) -> bool:
    """Return whether a reason is one of the first steps of any training loop: gradients and the optimizer's state are new."""
    return _WARMS_UP.search(reason) is not None


class ChangingReasons:
    """Reasons of the calls that no recording fitted, recorded or not. `worst` is the latest one of the kind that came most
    often among those that keep changing, and `count` says how often; empty and 0 if there are none."""

    def __init__(self):
        self.worst, self.count = "", 0
        self._forms: dict = {}      # kind -> some of the reasons
        self._counts: Counter = Counter()

    def add(self, reason: str):
        kind = "" if warms_up(reason) else kind_of_reason(reason)
        if not kind or (kind not in self._forms and len(self._forms) == MOST_CAUSES):
            return
        forms = self._forms.setdefault(kind, set())
        self._counts[kind] += 1
        if len(forms) < IN_A_ROW:
            forms.add(reason)
        changing = [k for k, known in self._forms.items() if len(known) == IN_A_ROW]
        if changing and self._counts[kind] >= max(map(self._counts.__getitem__, changing)):
            self.worst, self.count = reason, self._counts[kind]


class Recordings:
    """Recordings of one function by the kind of reason for them: useless ones in a row, of which `unused` refers to the
    templates of the latest ones, and all. Those without a kind are the first one, and those that make a number an input."""

    def __init__(self):
        self._count, self._of_no_kind, self._seconds, self._warm_ups = 0, 0, 0.0, 0
        self._counts: dict = {}         # kind -> (recordings, replays before its own first one)
        self.end_row()

    def end_row(self):
        self._kind, self.in_a_row = "", 0
        self.unused: list = []

    def add(self, kind: str, template):
        """Count a recording in a row; start again if it has another reason. A recording without one fits any."""
        if kind and self._kind and kind != self._kind:
            self.end_row()
        self._kind, self.in_a_row = kind or self._kind, self.in_a_row + 1
        if template is not None:
            self.unused = [*self.unused[1 - PATIENCE:], weakref.ref(template)]

    def without_use(self, kind: str, seconds: float, looks: int, warms_up: bool = False) -> str:
        """Count a recording, the last of so many calls that were recorded or replayed. Return how often was recorded without
        use, in words, or nothing. Up to two recordings without a kind count for each kind."""
        self._count, self._seconds = self._count + 1, self._seconds + seconds
        self._warm_ups += warms_up
        if warms_up and self._warm_ups <= WARM_UPS:
            return ""
        replays = looks - self._count
        if not kind:
            self._of_no_kind = min(self._of_no_kind + 1, IN_A_ROW - 1)
        if not kind or self._seconds == 0:
            return ""
        own, every = self._of_kind(kind, replays), self._of_kind("", replays)
        if own[0] >= IN_A_ROW and own[1] < PAYS * own[0]:
            return f"was recorded {own[0]} times for one reason, and {own[1]} calls were replayed meanwhile"
        if every[0] >= 2 * IN_A_ROW and every[1] < PAYS * every[0]:
            return f"was recorded {every[0]} times, and {every[1]} calls were replayed meanwhile"
        return ""

    def _of_kind(self, kind, replays) -> tuple:
        """Count a recording; return how many there were of its kind, and how many replays since its own first one."""
        count, before = self._counts.get(kind, (self._of_no_kind, replays))
        if kind in self._counts or len(self._counts) < MOST_CAUSES:
            self._counts[kind] = count + 1, before
        return count + 1, replays - before


class EagerTimes:
    """Times of eager calls: `seconds` of the shortest of some; `rests` counts calls that rested."""

    def __init__(self):
        self._timed: deque = deque(maxlen=SAMPLES)
        self.seconds, self.rests = 0.0, 0

    @property
    def is_cold(self) -> bool:
        """Whether eager calls may be much quicker than is known."""
        return len(self._timed) < FEWEST or (self.rests < WARM and self.seconds < COLD)

    def add(self, seconds: float) -> float:
        """Add a timed call; return how much less the earlier calls took than was thought, as a factor."""
        before = self.seconds
        self._timed.append(seconds)
        self.seconds = min(self._timed)
        return self.seconds / before if self.seconds < before and self.rests <= 2 * WARM else 1.0


class Looks:
    """Looks for a recording.

    seconds      expected ones of a look like the last one
    dearest      of that, and of a look that finds nothing
    count        looks since the last investment or rest
    recording    the latest looks that all recorded; `investing`: that all invested
    missed       whether the last look found no recording to replay
    """

    def __init__(self):
        self._replays: deque = deque(maxlen=SAMPLES)
        self._misses: deque = deque(maxlen=SAMPLES)
        self.seconds, self.missed = 0.0, False
        self.count = self.recording = self.investing = 0
        self.records = self.misses = self.prepares = False      # what the present look does

    @property
    def dearest(self) -> float:
        return max(self.seconds, _median(self._misses))

    def add(self, seconds: float, has_invested: bool):
        """Add the present look."""
        self.missed, self.count = self.misses, self.count + 1
        self.recording = self.recording + 1 if self.records else 0
        self.investing = self.investing + 1 if has_invested else 0
        (self._misses if self.missed else self._replays).append(seconds)
        if self.prepares:               # later ones take other seconds
            self._replays.clear()
        self.seconds = _median(self._misses) if self.missed else min(self._replays, default=0.0)
        self.records = self.misses = self.prepares = False


def _median(seconds) -> float:
    found = sorted(seconds)         # (other threads may add to `seconds`)
    return found[len(found) // 2] if found else 0.0


class Cost(NamedTuple):
    """Seconds of an investment of usual size. The latest one counts half."""

    seconds: float
    size: float

    def of(self, size: int | None) -> float:
        """Return the expected seconds of an investment of some size, or of one whose size is not known."""
        return self.seconds if size is None else self.seconds * (size + OVERHEAD) / (self.size + OVERHEAD)

    def after(self, seconds: float, size: int) -> "Cost":
        """Return what is expected after another investment."""
        return Cost((self.seconds + seconds) / 2, (self.size + size) / 2)


class RecompileLimit:
    """Decides which calls of one function are looked up, recorded and compiled; `first` is the number of calls before.

    watched     whether calls that look for recordings are timed
    invested    seconds of all investments so far
    """

    clock: Callable[[], float] = staticmethod(time.thread_time)      # busy machines do not disturb it
    _typical: ClassVar[dict] = {}       # expected `Cost` of each kind of investment, over all functions

    def __init__(self, by_count: bool = False, first: int = 0):
        self.by_count, self.watched, self.recordings, self.invested = by_count, not by_count, Recordings(), 0.0
        self._first = self._number = first
        self._counted = first + FREE    # number of the last call that counts in `_worth` and `_spent`
        self._eager, self.looks = EagerTimes(), Looks()
        self._worth = 0.0               # seconds of all calls after the free ones, if they had been eager
        self._spent = self._rested = 0.0        # seconds that they took: those that looked, and those that rested
        self._free = 0.0                # invested by the free calls
        self._expected: dict = {}       # `Cost` by kind of investment
        self._pause = self._pause_end = 0
        self._has_ended = False         # whether no call is recorded any more
        self._rest_end = -1             # number of the last call that rests
        self.is_timing = False          # whether calls rest only to be timed

    @property
    def _is_free(self) -> bool:
        return self._number <= self._first + FREE

    @property
    def _ignores_costs(self) -> bool:
        is_deterministic = DETERMINISTIC.peek() != "default"     # (modes of users would see the public function)
        return self.by_count or is_deterministic or bool(OPEN_PROFILES or COUNTERS)

    # Looks and rests.

    def rest(self, number: int) -> int:
        """Return how many calls from this one on run without a look, and let them rest; 0 if this one looks. The last of them
        is timed: those before it have warmed caches."""
        calls = self._resting(number)
        if number > self._rest_end and calls:
            self._rest_end, self.is_timing, self.looks.count = number + calls - 1, not self._too_dear(), 0
            self._eager.rests += calls
        return calls

    def would_look(self, number: int) -> bool:
        """Return whether a call looks for a recording."""
        return not self._resting(number)

    def _resting(self, number) -> int:
        if self._ignores_costs:
            return 0
        if number <= self._rest_end:
            return self._rest_end - number + 1
        self._catch_up(number)
        return self._too_dear() or self._to_time()

    def _too_dear(self) -> int:
        """Return how many calls rest because looks take too long. After a replay the next call looks all the same, since caches
        are warm only then."""
        is_second = self.looks.count == 1 and not self.looks.missed
        if self._is_free or self._eager.is_cold or is_second or self.looks.seconds <= self._eager.seconds:
            return 0
        lack = self._lack(self.looks.dearest)
        gained = LOOK * self._eager.seconds - PASSING_ON         # by each call that rests
        return 0 if lack <= 0 else 1 + (min(LONGEST_REST, int(lack / gained)) if gained > 0 else LONGEST_REST)

    def _to_time(self) -> int:
        """Return how many calls rest so that the last one is timed. Among the free calls these are two after each two looks, or
        all where each call records or invests; later ones are as many as eager calls need to become quick."""
        is_close = self._is_free and self._eager.seconds < 2 * self.looks.seconds
        if self.looks.seconds == 0 or not (self._eager.is_cold or is_close):
            return 0
        if not self._is_free:
            return max(1, WARM - self._eager.rests)
        return 1 if self.looks.recording >= IN_A_ROW or self.looks.investing >= FREE // 2 else 2 * (self.looks.count > 1)

    def _lack(self, seconds: float) -> float:
        """Return how much too long all calls take if this one takes so many seconds."""
        return self._spent + self._rested + seconds - (1 + LOOK) * (self._worth + self._eager.seconds)

    def _catch_up(self, number: int):
        """Count the calls since the last one that was counted, before this one: they rested, or replayed as calls before."""
        silent = number - 1 - self._counted
        if silent > 0:
            rested, eager = max(0, min(self._rest_end - self._counted, silent)), self._eager.seconds
            self._worth += silent * eager
            self._rested += rested * eager
            self._spent += rested * PASSING_ON + (silent - rested) * min(self.looks.seconds, eager)
            self._counted = number - 1
        self._number = number

    def missed(self, number: int):
        """Note that no recording fits a call, or that it is not compiled."""
        self._look_again()
        self.looks.misses = True
        self._catch_up(number)

    def _look_again(self):
        self.watched, self.looks.count = not self.by_count, 0

    def ran_eagerly(self, seconds: float):
        """Count the seconds of an eager call, without what looking for a recording took."""
        factor = self._eager.add(seconds)
        self._worth *= factor
        self._rested *= factor

    def looked(self, seconds: float, invested_before: float):
        """Count the seconds of a call that looked for a recording. What it invested counts apart."""
        invested = self.invested - invested_before
        seconds = max(0.0, seconds - invested)
        self.looks.add(seconds, invested > 0)
        if not self._is_free:
            self._counted += 1
            self._spent += min(seconds, OUTLIER * (self.looks.seconds or seconds))      # a garbage collection may have run
            self._worth += self._eager.seconds
            self.watched = self.looks.count < SETTLED or self.looks.seconds > self._eager.seconds

    def changes_looks(self):
        """Note that the present look prepares later ones, which take other seconds."""
        self.looks.prepares = True

    # Investments.

    def affords(self, *kinds: str, size: int | None = None) -> bool:
        """Return whether investments of these kinds are made. `size` counts the operators that are compiled or bound, if that
        is known."""
        if self._is_free or self._ignores_costs:
            return True
        invested = self.invested - self._free + sum([self._cost(kind, size) for kind in kinds])
        return self._lack(invested) <= INVEST * (self._worth + self._eager.seconds)

    def _cost(self, kind: str, size: int | None) -> float:
        """Return the expected seconds of an investment, by this function or else by others."""
        known = self._expected.get(kind) or self._typical.get(kind)
        if known is not None:
            return known.of(size)
        recording = self._expected["recording"].seconds if "recording" in self._expected else 0.0
        return UNKNOWN * recording if kind == "compiling" else recording

    def invest(self, kind: str, seconds: float, size: int = 0):
        """Count an investment; `size` counts the operators that were compiled or bound."""
        self._look_again()
        self.invested += seconds
        self._free += seconds if self._is_free else 0.0
        for costs in (self._expected, self._typical):
            costs[kind] = costs[kind].after(seconds, size) if kind in costs else Cost(seconds, size)

    # Recordings.

    def may_record(self) -> bool:
        """Return whether a call that no recording fits is recorded."""
        return not self.pauses and self.affords("recording", "compiling")

    @property
    def pauses(self) -> bool:
        """Whether no call is recorded for a while."""
        return self._has_ended or self._number <= self._pause_end

    def recorded(self, reason: str, seconds: float, template=None, looks: int = 0) -> str:
        """Count a recording, the last of so many calls that were recorded or replayed. Return in words how often was recorded,
        if that is worth a warning. `reason` is empty for a first one. `template` recognises its replays; it is None if the
        recording was thrown away."""
        self.looks.records = True
        self.invest("recording", max(0.0, seconds - self._eager.seconds))
        kind = kind_of_reason(reason)
        self.recordings.add(kind, template)
        if self.recordings.in_a_row >= PATIENCE:
            self.pause()
        return self.recordings.without_use(kind, seconds, looks, warms_up(reason))

    def pause(self):
        """Record no call for a while: a recording was of no use, and the next ones will not be either."""
        self._pause = min(2 * max(self._pause, 1), LONGEST_PAUSE)
        self._pause_end = self._number + self._pause

    def end(self):
        """Record no call any more."""
        self._has_ended = True

    def replayed(self, template):
        """Note a replay that led to a template."""
        if any(template is unused() for unused in self.recordings.unused):
            self.recordings.end_row()
            self._pause = self._pause_end = 0
