"""Cache misses: a call that no entry fits is recorded, and becomes an entry or a path of one."""

import warnings
from collections import Counter

from ...ir.draw.tables import counted
from ...ir.process_state import more_frames
from ...ir.tracebacks import user_level
from ...runtime.core.specialized_calls import expecting_more
from ..errors.errors import (
    REFUSED,
    DisturbedError,
    MovedError,
    ProxyError,
    ReplacedError,
    RunEagerlyError,
    SeveralDevicesError,
    TraceError,
    TracerWarning,
)
from ..errors.parameters import parameters_of
from ..errors.recompile_limit import IN_A_ROW, LATE, LATEST, NO_SECOND, ChangingReasons, RecompileLimit
from ..guards.kept_keys import kept_key, passed_objects
from ..guards.locations import is_viewable
from ..guards.object_arguments import ObjectArguments
from ..guards.references import Living, holding_weakly
from ..proxies.data_sizes import DataSizes
from ..proxies.numpy_scalars import NUMBERS
from ..proxies.threads import is_alone
from .cache import Cache
from .cache_entry import Entry
from .call_kinds import why_another_kind
from .dynamic_shapes import Symbols, user_names
from .labels import NUMBER, definition_of
from .recorded_call import FIRST, RECORDING, Run
from .uncompiled_calls import (
    RESTING_LOOKS,
    RESTING_REPLAYS,
    TIMED,
    TOO_DEAR,
    TOO_DEAR_TO_BIND,
    TOO_DEAR_TO_COMPILE,
    TOO_OFTEN,
    EagerCalls,
)

MOST_REASONS = 1000  # that are remembered
MOST_REPLACED = 2    # calls in a row that put another object into one place, and are recorded all the same
MOST_FIRST = 2       # calls in a row that are not recorded for one reason, and may be the first ones under `fullgraph`
MOST_TARGETS = 256   # of one recording that are remembered
_FRAMES = 64          # of the recorder, around and above those of the user: 35 in tests/jit/tracing/test_recursion.py
MOST_FIXED = 4       # recordings of fixed sizes that symbolic ones are compared with


class FailedRecordings:
    """Calls in a row whose recordings were thrown away.

    count   how many these are
    alike   how many of them, up to the last one, have its reason
    """

    def __init__(self):
        self.count = self.alike = 0
        self._last, self._reason = -1, ""       # number of the last such call, and its reason

    def add(self, number: int, reason: str):
        """Count the call of this number."""
        in_a_row = self._last + 1 == number
        self.alike = self.alike + 1 if in_a_row and reason == self._reason else 1
        self.count = self.count + 1 if in_a_row else 1
        self._last, self._reason = number, reason


class ReplayShare:
    """Count of the calls that were not replayed, and whether a warning said that recordings are of little use."""

    def __init__(self):
        self.rested = 0         # calls that were neither replayed nor recorded
        self.warned = False
        self.start_at(0)

    def start_at(self, calls: int):
        """Start anew after so many calls. A warning is not given again."""
        self.first, self.recorded = calls, 0
        self.changing = ChangingReasons()


