"""`trace`: the decorator, its cache, and what it tells about itself."""

import functools
import operator
import sys
import threading
import warnings
from typing import Any

from ...ir import config
from ...ir.lazy import lazy
from ...passes.schedule import plan_steps
from ...runtime.core.state import Defaults, tls
from ..errors.errors import TraceError, TracerWarning
from ..errors.recompile_limit import Restraint
from ..guards.arg_pytree import Met, flatten
from ..guards.locations import MOST_PLACES, Moved, read_places
from ..guards.snapshot import looks_like
from ..host.post_host_guards import HostChanged
from ..inspect import report
from ..proxies.data_sizes import DataSizes
from ..replay.replay import Failed, Unseen
from .arrays import ArrayArguments
from .cache_entry import kinds_of, sharing
from .dynamic_shapes import Family
from .entry_call import MISS, MOST, quick_call
from .labels import Labels, parameters_of
from .learning import Learning
from .recorded_call import RECORDING, Call

example_trace = lazy(__package__, "..torchscript.example_trace")
profiling = lazy(__package__, "..inspect.profiling")
MOST_KINDS = 4096    # kinds of arguments whose recordings are kept, and
MOST_ENTRIES = 32    # states of Python for each of them; the oldest go
MOST_QUICK = 64      # kinds of calls for which an entry keeps a quick road


