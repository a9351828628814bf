"""`trace`: the decorator, and the function that it makes."""

import functools
import sys
import types
import warnings
import weakref
from functools import partial
from typing import Any

from ...ir import config
from ...ir.doors import door
from ...ir.draw.tables import COLUMNS, clipped, counted, html_text
from ...ir.lazy import lazy
from ...ir.locks import Turn
from ...ir.tracebacks import user_level
from ...passes.schedule import plan_steps
from ...runtime.core.storage import user_line
from ...runtime.nn.base.module import Module
from ...runtime.state.host_results import forget
from ...runtime.state.mode import COUNTERS, OPEN_PROFILES, Defaults, tls
from ..errors.errors import TraceError, TracerWarning, UnrepeatableError, at
from ..guards.arg_pytree import flatten_call
from ..guards.kept_keys import kept_key, passed_objects
from ..guards.locations import read_locations
from ..host.locks import HeldLocks, LockLog, TakesLocks
from ..host.post_host_guards import HostChanged
from ..inspect import report
from ..inspect.shown import NOTHING_YET, Explanation, Graphs, Kernels, Stats
from ..replay.compile_segment import TooDear
from ..replay.replay import Failed, Unseen
from .arrays import ArrayArguments
from .cache import Cache, numbers_key
from .cache_entry import kinds_of, sharing
from .cache_miss import MissHandler
from .dynamic_shapes import check_keys
from .entry_call import MISS, MOST, quick_call, run_quick_call
from .labels import call_of, definition_of, locate
from .recorded_call import RECORDING, Call
from .traced_module import traced_module
from .uncompiled_calls import NOT_LOOKED_UP, EagerCalls, mode_of_thread

profiling = lazy(__package__, "..inspect.profiling")
_PATIENCE = 0.05     # seconds between looks at what another thread's recording waits for
MOST_QUICK = 64      # kinds of calls for which an entry keeps a quick call


class _Ended(weakref.ref):
    """A dead argument, in place of the quick call for it. The interpreter puts it there without Python code, which an exception
    from a signal handler could leave."""

    __slots__ = ()

    def __call__(self, args):
        return MISS


