"""`trace`: the decorator, its cache, and what it tells about itself."""

import functools
import inspect
import operator
import sys
import threading
import warnings
from collections import Counter
from typing import Any

from ..ir import config
from ..ir.lazy import lazy
from ..ir.substitute import bound_values
from ..passes import plan_memory
from ..runtime.device_array import DeviceArray
from ..runtime.nn.module import Module
from ..runtime.state import Defaults, tls
from . import report
from .dynamic import Family, Symbols, named_places
from .entry import Entry, Quick, kinds_of, sharing
from .errors import TraceError
from .execute import OPEN_PROFILES
from .path import Unseen
from .run import RECORDING, Call, Run
from .seen import readable
from .tree import flatten, unflatten

profiling = lazy(__package__, ".profiling")
MANY = 64            # recordings of one function after which it is said once that something changes too often
MOST_KINDS = 4096    # kinds of arguments whose recordings are kept, and
MOST_ENTRIES = 32    # states of Python for each of them; the oldest go
MOST_REASONS = 1000  # that are remembered
MOST_FIXED = 4       # recordings of fixed sizes that symbolic ones are compared with


class Traced:
    """A function that is recorded when it meets something new and replayed otherwise."""

    def __init__(self, fn, dynamic=None):
        functools.update_wrapper(self, fn, updated=())
        self.fn = fn
        self._dynamic = dynamic
        self._entries: dict = {}         # by everything about a call: (entry, values of its symbols)
        self._families: dict = {}        # by everything but sizes and numbers
        self._quick, self._numerics = None, None
        self._changing: set = set()      # options of optimizers that were seen to change
        self._lock = threading.RLock()
        self._stats: dict[str, Any] = {"calls": 0, "compiles": 0, "checks": 0, "misses": []}

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args, **kwargs):
        m, settings = tls.m, config.current()
        if m.recorder is not None or not settings.jit:
            return self.fn(*args, **kwargs)
        if settings.numerics != self._numerics:     # decides which algorithms graphs are compiled with
            self._numerics, self._quick = settings.numerics, None
        quick = self._quick
        if quick is not None and not kwargs and not OPEN_PROFILES:
            results = quick.run(m, args)
            if results is not None:
                self._stats["calls"] += 1
                return results[0] if quick.single else unflatten(quick.entry.result_spec, iter(results))
        leaves: list = []
        numbers: list = []
        spec = flatten((args, kwargs), leaves, numbers)
        key = ((spec, settings.numerics), sharing(leaves), m.grad, m.autocast, Defaults.dtype,
               kinds_of(leaves), tuple([n.hex() if type(n) is float else n for n in numbers]))
        self._stats["calls"] += 1
        call = Call(args, kwargs, leaves, numbers, key)
        for entry, symbols in self._entries.get(key, ()):
            if self._try(call, entry, symbols):
                return call.result
        family = self._family(call)
        if self._replay(call, family):
            return call.result
        is_free = RECORDING.acquire(blocking=False)
        if not is_free:
            RECORDING.acquire()
        try:
            if not is_free:      # another thread recorded something meanwhile
                call.met, call.checks = [], None
                if any(self._try(call, *known) for known in self._entries.get(key, ())) or self._replay(call, family):
                    return call.result
            return self._record(call, family)
        finally:
            RECORDING.release()

    def _replay(self, call, family) -> bool:
        """Replays a call by what is recorded for symbolic sizes, if anything applies; `call` says why nothing does."""
        for entry in family.entries:
            symbols = entry.match(call.shapes, call.numbers)
            if symbols is None:
                continue
            if not entry.is_known(symbols):
                call.reason = entry.unfit(call.leaves, self._changing)
                if call.reason is None:
                    call.checks, call.met = entry, [entry]
                    break
            elif self._try(call, entry, symbols):
                if not entry.symbols.has_numbers:
                    self._remember(call.key, entry, symbols)
                return True
        return False

    def _try(self, call, entry, symbols) -> bool:
        """Replays a call by an entry, if that applies and has its path; the result is then in `call`."""
        reason = entry.unfit(call.leaves, self._changing)
        if reason is None:
            try:
                results = entry.tree.run(call.leaves, symbols)
                if not call.kwargs:
                    self._quick = Quick.of(entry, symbols, call.key, call.args, call.leaves)
                spec = bound_values(entry.result_spec, symbols) if entry.returns_symbols else entry.result_spec
                call.result = unflatten(spec, iter(results))
                return True
            except Unseen as unseen:
                reason = f"{unseen.how}() gave {readable(unseen.value)}, a value not seen before"
                call.met.append(entry)
        call.reason = reason
        return False

    def _family(self, call) -> Family:
        """The calls that differ from this one in sizes and numbers only."""
        *same, tensors, _ = call.key
        kind = (*same, tuple([(len(shape), *others) for shape, *others in tensors]))
        with self._lock:
            family = self._families.setdefault(kind, Family())
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

    def _symbols(self, call, family) -> Symbols | None:
        """What is symbolic in the recording of a call; on devices nothing is."""
        if any(t._a.__class__ is DeviceArray for t in call.leaves):
            return None
        if call.met:
            like = call.met[0].symbols
            return None if like is None else Symbols.of(like.names, call.shapes, call.numbers)
        names = family.places(call.shapes, call.numbers, self._dynamic)
        if isinstance(self._dynamic, dict) and family.is_open:
            names.update(named_places(self._dynamic, parameters_of(self.fn), call))
        return Symbols.of(names, call.shapes, call.numbers) if names else None

    def _record(self, call, family):
        """Runs the function eagerly and writes down what it does; `call.met` are the entries that apply but lack this path."""
        symbols = self._symbols(call, family)
        call.alike = [f for f in family.fixed if f[2].unfit(call.leaves, set()) is None]
        run = Run(self.fn, frozenset(self._changing), symbols)
        run.record(call)
        self._enter(call, run, family)
        return run.result

    def _enter(self, call, run, family):
        with self._lock:
            self._count(call)
            merged = any(entry.result_spec == run.result_spec and entry.add(run.recording, run.guards) for entry in call.met)
            if call.checks is not None and not merged:
                family.close(f"it does other work for other sizes: {call.checks.symbols.said()}")
            if not merged:
                self._keep(call, run, family)
            if self._stats["compiles"] == MANY:
                self._complain()

    def _count(self, call):
        self._stats["checks" if call.checks is not None else "compiles"] += 1
        if call.checks is None:
            self._stats["misses"].append(call.reason)
            del self._stats["misses"][:-MOST_REASONS]

    def _keep(self, call, run, family):
        """Makes a recording an entry: for calls with other sizes and numbers, too, or for ones like this alone."""
        values = () if run.symbols is None else tuple(run.symbols.scope.hints.values())
        entry = Entry(run.recording, run.guards, run.result_spec, run.symbols, (call.shapes, call.numbers))
        if run.symbols is None:
            family.fixed = [*family.fixed[1 - MOST_FIXED:], (call.shapes, tuple(call.numbers), entry)]
        elif family.is_open:
            family.enter(entry, run.recording, call.alike)
        family.saw(call.shapes, tuple(call.numbers))
        self._remember(call.key, entry, values)

    def _complain(self):
        """Says, once, why a function is recorded so often."""
        (reason, times), = Counter(self._stats["misses"]).most_common(1)
        name = getattr(self.fn, "__name__", self.fn)
        warnings.warn(f"{name} was recorded {MANY} times, each time running eagerly. Most often ({times} times) because: "
                      f"{reason}. Pass numbers that change as tensors, and keep shapes few; stats() lists every reason",
                      RuntimeWarning, stacklevel=5)

    def __reduce__(self):
        """Copies and pickles hold the function, not what was recorded; a decorated function is found by its name."""
        name, place = getattr(self.fn, "__qualname__", None), sys.modules.get(str(getattr(self.fn, "__module__", "")))
        found = None if name is None or "<" in name else operator.attrgetter(name)(place) if hasattr(place, name) else None
        return name if found is self else (Traced, (self.fn, self._dynamic))

    def stats(self) -> dict:
        """Calls, compiles and why each recording was made; what the compiled paths consist of."""
        done = [job.compiled for job in self._jobs() if job.compiled is not None]
        runs = [s for c in done for s in c.plan.steps if type(s) is plan_memory.Run]
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
        """What runs, readably: what was fused, what was not and why, and how much each kernel does. With `profile` the time of
        each kernel, too, on made-up values (`jit.profile` measures real calls)."""
        text = "\n\n".join(filter(None, (report.explain_sizes(self._families.values()), report.explain(self._jobs()))))
        return f"{text}\n\n{profiling.profile_jobs(self._jobs())}" if profile else text


def parameters_of(fn) -> tuple:
    """The names of a function's parameters, or those of a module's forward."""
    return tuple(inspect.signature(fn.forward if isinstance(fn, Module) else fn).parameters)


def trace(fn=None, *, dynamic=None):
    """Decorates a function, method or module: recorded at its first run, replayed as compiled code afterwards.

    dynamic   None: sizes of arguments become symbolic once they are seen to change; True: all are from the start; False: none
              ever are; {parameter or position: {dim: name}} names those that are from the start (equal names, equal sizes)
    """
    if fn is None:
        return functools.partial(trace, dynamic=dynamic)
    if not callable(fn):
        raise TraceError(f"trace takes a function or a module, got {type(fn).__name__}")
    if dynamic not in (None, True, False) and not isinstance(dynamic, dict):
        raise TraceError(f"dynamic= takes None, True, False or a dictionary of dimensions, got {dynamic!r}")
    return Traced(fn, dynamic)