class Traced(Learning):
    """A function that is recorded when it meets something new and replayed otherwise."""

    def __init__(self, fn, dynamic=None):
        functools.update_wrapper(self, fn, updated=())
        self.fn = fn
        self._dynamic = dynamic
        self._arrays = ArrayArguments(fn)
        self._entries: dict = {}         # by everything about a call: (entry, values of its symbols)
        self._families: dict = {}        # by everything but sizes and numbers
        self._quick: Any = None          # the quick road of the last call's kind
        self._why = ""                   # what changed, where that led to another look at the same call
        self._changing: set = set()      # options of optimizers, and places, that were seen to change
        self._places: tuple = ()         # of these, what is looked up at every call
        self._tables: dict = {}          # by what they watch: places of containers that it looks up; None where that is no use
        self._targets: tuple = ()        # what recordings have found it to write
        self._ran_hooked = False         # whether it was said that hooks on saved tensors keep it from compiled code
        self._data_sizes = DataSizes()
        self._disturbed = 0              # recordings, of calls in a row, that something disturbed
        self._failed = -1, 0             # the last of these, among calls that did not run as they are, and how many in a row
        self._restraint = Restraint()
        self._said_as_it_is = False      # whether it was said that it does what no trace repeats
        self._reads_plain = self._is_plain = False      # whether it takes no stand-ins for numbers: read ones, others
        self._lock = threading.RLock()
        self._stats: dict[str, Any] = {"calls": 0, "compiles": 0, "checks": 0, "unrecorded": 0, "misses": []}

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args, **kwargs):
        quick = self._quick
        if quick is not None and not kwargs:
            result = quick(args)
            if result is not MISS:
                self._stats["calls"] += 1
                return result
        return self._call(args, kwargs)

    def _call(self, args, kwargs):
        """A call that is not like the last one."""
        m, settings = tls.m, config.current()
        if m.special and (m.recorder is not None or m.batched is not None or m.anomaly or m.asked or
                          (m.saved_hooks is not None and m.grad)):
            return self._as_it_is(m, args, kwargs)
        if not settings.jit:
            return self.fn(*args, **kwargs)
        args, kwargs = self._arrays.stand_ins(args, kwargs)
        leaves: list = []
        numbers: list = []
        met = Met()
        spec = flatten((args, kwargs), leaves, numbers, met=met)
        places, given = self._places, (len(leaves), len(numbers))
        kinds = places and read_places(places, leaves, numbers)
        key = ((spec, settings.numerics, kinds), sharing(leaves), m.grad, m.autocast,
               (Defaults.dtype, Defaults.device, m.inference, Defaults.clear_padding), kinds_of(leaves), numbers_key(numbers))
        self._stats["calls"] += 1
        call = Call(args, kwargs, leaves, numbers, key, places, given, met.containers)
        if self._why:
            call.reason, self._why = self._why, ""
        known = self._entries.get(key, ())
        try:
            for bound in reversed(known):
                if self._try(call, *bound):
                    if bound is not known[-1]:
                        self._entries[key] = [*[b for b in known if b is not bound], bound]     # to be tried first
                    return call.result
            family = self._family(call)
            if self._replay(call, family):
                return call.result
        except Failed as failed:
            error = failed.error
        else:
            error = None
        if error is not None:
            return self._after_failure(m, call, error)
        is_free = RECORDING.acquire(blocking=False)
        if not is_free:
            RECORDING.acquire()
        try:
            # Another thread may have recorded something meanwhile, and there may be more to look up.
            if not is_free or self._look_up() or self._is_outdated(call):
                self._stats["calls"] -= 1
                self._why = call.reason
                return self._call(*call.arguments())
            if not self._restraint.rests(self._stats["calls"]):
                return self._record(call, family)
        finally:
            RECORDING.release()
        self._stats["unrecorded"] += 1
        args, kwargs = call.arguments()
        return self.fn(*args, **kwargs)

    def _as_it_is(self, m, args, kwargs):
        """A call inside of another trace or of vmap, or under what looks at operations one by one."""
        if m.recorder is None and m.saved_hooks is not None and not m.anomaly and not self._ran_hooked:
            self._ran_hooked = True
            warnings.warn(f"{getattr(self.fn, '__name__', self.fn)} runs as it is inside of saved_tensors_hooks (or of a "
                          "checkpoint), since a trace decides itself what it keeps. Put a checkpoint inside of the traced "
                          "function", TracerWarning, stacklevel=4)
        return self.fn(*args, **kwargs)

    def _after_failure(self, m, call, error):
        """A call for whose values compiled code has raised: Python code says what happens then."""
        args, kwargs = call.arguments()
        before = m.failures
        result = self.fn(*args, **kwargs)
        if m.failures == before:
            name = getattr(self.fn, "__name__", self.fn)
            warnings.warn(f"compiled code of {name} raised {type(error).__name__}: {error}; the call ran as it is, and raised "
                          "nothing", TracerWarning, stacklevel=4)
        return result

    def _is_outdated(self, call) -> bool:
        return bool(call.arrays) and self._arrays.is_outdated(*call.arguments())

    def _look_up(self) -> bool:
        """Takes in places that were seen to change: from now on they are looked up at every call. What is recorded holds for
        the numbers that these had."""
        known = {p.watched for p in self._places}
        with self._lock:
            changing = set(self._changing)              # others may be adding to it
            found = {m.place.watched: m for m in changing if type(m) is Moved and m.place.watched not in known}
            self._changing = {m for m in changing if type(m) is not Moved}
            new = [*found.values()][: MOST_PLACES - len(self._places)]
            if new:
                self._places, self._quick = (*self._places, *[m.place for m in new]), None
                if all(m.is_number for m in new) and self._agrees(new):
                    self._extend(new)
                else:
                    self._entries, self._families = {}, {}
        return bool(new)

    def _agrees(self, moved) -> bool:
        """Whether what is recorded has found the same numbers in some places, or never looked there."""
        def found(place, before):
            guards = [entry.guards.get(place.watched) for known in self._entries.values() for entry, _ in known]
            return all(g is None or looks_like(g.expected, before) for g in guards)

        return all(found(m.place, m.before) for m in moved)

    def _extend(self, moved):
        """Keeps what is recorded, for the numbers that were in some places."""
        def longer(first):
            spec, numerics, kinds = first
            return spec, numerics, (*kinds, *[type(m.before) for m in moved])

        for family in self._families.values():
            family.extend(moved)
        self._families = {(longer(kind[0]), *kind[1:]): family for kind, family in self._families.items()}
        more = numbers_key([m.number for m in moved])
        self._entries = {(longer(key[0]), *key[1:-1], (*key[-1], *more)): known for key, known in self._entries.items()}
        for key, known in self._entries.items():
            for entry, _ in known:
                entry.key = key


    def _replay(self, call, family) -> bool:
        """Replays a call by what is recorded for symbolic sizes, if anything applies; `call` says why nothing does."""
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
                    self._remember(call.key, entry, symbols)
                return True
        if not call.met:
            for entry, symbols in unknown:
                self._compare(call, entry, symbols)
        return False

    def _compare(self, call, entry, symbols):
        """Notes that the recording of a call is to be compared with an entry, if that applies and has the same symbols."""
        reason = entry.unfit(call, self._changing)
        if reason is not None:
            call.missed(reason)
        elif not call.checks or entry.symbols.names == call.checks[0][0].symbols.names:
            call.checks.append((entry, symbols))

    def _try(self, call, entry, symbols) -> bool:
        """Replays a call by an entry, if that applies and has its path; the result is then in `call`."""
        reason = entry.unfit(call, self._changing)
        if reason is None:
            try:
                results, outcome, values = entry.tree.run(call.leaves, symbols, call)
                self._quick = self._quick_road(call, entry, symbols)
                call.result = outcome.give(results, values, call.containers)
                return True
            except Unseen as unseen:
                self._data_sizes.varies(unseen.line)
                if not call.met:
                    call.reason = str(unseen)
                call.met.append(entry)
                return False
            except HostChanged as changed:
                self._finish_by_python(call, entry, changed)
                return True
        call.missed(reason)
        return False

    def _quick_road(self, call, entry, symbols):
        """The quick road of a call that was just replayed: made at its second time, and again where it no longer leads
        there."""
        if call.kwargs:
            return None
        kind = call.key if symbols == () else call.key[:-1]         # numbers are asked for at each call
        function, times = entry.quick.get(kind, (None, -1))
        if times < MOST and (function is None or function is self._quick):
            if times >= 0:
                function = quick_call(entry, symbols, call)
            if len(entry.quick) > MOST_QUICK:
                entry.quick.clear()
            entry.quick[kind] = function, times + 1
        elif function is not None and function is self._quick:       # it led nowhere, once too often
            function = None
            entry.quick[kind] = None, times
        return function

    def _family(self, call) -> Family:
        """The calls that differ from this one in sizes and numbers only."""
        *same, tensors, _ = call.key
        kind = (*same, tuple([(len(shape), *others) for shape, *others in tensors]))
        with self._lock:
            family = self._families.get(kind)
            if family is None:
                names = parameters_of(self.fn)
                family = self._families[kind] = Family(labels=Labels(names, call.args, call.kwargs, call.places))
            if len(self._families) > MOST_KINDS:
                del self._families[next(iter(self._families))]
            return family

    def _remember(self, key, entry, symbols):
        with self._lock:
            bound = self._entries.setdefault(key, [])
            bound.append((entry, symbols))
            del bound[:-MOST_ENTRIES]
            if len(self._entries) > MOST_KINDS:
                del self._entries[next(iter(self._entries))]

    def __reduce__(self):
        """Copies and pickles hold the function, not what was recorded; a decorated function is found by its name."""
        name, place = getattr(self.fn, "__qualname__", None), sys.modules.get(str(getattr(self.fn, "__module__", "")))
        found = None if name is None or "<" in name else operator.attrgetter(name)(place) if hasattr(place, name) else None
        return name if found is self else (Traced, (self.fn, self._dynamic))

    def forget(self):
        """Drops all recordings and what they have learned; the next call records again."""
        with self._lock:
            self._entries, self._families, self._quick = {}, {}, None
            self._changing, self._places, self._targets, self._tables = set(), (), (), {}
            self._restraint, self._data_sizes = Restraint(), DataSizes()

    def stats(self) -> dict:
        """Calls, compiles and why each recording was made; calls that ran as they are, since recordings did not pay
        (`unrecorded`); what the compiled paths consist of."""
        done = [job.compiled for job in self._jobs() if job.compiled is not None]
        runs = [s for c in done for s in c.plan.steps if type(s) is plan_steps.Run]
        return dict(self._stats, misses=list(self._stats["misses"]), graphs=len(done), native_calls=len(runs),
                    kernels=sum(len(r.kernels) for r in runs), other_calls=sum(len(c.plan.steps) for c in done) - len(runs),
                    in_place=sum(len(c.in_place) for c in done), bindings=sum(getattr(j, "bindings", 0) for j in self._jobs()),
                    compile_seconds=sum(job.seconds for job in self._jobs()))

    def _jobs(self):
        with self._lock:
            return report.jobs_of(dict.fromkeys([e for entries in self._entries.values() for e, _ in entries]))

    @property
    def graphs(self) -> dict:
        """For each recorded stretch of code, the graph as recorded and after each pass that changed it."""
        return report.graphs(self._jobs())

    @property
    def kernels(self) -> dict:
        """The generated kernels by name: what each computes, and its code."""
        return report.kernels(self._jobs())

    def explain(self, profile: bool = False) -> str:
        """What runs, readably: why there is more than one recording, what was fused in each, what was not and why, and how much
        each kernel does. With `profile` the time of each kernel, too, on made-up values (`jit.profile` measures real calls)."""
        text = "\n\n".join(filter(None, (report.explain_reasons(self._stats["misses"]),
                                         report.explain_sizes(self._families.values()), report.explain(self._jobs()))))
        return f"{text}\n\n{profiling.profile_jobs(self._jobs())}" if profile else text