class Traced:
    """A function that replays what is recorded of it, and records what is new. A call tries the quick call of the last one,
    then the entries of its key, then the symbolic entries of its family. A call that misses all of them goes to the
    `MissHandler`."""

    offers: tuple = ("_jobs", "explain", "forget", "graphs", "kernels", "stats")        # that a traced module has, too

    def __init__(self, fn, dynamic=None, fullgraph=False, run=None, refuse=True):
        if not callable(fn):
            raise TraceError(f"trace takes a function, a module or a class, got {type(fn).__name__}{at(user_line())}")
        if fullgraph and not refuse:
            raise TraceError(definition_of(fn).of("fullgraph=True raises where a call would run as it is, and refuse=False "
                                                  "does not; pass one of them"))
        if dynamic not in (None, True, False) and not isinstance(dynamic, dict):
            raise TraceError(definition_of(fn).of(f"dynamic= takes None, True, False or a dictionary of dimensions, got "
                                                  f"{dynamic!r}"))
        if isinstance(dynamic, dict):
            check_keys(dynamic, fn)
        functools.update_wrapper(self, fn, updated=())
        self.fn = fn
        self.run = fn if run is None else run        # calls it as it is: for a traced module, past its own traced call
        self._dynamic, self._eager = dynamic, EagerCalls(fn, fullgraph, refuse)
        self._arrays = ArrayArguments(fn)
        self._cache = Cache(fn)
        self._misses = MissHandler(fn, self.run, self._eager, dynamic, self._arrays, self._cache)
        self._stats = self._misses.stats
        self._quick: Any = None          # called first: the quick call of the last call's kind, that call timed; None in a rest
        self._written: Any = None        # the quick call of the last call's kind
        self._ran_hooked = False         # whether a warning said that hooks on saved tensors keep it from compiled code

    def __get__(self, instance, owner=None):
        return self if instance is None else types.MethodType(self, instance)

    @door
    def __call__(self, *args, **kwargs):
        quick = self._quick
        if quick is None:
            if not (OPEN_PROFILES or COUNTERS):
                for _ in self._eager.left:
                    return self.run(*args, **kwargs)
        elif not kwargs:
            result = run_quick_call(quick, args)
            if result is not MISS:
                self._stats["calls"] += 1
                return result
        return self._call(args, kwargs)

    def _call(self, args, kwargs):
        """Run a call that is not like the last one."""
        self._misses.settle()
        try:
            return self._look_up(args, kwargs)
        except TraceError as error:
            locate(error, self.fn)
            raise

    def _look_up(self, args, kwargs):
        m = tls.m
        if m.special and (m.recorder is not None or m.batched is not None or m.anomaly or m.function_modes or
                          (m.saved_hooks is not None and m.grad)):
            return self._as_it_is(m, args, kwargs)
        settings = config.current()
        if not settings.jit:
            return self._as_it_is(m, args, kwargs)
        limit = self._misses.limit
        if not limit.watched:
            return self._replay_or_record(m, settings.numerics, args, kwargs)
        calls = limit.rest(self._stats["calls"] + 1)
        if calls > 1:
            self._let_rest(calls - 1)
            return self(*args, **kwargs)
        if calls:
            result = self._misses.time(args, kwargs)
            self._let_rest(limit.rest(self._stats["calls"] + 1) - 1)
            return result
        start, invested = limit.clock(), limit.invested
        result = self._after_rest(args, kwargs)
        if result is MISS:
            result = self._replay_or_record(m, settings.numerics, args, kwargs)
        limit.looked(limit.clock() - start, invested)
        return result

    def _let_rest(self, calls: int):
        """Let so many calls run without a look for a recording."""
        if calls > 0:
            self._quick = None
            self._misses.let_rest(calls)

    def _after_rest(self, args, kwargs):
        """Return the result of the last quick call before a rest; MISS if there is none, or it is not for this call."""
        written = self._written
        if self._quick is not None or written is None or kwargs:
            return MISS
        result = run_quick_call(written, args)
        if result is not MISS:
            self._stats["calls"] += 1
            self._quick = self._watched(written)
        return result

    def _replay_or_record(self, m, numerics, args, kwargs, held=None):
        try:
            call = self._call_of(m, numerics, args, kwargs)
        except UnrepeatableError as error:
            if self._eager.refuses:
                raise
            return self._misses.run_unlike(error, args, kwargs)
        call.held, family = held, None
        try:
            known = self._cache.entries.get(call.key, ())
            for bound in reversed(known):
                if self._try(call, *bound):
                    if bound is not known[-1]:
                        self._cache.try_first(call.key, known, bound)
                    return call.result
            family = self._cache.family(call)
            if self._replay(call, family):
                forget(call)
                return call.result
        except Failed as failed:
            why = f"{type(failed.error).__name__}: {failed.error}"
        except TakesLocks as takes:
            call.release()
            return self._with_locks(takes.locks, m, numerics, args, kwargs)
        else:
            why = ""
        try:
            return self._without_replay(m, call, family, why)
        finally:
            forget(call)

    def _without_replay(self, m, call, family, why: str):
        """Record the call, or run it as it is: no recording goes through it. `why` says why a replay failed."""
        call.release()
        if why:
            return self._after_failure(m, call, why)
        turn = Turn()
        try:
            is_free = turn.takes(RECORDING, False)
            if not is_free and not self._waits_to_record(turn):
                return self._misses.run_eagerly(*call.arguments())
            # Another thread may have recorded something meanwhile, and there may be more to look up.
            if not is_free or self._looks_up_more() or self._is_outdated(call) or self._takes_more_apart(call):
                self._stats["calls"] -= 1
                self._misses.why = call.reason
                return self._look_up(*call.arguments())
            if not self._misses.should_run_eagerly(call, family):
                return self._misses.record(call, family)
        finally:
            turn.give_back()
        return self._misses.run_eagerly(*call.arguments())

    def _with_locks(self, locks, m, numerics, args, kwargs):
        """Look a call up once more with some locks taken: other threads may have changed what it reads."""
        self._stats["calls"] -= 1
        held = HeldLocks(locks)
        try:
            held.take()
            return self._replay_or_record(m, numerics, args, kwargs, held)
        finally:
            held.turn.give_back()

    def _waits_to_record(self, turn) -> bool:
        """Wait until this thread may record; return False if the one that does waits for a lock, perhaps of this thread."""
        while not turn.takes(RECORDING, True, _PATIENCE):
            if LockLog.waiting is not None:
                self._eager.add("another thread that records a function waits for a lock", None)
                return False
        return True

    def _call_of(self, m, numerics, args, kwargs) -> Call:
        """Return a call with its key: structure, numerics, locations, shared memory, modes, defaults, tensors and numbers."""
        args, kwargs = self._arrays.stand_ins(args, kwargs)
        leaves: list = []
        numbers: list = []
        spec, containers, wholes = flatten_call(args, kwargs, leaves, numbers, self._misses.objects)
        locations, counts = self._cache.locations, (len(leaves), len(numbers))
        kinds = locations and read_locations(locations, leaves, numbers)
        key = ((spec, numerics, kinds), sharing(leaves), m.grad, m.autocast,
               (Defaults.dtype, Defaults.device, m.inference), kinds_of(leaves), numbers_key(numbers))
        self._stats["calls"] += 1
        call = Call(args, kwargs, leaves, numbers, key, locations, counts, containers, wholes)
        if self._misses.why:
            call.reason, self._misses.why = self._misses.why, ""
        return call

    def _as_it_is(self, m, args, kwargs):
        """Run the function inside of another trace or of vmap, under modes that look at each operation, or with traces off."""
        reason, way_out = mode_of_thread(m)
        self._eager.add(reason, way_out)
        if way_out is not None and m.saved_hooks is not None and not self._ran_hooked:
            self._ran_hooked = True
            place = definition_of(self.fn)
            warnings.warn(place.of(f"{place.name} runs as it is {reason}; {way_out}"), TracerWarning, stacklevel=user_level())
        return self.run(*args, **kwargs)

    def _after_failure(self, m, call, why: str):
        """Run the function for values at which compiled code raised: Python code decides what happens."""
        args, kwargs = call.arguments()
        before = m.failures
        self._eager.add("an operator cannot take the values of the call: Python decides what happens")
        result = self.run(*args, **kwargs)
        if m.failures == before:
            place = definition_of(self.fn)
            text = (f"compiled code of {place.name} raised {why}; the call ran as it is, and raised nothing")
            warnings.warn(place.of(text), TracerWarning, stacklevel=user_level())
        return result

    def _is_outdated(self, call) -> bool:
        return bool(call.arrays) and self._arrays.is_outdated(*call.arguments())

    def _takes_more_apart(self, call) -> bool:
        """Take objects among the arguments apart whose class calls make new objects of; return whether there are any."""
        classes = self._misses.objects.vary(call.key[0][0], self._cache.was_replayed)
        if classes:
            call.reason = (f"arguments are new objects of class {', '.join(sorted([c.__qualname__ for c in classes]))}, which "
                           "count by the attributes that are read from now on")
            self._cache.drop_objects(classes)
            self._quick = self._written = None
        return bool(classes)

    def _looks_up_more(self) -> bool:
        """Look up locations that were seen to change; return whether there are new ones."""
        found = self._cache.add_changed_locations()
        if found:
            self._quick = self._written = None
        return found

    def _replay(self, call, family) -> bool:
        """Replay a call by a symbolic entry of its family; if none applies, `call` holds the reason."""
        unknown = []
        for entry in family.entries:
            symbols = entry.match(call.shapes, call.numbers)
            if symbols is None:
                continue
            if not entry.is_known(symbols):
                unknown.append((entry, symbols))
            elif self._try(call, entry, symbols):
                entry.uses += 1
                if not entry.symbols.has_numbers:
                    self._cache.remember(call.key, entry, symbols)
                return True
        if not call.met:
            for entry, symbols in unknown:
                self._compare(call, entry, symbols)
        return False

    def _compare(self, call, entry, symbols):
        """Let the recording of a call be compared with an entry, if that applies and has the same symbols."""
        reason = entry.unfit(call, self._cache.changing)
        if reason is not None:
            call.missed(reason)
        elif not call.checks or entry.symbols.names == call.checks[0][0].symbols.names:
            call.checks.append((entry, symbols))

    def _try(self, call, entry, symbols) -> bool:
        """Replay a call by an entry, if that applies and has its path; the result is then in `call`."""
        reason = entry.unfit(call, self._cache.changing)
        if reason is None:
            if entry.locks and (call.held is None or not call.held.has(entry.locks)):
                raise TakesLocks(entry.locks)
            try:
                call.result, template = entry.tree.run(call.leaves, symbols, call)
                if self._misses.limit.recordings.unused:
                    self._misses.limit.replayed(template)
                self._enter_quick_call(self._quick_call(call, entry, symbols))
                return True
            except Unseen as unseen:
                self._misses.answer_unseen(unseen.line)
                if not call.met:
                    call.reason = str(unseen)
                call.met.append(entry)
                return False
            except TooDear as dear:
                call.release()
                call.result = self._misses.run_too_dear(call, entry, str(dear))
                forget(call)
                return True
            except HostChanged as changed:
                call.release()
                self._misses.finish_by_python(call, entry, changed)
                return True
        call.missed(reason)
        return False

    def _enter_quick_call(self, function):
        """Let the next call try a quick call first."""
        limit = self._misses.limit
        if function is not self._written:
            self._written = function
            limit.changes_looks()
        self._quick = self._watched(function) if limit.watched else function

    def _quick_call(self, call, entry, symbols):
        """Return the quick call for a call that was just replayed: written at its second time, and again where it missed."""
        if call.kwargs:
            return None
        kind = call.key if symbols == () else call.key[:-1]         # it reads numbers at each call
        function, times = entry.quick.get(kind, (None, -1))
        if times < MOST and (function is None or function is self._written):
            if times >= 0:
                function = self._mortal(quick_call(entry, symbols, call), call)
            if len(entry.quick) > MOST_QUICK:
                entry.quick.clear()
            entry.quick[kept_key(kind)] = function, times + 1
        elif function is not None and function is self._written:     # it missed once too often
            function = None
            entry.quick[kind] = None, times
        return function

    def _mortal(self, quick, call):
        """Return a quick call that this function loses when an argument that counts by identity dies."""
        objects = passed_objects(call.key[0][0])
        if quick is not None and objects:
            quick.ends = [_Ended(x, partial(setattr, self, name)) for x in objects for name in ("_quick", "_written")]
        return quick

    def _watched(self, quick):
        """Return a quick call that times another one, until it is known to pay."""
        def watched(args):
            limit = self._misses.limit
            if not limit.would_look(self._stats["calls"] + 1):
                return MISS
            start, invested = limit.clock(), limit.invested
            result = quick(args)
            if result is not MISS:
                limit.looked(limit.clock() - start, invested)
                if not limit.watched:
                    self._quick = quick
            return result

        return None if quick is None else watched

    def __reduce__(self):
        """Copy and pickle the function, not its recordings; a decorated function is found by its name."""
        name, place = getattr(self.fn, "__qualname__", "<none>"), sys.modules.get(str(getattr(self.fn, "__module__", "")))
        for part in name.split("."):
            place = vars(place).get(part) if isinstance(place, (type, types.ModuleType)) else None
        return name if place is self else (self.maker, (self.fn,))

    def __repr__(self):
        name, counts = f"<traced {call_of(self.fn)}:", f"{self._counts()}>"
        return f"{name} {counts}" if len(name) + len(counts) < COLUMNS else f"{clipped(name, COLUMNS)}\n    {counts}"

    def _counts(self) -> str:
        """Return how many entries there are, and what became of the calls, in words."""
        self._misses.settle()
        entries, eager = self._cache.count(), self._eager.by_reason()
        outside = sum([n for reason, n in eager.items() if reason in NOT_LOOKED_UP])
        calls, as_it_is = self._stats["calls"] + outside, sum(eager.values())
        if not calls:
            return "not called yet"
        recorded, raised = self._stats["compiles"] + self._stats["checks"], self._eager.raised
        parts = {"recorded": recorded, "replayed": calls - recorded - raised - as_it_is, "eager": as_it_is, "raised": raised}
        shown = ", ".join([f"{n:,} {what}" for what, n in parts.items() if n > 0])
        return f"{entries} {'entry' if entries == 1 else 'entries'}; {counted(calls, 'call')}: {shown}"

    def _repr_html_(self) -> str:
        return html_text(f"{self._counts()}\n\n{self.explain()}", "print(f.explain())", f"traced {call_of(self.fn)}")

    @property
    def maker(self):
        """Makes a traced function with the options of this one."""
        return functools.partial(Traced, dynamic=self._dynamic, fullgraph=self._eager.fullgraph, refuse=self._eager.refuses)

    def forget(self):
        """Drop all recordings and what they showed; the next call records again."""
        with self._cache.lock:
            self._cache.clear()
            self._misses.forget()
            self._misses.settle()
            self._eager.wake()
            self._quick = self._written = None

    def stats(self) -> Stats:
        """Return counts of calls and compiles, the reason of each recording, and what the compiled paths consist of.
        `unrecorded` counts calls that ran as they are, `eager` has their reasons."""
        self._misses.settle()
        jobs, eager = self._jobs(), self._eager.by_reason()
        done = list(dict.fromkeys([job.compiled for job in jobs if job.compiled is not None]))
        runs = [s for c in done for s in c.plan.steps if type(s) is plan_steps.Run]
        return Stats(self._stats, unrecorded=sum(eager.values()), eager=eager,
                    misses=list(self._stats["misses"]), graphs=len(done), native_calls=len(runs),
                    kernels=sum(len(r.kernels) for r in runs), other_calls=sum(len(c.plan.steps) for c in done) - len(runs),
                    in_place=sum(len(c.in_place) for c in done), bindings=sum(getattr(j, "bindings", 0) for j in jobs),
                    compile_seconds=sum(job.seconds for job in jobs))

    def _jobs(self):
        return report.jobs_of(self._cache.all_entries())

    @property
    def graphs(self) -> Graphs:
        """For each recorded segment, the graph as recorded and after each pass that changed it."""
        return report.graphs(self._jobs())

    @property
    def kernels(self) -> Kernels:
        """The generated kernels by name: what each computes, and its code."""
        return report.kernels(self._jobs())

    def explain(self, profile: bool = False) -> Explanation:
        """Describe what runs: reasons for several recordings, what was fused or not and why, and the work of each kernel. With
        `profile` the text has the time of each kernel, on random values (`jit.profile` measures real calls)."""
        self._misses.settle()
        text = "\n\n".join(filter(None, (report.explain_reasons(self._stats["misses"]),
                                         report.explain_sizes(self._cache.families()), report.explain(self._jobs()),
                                         report.explain_eager(self._eager.by_reason()))))
        text = text or f"{definition_of(self.fn).name}: {NOTHING_YET}"
        return Explanation(f"{text}\n\n{profiling.profile_jobs(self._jobs())}" if profile else text)


def trace(func=None, *, dynamic=None, fullgraph=False, refuse=True):
    """Decorate a function, method, module or class: recorded at its first run, replayed as compiled code afterwards. A module
    stays a module of its class, with its attributes; of a class, calls of its objects are traced. `dynamic` says which sizes of
    arguments are symbolic. None: those that are seen to change; True: all; False: none; {parameter or position: {dim: name}}:
    the named ones (equal names, equal sizes). `fullgraph` raises where a call would run as it is. `refuse=False` lets a call
    that no trace could repeat run as it is, with one warning; by default it raises a TraceError."""
    if func is None:
        return functools.partial(trace, dynamic=dynamic, fullgraph=fullgraph, refuse=refuse)
    return wrapped(func, functools.partial(Traced, dynamic=dynamic, fullgraph=fullgraph, refuse=refuse))


def wrapped(func, make):
    """Return what `make(function)` makes of a function, and for a module or class one that calls it."""
    if isinstance(func, Module):
        return traced_module(func, make)
    if not isinstance(func, type):
        return make(func)
    if "__call__" not in dir(func):
        raise TraceError(f"objects of the class {func.__qualname__} cannot be called; trace its methods{at(user_line())}")
    func.__call__ = make(func.__call__)
    return func
