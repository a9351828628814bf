"""Cache misses of a traced function: the call is recorded and becomes an entry."""

import warnings
from collections import Counter
from typing import Any

from ..errors.errors import AsItIsError, DisturbedError, ReplacedError, SeveralDevicesError, StandInError, TracerWarning
from ..guards.locations import is_viewable
from ..inspect import report
from ..proxies.numpy_scalars import NUMBERS
from ..proxies.other_threads import is_alone
from .cache_entry import Entry
from .dynamic_shapes import Symbols, named_places
from .labels import NUMBER, parameters_of
from .recorded_call import FIRST, RECORDING, Run

MANY = 64            # recordings of one function after which it is said once that something changes too often
MOST_REASONS = 1000  # that are remembered
MOST_DISTURBED = 32  # recordings in a row that are thrown away because a thread beside them changed what they had read
MOST_REPLACED = 2    # calls in a row that put another object into one place, and are recorded all the same
MOST_FIXED = 4       # recordings of fixed sizes that symbolic ones are compared with


def named(symbols: Symbols | None) -> dict:
    """{place: name} of what is symbolic."""
    return {} if symbols is None else symbols.names


class Learning:
    """The half of `Traced` that records."""

    def _symbols(self: Any, call, family) -> Symbols | None:
        """What is symbolic in the recording of a call."""
        if call.met or call.checks:
            likes = [entry.symbols for entry in (*call.met, *[e for e, _ in call.checks[:1]]) if entry.symbols is not None]
            if likes or not self._reads_sizes():
                return Symbols.of(likes[0].names, call.shapes, call.numbers) if likes else None
        if self._is_plain:
            return None
        if call.met:
            return Symbols.of({}, call.shapes, call.numbers)
        names = family.places(call.shapes, call.numbers, self._dynamic, call.given[1])
        if isinstance(self._dynamic, dict) and family.is_open:
            names.update(named_places(self._dynamic, parameters_of(self.fn), call))
        if names and not is_alone():
            names = self._private(names, call)
        return Symbols.of(names, call.shapes, call.numbers) if names or self._reads_sizes() else None

    def _reads_sizes(self: Any) -> bool:
        """Whether some lines read sizes out of data, for which symbols may stand now."""
        return (bool(self._data_sizes.lines) and self._dynamic is not False and not self._is_plain
                and (is_alone() or not self._writes_openly()))

    def _writes_openly(self: Any) -> bool:
        """Whether the function writes to what all threads see alike, and so could meet symbolic numbers in."""
        return any(t.kind != "attr" or not is_viewable(t.owner, t.key) for t in self._targets)

    def _private(self: Any, names, call):
        """What may be symbolic where other threads could meet symbolic numbers: not what lies in places that all threads see
        alike, and nothing if the function writes to such."""
        if self._writes_openly():
            return {}
        numbers = [p for p, kind in zip(call.places, call.key[0][2] or ()) if kind in NUMBERS]
        shared = {(NUMBER, call.given[1] + i) for i, p in enumerate(numbers) if not p.is_private}
        return {place: name for place, name in names.items() if place not in shared}

    def _record(self: Any, call, family):
        """Runs the function eagerly and writes down what it does; `call.met` are the entries that apply but lack this path."""
        symbols = self._symbols(call, family)
        call.alike = [f for f in family.fixed if f.unfit(call, set()) is None]
        if call.reason is FIRST:
            call.reason = family.why(call.shapes, tuple(call.numbers)) or self._arrays.why(call.args, call.kwargs) or FIRST
        run = Run(self.fn, frozenset(self._changing), symbols, tables=[p for p in self._tables.values() if p is not None])
        run.recorder.reads.defers = not self._reads_plain
        if symbols is not None and self._reads_sizes():
            run.recorder.reads.sized, run.recorder.reads.single = self._data_sizes.lines, self._data_sizes.ones
        try:
            run.record(call)
        except StandInError as error:           # from now on it gets plain numbers, each of which counts
            self._reads_plain, self._is_plain = self._reads_plain or error.reads, self._is_plain or not error.reads
            if not error.may_repeat:
                raise
            return self._record(call, family)
        except DisturbedError as error:         # it ran, but what was written down may not hold
            if type(error) is SeveralDevicesError and str(error) != call.reason:       # once
                warnings.warn(f"{getattr(self.fn, '__name__', self.fn)} runs as it is: {error}. Trace what is done on each",
                              TracerWarning, stacklevel=5)
            at = self._stats["calls"] - self._stats["unrecorded"]
            in_a_row = self._failed[0] + 1 == at
            self._failed = at, self._failed[1] + 1 if in_a_row else 1
            if type(error) is AsItIsError or (type(error) is ReplacedError and self._failed[1] > MOST_REPLACED):
                self._restraint.fails()
                self._say_as_it_is(error)
            self._disturbed = (type(error) is DisturbedError) + (self._disturbed if in_a_row else 0)
            if self._disturbed > MOST_DISTURBED:
                raise
            if run.keeps_plain:
                self._tables = dict.fromkeys(self._tables)
            self._why = str(error)
            return run.result
        self._disturbed = 0
        new = {place.watched: place for place in run.looked_up if place.watched not in self._tables}
        if new:                                 # the next call is recorded with tables there
            self._tables = {**self._tables, **new}
            self._why = f"it looks up {next(iter(new.values())).chain} by a number that changes"
            return run.result
        self._enter(call, run, family)
        return run.result

    def _finish_by_python(self: Any, call, entry, changed):
        """The rest of a call whose host steps have changed what the function reads behind them. The next one is recorded."""
        run = Run(self.fn)
        run.recorder.reads.defers, run.recorder.hosts.done = False, changed.done
        run.recorder.runs_as_it_is = f"its host functions change what it reads behind them: {changed}"
        with RECORDING:
            try:
                run.record(call)
            except AsItIsError as error:
                self._say_as_it_is(error)
            finally:
                changed.done.end()
        with self._lock:
            self._entries = {key: [b for b in known if b[0] is not entry] for key, known in self._entries.items()}
            for family in self._families.values():
                family.drop(entry)
        self._stats["unrecorded"] += 1
        call.result, self._why = run.result, str(changed)

    def _say_as_it_is(self: Any, error):
        if not self._said_as_it_is:
            self._said_as_it_is = True
            name = getattr(self.fn, "__name__", self.fn)
            warnings.warn(f"{name} runs as it is at most calls: {error}", TracerWarning, stacklevel=6)

    def _enter(self: Any, call, run, family):
        with self._lock:
            self._targets = run.outcome.effects or self._targets
            alike = [entry for entry in call.met if named(entry.symbols) == named(run.symbols)]     # a tree has one set of them
            merged = any([entry.add(run.recording, run.guards) for entry in alike])  # noqa: C419  (all of them)
            merged = merged or self._checked(call, run, family)
            others = [] if merged else [entry.symbols.scope for entry in call.met if entry.symbols is not None]
            self._data_sizes.recorded(run.recording, others)
            self._count(call, merged)
            if not merged:
                self._keep(call, run, family)
            if self._stats["compiles"] == MANY:
                self._complain()

    def _checked(self: Any, call, run, family) -> bool:
        """Whether a recording is one more case of an entry with which it is compared; the others are told that it is not."""
        alike = [entry.add(run.recording, run.guards) for entry, _ in call.checks]
        for (entry, symbols), same in zip(call.checks, alike):
            if not same and len(run.recording.scope.reads) > len(entry.symbols.scope.reads):
                family.drop(entry)      # it was recorded before it was known that a line reads sizes
            elif not same and entry.ones(symbols) in entry.ones_compared:
                family.close(f"it does other work for other sizes: {entry.symbols.said()}")
            elif not same:
                entry.refuse(symbols)
        return any(alike)

    def _count(self: Any, call, merged):
        is_check = merged and bool(call.checks)
        self._stats["checks" if is_check else "compiles"] += 1
        if not is_check:
            self._stats["misses"].append(call.reason)
            del self._stats["misses"][:-MOST_REASONS]

    def _keep(self: Any, call, run, family):
        """Makes a recording an entry: for calls with other sizes and numbers, too, or for ones like this alone."""
        values = () if run.symbols is None else tuple(run.symbols.hints.values())
        entry = Entry(run.recording, run.guards, run.symbols, (call.shapes, call.numbers))
        if run.symbols is None:
            family.fixed = [*family.fixed[1 - MOST_FIXED:], entry]
            entry.key = call.key
        elif family.is_open and run.symbols.names:
            for fixed in family.enter(entry, run.recording, call.alike):
                self._replace(fixed)
        family.saw(call.shapes, tuple(call.numbers))
        self._remember(call.key, entry, values)

    def _replace(self: Any, fixed):
        """Forgets a recording of fixed sizes for which another is as good, unless it was compiled."""
        if not any(job.compiled for job in report.jobs_of([fixed])):
            self._entries[fixed.key] = [known for known in self._entries.get(fixed.key, ()) if known[0] is not fixed]

    def _complain(self: Any):
        """Says, once, why a function is recorded so often."""
        misses = self._stats["misses"]
        (reason, times), = Counter(misses).most_common(1)
        why = f"most often ({times} times) because: {reason}" if times > 1 else f"the last time because: {misses[-1]}"
        name = getattr(self.fn, "__name__", self.fn)
        warnings.warn(f"{name} was recorded {MANY} times, each time running eagerly; {why}. "
                      f"Pass numbers that change as tensors, and keep shapes few; stats() lists every reason. "
                      "If it goes on like that, most of the calls that would be recorded run as they are",
                      TracerWarning, stacklevel=5)