def numbers_key(numbers) -> tuple:
    """Numbers as a part of a key: floats by their bits."""
    return tuple([n.hex() if type(n) is float else n for n in numbers])


def trace(func=None, example_inputs=None, optimize=None, check_trace=True, check_inputs=None, check_tolerance=1e-5, strict=True,
          *, example_kwarg_inputs=None, dynamic=None):
    """Decorates a function, method or module: recorded at its first run, replayed as compiled code afterwards.

    dynamic   None: sizes of arguments become symbolic once they are seen to change; True: all are from the start; False: none
              ever are; {parameter or position: {dim: name}} names those that are from the start (equal names, equal sizes)

    It needs no example inputs, since calls are recorded as they come. With `example_inputs` (a tensor, or a tuple of arguments)
    or `example_kwarg_inputs`, as PyTorch's programs give them, it runs once at once, a module stays a module, and what is
    returned has a `save(path)`. `optimize`, `check_trace`, `check_tolerance` and `strict` change nothing: traces are guarded.
    """
    if example_inputs is not None or example_kwarg_inputs is not None:
        return example_trace.traced_by_example(func, example_inputs, example_kwarg_inputs, check_inputs, dynamic)
    if func is None:
        return functools.partial(trace, dynamic=dynamic)
    if not callable(func):
        raise TraceError(f"trace takes a function or a module, got {type(func).__name__}")
    if dynamic not in (None, True, False) and not isinstance(dynamic, dict):
        raise TraceError(f"dynamic= takes None, True, False or a dictionary of dimensions, got {dynamic!r}")
    return Traced(func, dynamic)