class MissHandler:
    """Recorder of the calls of one function, with what earlier recordings showed about it. `why` is the reason of the next
    miss, where a recording was thrown away and the next call must look again."""

    def __init__(self, fn, run, eager: EagerCalls, dynamic, arrays, cache: Cache):
        self.why = ""
        self.stats: dict = {"calls": 0, "compiles": 0, "checks": 0, "misses": []}
        self._fn, self._run, self._eager, self._dynamic, self._arrays, self._cache = fn, run, eager, dynamic, arrays, cache
        self._share = ReplayShare()
        self._failed = FailedRecordings()
        self._no_reads = False          # whether lazy scalars are off, since the function does not take them
        self._no_symbols = False        # whether symbolic numbers are off, likewise
        self.forget()

    def forget(self):
        """Drop what recordings showed."""
        self.objects = ObjectArguments()
        self.limit, self._data_sizes = RecompileLimit(self._eager.fullgraph, self.stats["calls"]), DataSizes()
        self._share.start_at(self.stats["calls"])
        self._resting = TOO_OFTEN       # why calls rest that the limit does not let record
        self._tables: dict = {}         # by what they watch: locations of containers that are looked up; None if of no use
        self._last_key: tuple = ()      # of the last call that was recorded
        self._targets: dict = {}        # by place: what recordings found the function to write, while their arguments live

    def should_run_eagerly(self, call, family) -> bool:
        """Return whether recording this call does not pay; count the call if so."""
        self.limit.missed(self.stats["calls"])
        if self.limit.may_record():
            return False
        self._share.rested += 1
        self._eager.add(*((self._resting, "") if self.limit.pauses else (TOO_DEAR, None)))
        self._find_reason(call, family)
        if call.reason is not FIRST:
            self._share.changing.add(definition_of(self._fn).of(call.reason))
        return True

    def _find_reason(self, call, family):
        """Say in a call why no recording fits it, if the search for one did not."""
        if call.reason is FIRST and family is not None:
            call.reason = family.why(call.shapes, tuple(call.numbers)) or self._arrays.why(call.args, call.kwargs) or (
                self._last_key and why_another_kind(parameters_of(self._fn), self._last_key, call.key, family.labels)) or FIRST

    def run_eagerly(self, args, kwargs):
        """Run and time a call that is not recorded."""
        start = self.limit.clock()
        result = self._run(*args, **kwargs)
        self.limit.ran_eagerly(self.limit.clock() - start)
        return result

    def run_too_dear(self, call, entry, kind: str):
        """Run a call whose recording is not compiled, or not bound to its sizes, since that would not pay."""
        self.limit.missed(self.stats["calls"])
        self._share.rested += 1
        is_binding = kind == "binding"
        reason = TOO_DEAR_TO_BIND if is_binding else TOO_DEAR_TO_COMPILE
        self._eager.add(reason, None)
        if is_binding and self._eager.counts[reason] == IN_A_ROW:
            changing = ", ".join([self._cache.family(call).labels.of(place) for place in entry.symbols.names])
            self._complain(f"gets new sizes at most calls, and binding its code to them costs more than it saves: {changing}; "
                           "pad to multiples, or keep sizes few")
        args, kwargs = call.arguments()
        return self.run_eagerly(args, kwargs)

    def run_unlike(self, error, args, kwargs):
        """Run a call whose arguments no recording can take."""
        self.stats["calls"] += 1
        self._share.rested += 1
        self._eager.add(str(error), None)
        self._warn_as_it_is(str(error).removeprefix(REFUSED))
        return self.run_eagerly(args, kwargs)

    def time(self, args, kwargs):
        """Run and time a call that looks for no recording."""
        self.stats["calls"] += 1
        self._share.rested += 1
        self._eager.add(self._why_rests, None)
        if not self.limit.is_timing:
            return self.run_eagerly(args, kwargs)
        with expecting_more():          # whatever makes eager calls quick
            return self.run_eagerly(args, kwargs)

    def let_rest(self, calls: int):
        """Let the next calls run without a look for a recording, at most up to one from which the share of replays counts."""
        self.settle()
        done = self.stats["calls"] - self._share.first
        calls = min([calls, *[n - done for n in (LATE, LATEST) if n > done]])
        self._eager.rest(calls, self._why_rests)

    @property
    def _why_rests(self) -> str:
        if self.limit.is_timing:
            return TIMED
        return RESTING_LOOKS if self.limit.looks.missed else RESTING_REPLAYS

    def settle(self):
        """Count the calls that rested."""
        rested = self._eager.settle()
        self.stats["calls"] += rested
        self._share.rested += rested
        if not self._share.warned and self.stats["calls"] - self._share.first >= LATE and self.limit.invested:
            self._judge()

    def _judge(self):
        """Warn once if most calls were not replayed, because something keeps changing or because tracing does not pay."""
        calls = self.stats["calls"]
        others = self._share.rested + self._share.recorded
        changing, count = self._share.changing.worst, self._share.changing.count
        if changing and 2 * others > calls:
            reasons = [f"What keeps changing, at {counted(count, 'call')}: {changing.rpartition(' [')[0]}"]
            advice = "move what changes into tensors, name sizes in dynamic=, or pad them to few lengths"
        elif calls - self._share.first >= LATEST and 4 * others > 3 * calls:
            reasons = []
            advice = "trace a larger part of the program, such as a whole step, or leave it untraced"
        else:
            return
        eager = Counter(self._eager.counts)
        eager.pop(TIMED, None)          # it says nothing about the function
        reasons[:0] = [f"The most frequent reason, of {counted(n, 'call')}: {reason}" for reason, n in eager.most_common(1)]
        self._share.warned = True
        self._warn(f"was replayed at {calls - others:,} of its {calls:,} calls alone, so tracing it gains little. "
                   f"{'. '.join(reasons)}. Way out: {advice}. stats()['misses'] and stats()['eager'] list all reasons")

    def answer_unseen(self, line):
        """A line gave a number that no path is recorded for: others may be sizes, too."""
        self._data_sizes.varies(line)

    # Symbols of a recording.

    def _symbols(self, call, family) -> Symbols | None:
        if call.met or call.checks:
            likes = [entry.symbols for entry in (*call.met, *[e for e, _ in call.checks[:1]]) if entry.symbols is not None]
            if likes or not self._reads_sizes():
                return Symbols.of(likes[0].names, call.shapes, call.numbers) if likes else None
        if self._no_symbols:
            return None
        if call.met:
            return Symbols.of({}, call.shapes, call.numbers)
        names = family.symbolic_origins(call.shapes, call.numbers, self._dynamic, call.own_counts[1])
        if isinstance(self._dynamic, dict) and family.is_open:
            names.update(user_names(self._dynamic, parameters_of(self._fn), call))
        if names and not is_alone():
            names = self._private(names, call)
        return Symbols.of(names, call.shapes, call.numbers) if names or self._reads_sizes() else None

    def _reads_sizes(self) -> bool:
        """Return whether some lines read sizes out of data, for which symbols may stand now."""
        return bool(self._data_sizes.lines) and self._may_read_sizes()

    def _may_read_sizes(self) -> bool:
        return self._dynamic is not False and not self._no_symbols and (is_alone() or not self._writes_openly())

    def _writes_openly(self) -> bool:
        """Return whether the function writes to objects of all threads, which could meet symbolic numbers there."""
        return any(t.kind != "attr" or not is_viewable(t.owner, t.key) for t in self._living_targets())

    def _targets_left(self) -> dict:
        return {key: t for key, t in self._targets.items() if type(t) is not Living or t.value is not None}

    @staticmethod
    def _targets_of(call, effects) -> dict:
        """Return what a call was found to write, to be kept while its arguments live."""
        objects = passed_objects(call.key[0][0])
        if not objects:
            return {t.place: t for t in effects}
        places = [(at, key if type(key) in (str, int) else id(key)) for at, key in [t.place for t in effects]]
        return {place: Living(t, objects) for place, t in zip(places, effects)}

    def _living_targets(self) -> list:
        """Return what recordings found the function to write, as far as its owners are not gone."""
        found = [t.value if type(t) is Living else t for t in self._targets.values()]
        return [t for t in found if t is not None and t.owner is not None]

    def _private(self, names, call):
        """Return the symbols that other threads cannot meet: none if the function writes openly, else those in arguments and
        in locations of this thread."""
        if self._writes_openly():
            return {}
        numbers = [p for p, kind in zip(call.locations, call.key[0][2] or ()) if kind in NUMBERS]
        shared = {(NUMBER, call.own_counts[1] + i) for i, p in enumerate(numbers) if not p.is_private}
        return {place: name for place, name in names.items() if place not in shared}

    # Recording.

    def record(self, call, family):
        """Run the function eagerly, record it, and return its result; `call.met` holds the entries that lack this path."""
        start = self.limit.clock()
        try:
            with holding_weakly(frozenset(map(id, passed_objects(call.key[0][0])))):
                result, why, template = self._record(call, family)
        except BaseException:
            self._eager.raised += 1
            raise
        looks = self.stats["calls"] - self._share.rested
        count = self.limit.recorded("" if call.reason is FIRST else why, self.limit.clock() - start, template, looks)
        self._share.recorded += 1
        if call.reason is not FIRST:
            self._share.changing.add(why)
        if count:
            self._complain(f"{count}. The last reason: {why}")
        return result

    def _record(self, call, family) -> tuple:
        """Return (result, reason, template of a new recording or None)."""
        symbols = self._symbols(call, family)
        call.alike = [f for f in family.fixed if f.unfit(call, set()) is None]
        self._find_reason(call, family)
        if self.stats["compiles"] and NO_SECOND.peek():
            self._refuse_second(call.reason)
        self._last_key = kept_key(call.key)
        run = self._new_run(symbols)
        try:
            with more_frames(_FRAMES):
                run.record(call)
        except ProxyError as error:           # from now on it gets plain numbers, each of which counts
            self._no_reads, self._no_symbols = self._no_reads or error.reads, self._no_symbols or not error.reads
            if not error.may_repeat:
                raise
            return self._record(call, family)
        except MovedError as error:
            self._eager.add(str(error))
            return self._run_again(call), str(error), None
        except DisturbedError as error:         # the function ran, but its recording may not hold
            self._discard(run, call, error)
            return run.result, self.why, None
        except TraceError as error:
            if self._eager.refuses or not (run.is_as_eager or run.may_repeat):
                raise
            self._discard(run, call, RunEagerlyError(str(error).removeprefix(REFUSED)))
            if run.is_as_eager:
                return run.result, self.why, None
            self.limit.end()        # a later call may have written something before the error
            return self._run_again(call), self.why, None
        finally:
            run.forget()
        if self._takes_tables(run):
            return run.result, self.why, None
        run.recording.limit = self.limit
        self._enter(call, run, family)
        return run.result, definition_of(self._fn).of(call.reason), run.template

    def _takes_tables(self, run) -> bool:
        """Return whether the run has looked numbers up where the next call is recorded with tables."""
        new = {place.identity: place for place in run.looked_up if place.identity not in self._tables}
        if new:
            self._tables = {**self._tables, **new}
            self.why = f"it looks up {next(iter(new.values())).chain} by a number that changes"
            self._eager.add(self.why)
        return bool(new)

    def _new_run(self, symbols) -> Run:
        run = Run(self._fn, frozenset(self._cache.changing), symbols,
                  tables=[p for p in self._tables.values() if p is not None], targets=self._living_targets(), run=self._run,
                  objects=self.objects)
        run.recorder.refuses, run.recorder.reads.defers = self._eager.refuses, not self._no_reads
        if symbols is not None and self._may_read_sizes():
            run.recorder.reads.sizes = self._data_sizes
        return run

    def _run_again(self, call):
        args, kwargs = call.arguments()
        return self._run(*args, **kwargs)

    def _discard(self, run, call, error):
        """Count a call that ran as it is, since its recording does not hold, and warn if later calls will do so, too."""
        is_useless = self._count_failure(error)
        if type(error) is SeveralDevicesError and str(error) != call.reason:       # once
            self._warn(f"runs as it is: {error}. Trace what is done on each")
        if is_useless:
            self._warn_as_it_is(error)
        is_rule = is_useless or type(error) is SeveralDevicesError or self._failed.alike > MOST_FIRST
        self._eager.add(str(error), "" if is_rule else None)
        if run.keeps_plain:
            self._tables = dict.fromkeys(self._tables)
        self.why = str(error)

    def _refuse_second(self, reason):
        place = definition_of(self._fn)
        raise TraceError(place.of(f"{place.name} would be recorded again: {reason}. Mark what changes as dynamic, pass it as "
                                  "an argument, or leave error_on_recompile off"))

    def _count_failure(self, error) -> bool:
        """Count a recording that was thrown away; return whether that will go on, and the limit shrinks."""
        self._failed.add(self.stats["calls"] - self._share.rested, str(error))
        is_useless = type(error) is RunEagerlyError or (type(error) is ReplacedError and self._failed.count > MOST_REPLACED)
        if is_useless:
            self.limit.pause()
        return is_useless

    def finish_by_python(self, call, entry, changed):
        """Run the rest of a call whose host steps changed what the function reads behind them. The next one is recorded."""
        run = Run(self._fn, run=self._run)
        run.recorder.reads.defers, run.recorder.hosts.done = False, changed.done
        run.recorder.runs_as_it_is = f"its host functions change what it reads behind them: {changed}; return it as a tensor"
        with RECORDING:
            try:
                run.record(call)
            except RunEagerlyError as error:
                self._warn_as_it_is(error)
                self._eager.add(str(error), "")
            finally:
                changed.done.end()
                run.forget()
        self._cache.drop(entry)
        self._share.rested += 1
        call.result, self.why = run.result, str(changed)

    def _warn_as_it_is(self, error):
        self._resting = str(error)
        if not self._share.warned:
            self._share.warned = True
            self._warn(f"runs as it is at most calls: {error}")

    def _warn(self, text):
        place = definition_of(self._fn)
        warnings.warn(place.of(f"{place.name} {text}"), TracerWarning, stacklevel=user_level())

    # Entering a recording.

    def _enter(self, call, run, family):
        with self._cache.lock:
            self._cache.changing.update(run.moving)
            self._targets = {**self._targets_left(), **self._targets_of(call, run.template.effects[:MOST_TARGETS])}
            alike = [entry for entry in call.met if _names(entry.symbols) == _names(run.symbols)]   # a tree has one set of them
            merged = any([entry.add(run.recording, run.guards) for entry in alike])  # noqa: C419  (all of them)
            merged = merged or self._is_checked(call, run, family)
            others = [] if merged else [entry.symbols.scope for entry in call.met if entry.symbols is not None]
            self._data_sizes.recorded(run.recording, others)
            self._count(call, merged)
            if not merged:
                self._keep(call, run, family)

    def _is_checked(self, call, run, family) -> bool:
        """Return whether a recording agrees with one of the entries that it is compared with; restrict the other entries."""
        alike = [entry.add(run.recording, run.guards) for entry, _ in call.checks]
        for (entry, symbols), same in zip(call.checks, alike):
            if not same and len(run.recording.scope.reads) > len(entry.symbols.scope.reads):
                family.drop(entry)      # it was recorded before it was known that a line reads sizes
            elif not same and entry.ones(symbols) in entry.ones_compared:
                family.close(f"it does other work for other sizes: {entry.symbols.text()}")
            elif not same:
                entry.refuse(symbols)
        return any(alike)

    def _count(self, call, merged):
        is_check = merged and bool(call.checks)
        self.stats["checks" if is_check else "compiles"] += 1
        if not is_check:
            self.stats["misses"].append(definition_of(self._fn).of(call.reason))
            del self.stats["misses"][:-MOST_REASONS]

    def _keep(self, call, run, family):
        """Make a recording an entry: for calls with other sizes and numbers too, or for calls like this one alone."""
        values = () if run.symbols is None else tuple(run.symbols.hints.values())
        entry = Entry(run.recording, run.guards, family.labels, run.symbols, (call.shapes, call.numbers))
        if run.symbols is None:
            family.fixed = [*family.fixed[1 - MOST_FIXED:], entry]
            entry.key = kept_key(call.key)
        elif family.is_open and run.symbols.names:
            for fixed in family.enter(entry, run.recording, call.alike):
                self._cache.drop_fixed(fixed)
        family.saw(call.shapes, tuple(call.numbers))
        self._cache.remember(call.key, entry, values)

    def _complain(self, text):
        """Warn once that recording does not pay."""
        if not self._share.warned:
            self._share.warned = True
            self._warn(f"{text}. Such calls run as they are, unless recording pays; stats()['misses'] lists every reason")


def _names(symbols: Symbols | None) -> dict:
    """Return {place: name} of what is symbolic."""
    return {} if symbols is None else symbols.names
