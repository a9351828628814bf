"""`trace`: the decorator, its cache, and what it tells about itself."""

import functools
import threading
import warnings
from collections import Counter
from typing import Any

from ..ir import config
from ..passes.plan_memory import Run
from ..runtime.state import Defaults, tls
from ..runtime.tensor import Tensor
from . import report
from .errors import TraceError
from .guard_code import quick_check
from .host import HostPrint
from .path import Tree, Unseen
from .record import OptionGuard, Recorder
from .seen import readable
from .tree import TENSOR, flatten, unflatten
from .watch import Watch

MANY = 64            # recordings of one function after which it is said once that something changes too often
MOST_KINDS = 512     # kinds of arguments whose recordings are kept, and
MOST_ENTRIES = 32    # states of Python for each of them; the oldest go
MOST_REASONS = 1000  # that are remembered


class Entry:
    """Paths that hold under one state of Python: its guards, the leaves' gradients, the kinds of captured tensors."""

    def __init__(self, recording, guards, result_spec):
        self.tree = Tree(recording)
        self.result_spec = result_spec
        self.guards: dict = {}           # by what they watch
        self.captured: dict = {}         # id -> (tensor, shape, dtype, requires_grad)
        self.leaves: dict = {}           # (kind, position or id) -> (where a leaf comes from, the aval of its gradient or None)
        self.shared: dict = {}           # ids -> (argument, captured tensor over the same memory)
        self.writes = False
        self._demand(recording, guards)

    def add(self, recording, guards) -> bool:
        """Adds a path that was recorded while this entry applied; False if it does not begin like the paths here."""
        if not self.tree.merge(recording):
            return False
        self._demand(recording, guards)
        return True

    def _demand(self, recording, guards):
        """All that a path relies on holds for the whole entry: it held when the path was recorded, like everything before."""
        for g in guards:
            self.guards.setdefault(g.watched, g)
        for s in recording.sources:
            if s.kind == "captured":
                t = s.what
                self.captured.setdefault(id(t), (t, t._a.shape, t._a.dtype, t._node is not None))
        for position, aval in recording.leaves:
            s = recording.sources[position]
            self.leaves.setdefault((s.kind, s.what if s.kind == "argument" else id(s.what)), (s, aval))
        self.shared.update({(position, id(t)): (position, t) for position, t in recording.shared})
        self.writes = self.writes or bool(recording.updates)
        outside = {id(t._storage) for t, *_ in self.captured.values()} if self.writes else set()
        self.must_not_share = outside - {id(t._storage) for _, t in self.shared.values()}
        self.arrays = [(t, t._a, needs) for t, _, _, needs in self.captured.values()]
        self.is_simple = not (self.shared or self.must_not_share or self.leaves)
        self.check = quick_check(list(self.guards.values()))

    def fits(self) -> bool:
        """Whether this entry applies for certain, by a quick look; only for entries that do not look at arguments."""
        for t, a, needs in self.arrays:
            if t._a is not a or (t._node is not None) is not needs:
                return False
        return self.check()

    def unfit(self, arguments, changing: set):
        """Why this entry does not apply now, or None; an option that differs is added to `changing`."""
        for t, shape, dtype, needs in self.captured.values():
            if t._a.shape != shape or t._a.dtype != dtype or (t._node is not None) != needs:
                return f"a captured tensor changed from {dtype}{list(shape)} to {t._a.dtype}{list(t._a.shape)}"
        for position, t in self.shared.values():
            if arguments[position]._storage is not t._storage:
                return "an argument no longer shares memory with a captured tensor"
        if self.must_not_share and any(id(t._storage) in self.must_not_share for t in arguments):
            return "an argument shares memory with a captured tensor"
        for source, aval in self.leaves.values():
            t = arguments[source.what] if source.kind == "argument" else source.what
            now = t._node.grad if t._node is not None and isinstance(t, Tensor) else None
            if (now is None) != (aval is None):
                return "a gradient that was None is set, or the other way round"
        for guard in self.guards.values():
            if not guard.holds():
                if type(guard) is OptionGuard:
                    changing.add(guard.place)
                return str(guard)
        return None


def sharing(leaves):
    """Which arguments share a storage: for each the first position of its storage; None if all differ."""
    if len(leaves) < 2:
        return None
    first: dict = {}
    for i, t in enumerate(leaves):
        first.setdefault(id(t._storage), i)
    return None if len(first) == len(leaves) else tuple([first[id(t._storage)] for t in leaves])


class Quick:
    """The last call's kind, when it was plain: tensors in, one stretch of kernels, tensors out."""

    __slots__ = ("avals", "dtype", "entry", "grad", "replay", "single")

    def __init__(self, entry, replay, key, leaves):
        self.entry, self.replay, self.grad, self.dtype = entry, replay, key[2], key[4]
        self.avals = tuple([(t._a.shape, t._a.dtype, t._node is not None) for t in leaves])
        self.single = entry.result_spec == TENSOR

    @staticmethod
    def of(entry, key, args, leaves) -> "Quick | None":
        """What to remember of a call that was just replayed; None if it was not plain."""
        if not entry.is_simple or key[1] is not None or key[3] is not None or len(leaves) != len(args):
            return None
        if not all(a is t for a, t in zip(args, leaves)):
            return None
        replay = entry.tree.straight()
        return None if replay is None else Quick(entry, replay, key, leaves)

    def run(self, m, args):
        """The results, or None if this call is another kind."""
        avals = self.avals
        if len(args) != len(avals) or m.grad is not self.grad or m.autocast is not None or Defaults.dtype is not self.dtype:
            return None
        for t, (shape, dtype, needs) in zip(args, avals):
            if not isinstance(t, Tensor):
                return None
            a = t._a
            if a.shape != shape or a.dtype is not dtype or (t._node is not None) is not needs:
                return None
        if len(avals) > 1 and len({id(t._storage) for t in args}) != len(avals):
            return None
        return self.replay(args) if self.entry.fits() else None


class Traced:
    """A function that is recorded when it meets something new and replayed otherwise."""

    def __init__(self, fn):
        functools.update_wrapper(self, fn, updated=())
        self.fn = fn
        self._entries: dict = {}
        self._quick = None
        self._changing: set = set()      # options of optimizers that were seen to change
        self._lock = threading.RLock()
        self._stats: dict[str, Any] = {"calls": 0, "compiles": 0, "misses": []}

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args, **kwargs):
        m = tls.m
        if m.recorder is not None or not config.current().jit:
            return self.fn(*args, **kwargs)
        quick = self._quick
        if quick is not None and not kwargs:
            results = quick.run(m, args)
            if results is not None:
                self._stats["calls"] += 1
                return results[0] if quick.single else unflatten(quick.entry.result_spec, iter(results))
        leaves: list = []
        spec = flatten((args, kwargs), leaves)
        key = (spec, sharing(leaves), m.grad, m.autocast, Defaults.dtype,
               tuple([(t._a.shape, t._a.dtype, t._node is not None) for t in leaves]))
        self._stats["calls"] += 1
        reason, met = "the first call with arguments of this kind", []
        for entry in self._entries.get(key, ()):
            reason = entry.unfit(leaves, self._changing)
            if reason is None:
                try:
                    results = entry.tree.run(leaves)
                    if not kwargs:
                        self._quick = Quick.of(entry, key, args, leaves)
                    return unflatten(entry.result_spec, iter(results))
                except Unseen as unseen:
                    reason = f"{unseen.how}() gave {readable(unseen.value)}, a value not seen before"
                    met.append(entry)
        return self._record(key, leaves, args, kwargs, reason, met)

    def _record(self, key, leaves, args, kwargs, reason, met):
        """Runs the function eagerly and writes down what it does; `met` are the entries that apply but lack this path."""
        m = tls.m
        recorder, watch = Recorder(getattr(self.fn, "__name__", type(self.fn).__name__), frozenset(self._changing)), Watch()
        m.recorder = recorder
        m.refresh()
        try:
            for i, t in enumerate(leaves):
                recorder.argument(t, i)
            with HostPrint(), watch:
                result = self.fn(*args, **kwargs)
            tensors: list = []
            result_spec = flatten(result, tensors)
            recording = recorder.finish(tensors)
        finally:
            recorder.release()
            m.recorder = None
            m.refresh()
        self._enter(key, recording, [*recorder.guards, *watch.finish()], result_spec, reason, met)
        return result

    def _enter(self, key, recording, guards, result_spec, reason, met):
        with self._lock:
            self._stats["compiles"] += 1
            self._stats["misses"].append(reason)
            del self._stats["misses"][:-MOST_REASONS]
            if not any(entry.result_spec == result_spec and entry.add(recording, guards) for entry in met):
                entries = self._entries.setdefault(key, [])
                entries.append(Entry(recording, guards, result_spec))
                del entries[:-MOST_ENTRIES]
                if len(self._entries) > MOST_KINDS:
                    del self._entries[next(iter(self._entries))]
            if self._stats["compiles"] == MANY:
                self._complain()

    def _complain(self):
        """Says, once, why a function is recorded so often."""
        (reason, times), = Counter(self._stats["misses"]).most_common(1)
        name = getattr(self.fn, "__name__", self.fn)
        warnings.warn(f"{name} was recorded {MANY} times, each time running eagerly. Most often ({times} times) because: "
                      f"{reason}. Pass numbers that change as tensors, and keep shapes few; stats() lists every reason",
                      RuntimeWarning, stacklevel=5)

    def stats(self) -> dict:
        """Calls, compiles and why each recording was made; what the compiled paths consist of."""
        done = [job.compiled for job in self._jobs() if job.compiled is not None]
        runs = [s for c in done for s in c.plan.steps if type(s) is Run]
        return dict(self._stats, misses=list(self._stats["misses"]), graphs=len(done), native_calls=len(runs),
                    kernels=sum(len(r.kernels) for r in runs), other_calls=sum(len(c.plan.steps) for c in done) - len(runs),
                    in_place=sum(len(c.in_place) for c in done),
                    compile_seconds=sum(job.seconds for job in self._jobs()))

    def _jobs(self):
        with self._lock:
            return report.jobs_of([e for entries in self._entries.values() for e in entries])

    @property
    def graphs(self) -> dict:
        """For each recorded stretch of code, the graph as recorded and after each pass that changed it."""
        return report.graphs(self._jobs())

    @property
    def kernels(self) -> dict:
        """The generated kernels by name: what each computes, and its code."""
        return report.kernels(self._jobs())

    def explain(self) -> str:
        """What runs, readably: what was fused, what was not and why, and how much each kernel does."""
        return report.explain(self._jobs())


def trace(fn=None, **options):
    """Decorates a function, method or module: recorded at its first run, replayed as compiled code afterwards."""
    if fn is None:
        return functools.partial(trace, **options)
    if not callable(fn):
        raise TraceError(f"trace takes a function or a module, got {type(fn).__name__}")
    return Traced(fn)
