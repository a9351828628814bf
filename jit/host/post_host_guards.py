"""Checks behind the host calls of a replay: state that the function reads there must be as before them.

If a host call has changed such state, the function itself makes the call, after no other effect. It starts over with the state
from before, skips the host calls that are done, and finds their changes behind the last one.
"""

from collections import OrderedDict, defaultdict, deque
from operator import attrgetter, is_
from typing import Any, NamedTuple

import numpy as np

from ...runtime.state.structure import Structure
from ..bytecode.reads import ARGUMENT, MISSING, Chain, counts_back, is_length
from ..errors.errors import TraceError
from ..guards.expectation import is_expectation
from ..guards.guard_code import quick_check
from ..guards.guards import Guard, module_state
from ..guards.locations import EXTEND, WHOLE, Location, SameAs, load, refill, store
from ..guards.references import reference_to
from ..guards.snapshot import ArraySnapshot, Exactly, Snapshot, is_plain, looks_like, same_items
from ..side_effects.effects import RelocatedTarget
from .host_call import HostStep

_version, _shared, _array = attrgetter("version"), attrgetter("_shared"), attrgetter("_a")


class HostChanged(Exception):
    """Exception of a replay in which a host call changed state that is read behind it; `done` are the host calls that ran."""

    def __init__(self, what: str, done: "CompletedSteps"):
        super().__init__(what)
        self.done = done


class CompletedSteps:
    """Host calls that have run, and their results (None for most), for a run of the function that skips them. Until the last
    one, the state that they changed is as before."""

    def __init__(self, results, rewound):
        self._results, self._rewound = deque(results), rewound
        rewound.back()

    def __bool__(self):
        return bool(self._results)

    def end(self):
        if self:
            self._results.clear()
            self._rewound.forth()

    def take(self):
        found = self._results.popleft()
        if not self._results:
            self._rewound.forth()
        return found


class HostChecks:
    """Host calls of a path. `gives` tells for each whether it returns tensors, and so runs between kernels."""

    def __init__(self, gives, after: dict, targets, generators):
        self.gives, self.after = gives, after       # {number of those without results that have run: `AfterHost`}
        self.targets = targets                      # writes of the function to Python state
        self.generators = generators                # random generators that give keys behind the first host call

    def begins(self, before):
        before.stood = [(g, g.place) for g in self.generators]

    def check(self, n: int, replay, hosts, work, arrays):
        """Raise if one of the first `n` host calls without results has changed state that is read behind it."""
        found = self.after.get(n)
        if n == len(hosts):
            self._check_targets(replay.before)
            if not all(same_items(c, copy) for c, copy in replay.before.containers):
                raise TraceError("a host function has changed a list, a dictionary or an array that is an argument of the "
                                 "traced function; let it return what is new, as a tensor")
            if any(g.place != place for g, place in replay.before.stood):
                raise TraceError("a host function draws random numbers, and the traced function does so behind it, which a "
                                 "replay does in another order; draw them in one of them")
        if found is None or found.holds(replay):
            return
        quiet = [i for i, gives in enumerate(self.gives) if not gives]
        last = quiet[n] if n < len(quiet) else len(self.gives)
        has_written = bool(work.job.in_place(replay.symbols, arrays))
        if any(self.gives[last:]) or has_written or not all(type(step) is HostStep for step, _ in hosts[:n]):
            raise found.refused(replay)
        given = iter(replay.given)
        results = [next(given).result if gives else None for gives in self.gives[:last]]
        raise HostChanged(found.differing(replay), CompletedSteps(results, found.rewound(replay, self.targets)))

    def _check_targets(self, before):
        for t in self.targets:
            if not _are_same(_state_of(t), before.targets[t.place]):
                raise TraceError(f"a host function has changed {t.text}, and the traced function writes there, too, in an "
                                 "order that a replay does not keep; leave it to one of them")


class MonitoredState(NamedTuple):
    """State that host calls of some paths may change, each table by identity."""

    locations: dict
    options: dict
    lists: dict
    targets: dict
    tensors: dict
    arguments: dict


def monitored(hosted, others: MonitoredState | None = None) -> MonitoredState | None:
    """Return the state that a path and others monitor."""
    if hosted is None:
        return others
    after = hosted.after.values()
    sources = [source for a in after for source in a.inputs.values()]
    own = MonitoredState({p.identity: p for a in after for p in a.locations}, {o.place: o for a in after for o in a.options},
                  {id(c): c for a in after for c in a.counted()}, {t.place: t for t in hosted.targets},
                  {id(s.what): s.what for s in sources if s.kind == "captured"},
                  {s.what: s.what for s in sources if s.kind == "argument"})
    return own if others is None else MonitoredState(*[{**a, **b} for a, b in zip(others, own)])


class StateBefore:
    """Monitored state before the host calls."""

    __slots__ = ("arrays", "containers", "lists", "locations", "options", "shared", "stood", "structure", "targets", "tensors",
                 "versions")

    def __init__(self, monitored: MonitoredState, arguments, containers):
        self.containers = [(c, c.copy()) for c in containers if type(c) in (np.ndarray, *_REFILLED)]
        self.structure = Structure.version
        self.locations = {at: p.value() for at, p in monitored.locations.items()} if monitored.locations else {}
        self.options = {at: o() for at, o in monitored.options.items()} if monitored.options else {}
        self.lists = [(c, len(c)) for c in monitored.lists.values()] if monitored.lists else ()
        self.targets = {at: _state_of(t) for at, t in monitored.targets.items()} if monitored.targets else {}
        self.tensors = tensors = [*monitored.tensors.values(), *[arguments[i] for i in monitored.arguments]]
        self.arrays = [*map(_array, tensors)]
        self.shared = [*map(_shared, tensors)]
        try:
            self.versions = [*map(_version, self.shared)]
        except AttributeError:          # a storage that was never used
            if None not in self.shared:
                raise
            self.shared = [t._storage for t in tensors]
            self.versions = [*map(_version, self.shared)]

    def changed_tensors(self) -> set:
        """Return the ids of the tensors that were written since, or lie in other memory."""
        if [*map(_version, self.shared)] == self.versions and all(map(is_, map(_array, self.tensors), self.arrays)):
            return set()
        return {id(t) for t, s, version, a in zip(self.tensors, self.shared, self.versions, self.arrays)
                if s.version != version or t._a is not a}


class AfterHost:
    """State that is read behind some host calls.

    guards     conditions on it
    modules    [(reference to a module, {attribute: expectation})]
    locations  state inputs among it
    options    `OptionNumber`s among it
    inputs     {number of an input: its source} of tensors
    early      numbers of inputs that are read before, or written
    """

    def __init__(self, guards, modules, locations, options, inputs, early):
        self.guards, self.locations, self.options = guards, locations, options
        self.modules = [(reference_to(m), state) for m, state in modules]
        self.inputs, self.early = inputs, early
        self._check: Any = quick_check(guards)

    def counted(self) -> list:
        """Return the lists whose length or last items are read."""
        ways = [g for g in self.guards if type(g) is Guard and (is_length(g.chain.steps) or counts_back(g.chain.steps))]
        return [c for c in [g.last_owner() for g in ways] if type(c) is list]

    def holds(self, replay) -> bool:
        if not self._check() and self._failing():
            return False
        is_simple = not self.locations and not self.options and replay.before.structure == Structure.version
        return (is_simple or not self._others(replay)) and not (self.inputs and self._changed_inputs(replay))

    def _failing(self) -> list:
        return [g for g in self.guards if not g.holds()]

    def _others(self, replay) -> list:
        """Return the names of changed state, besides guarded state and tensors."""
        before = replay.before
        found = [str(p.chain) for p in self.locations if not looks_like(p.value(), before.locations[p.identity])]
        found += [f"the optimizer's option {o.key}" for o in self.options if not looks_like(o(), before.options[o.place])]
        return found if before.structure == Structure.version else found + [type(m).__name__ for m, *_ in self._in_modules()]

    def _changed_inputs(self, replay) -> list:
        changed = replay.before.changed_tensors()
        return [at for at in self.inputs if id(replay.tensors[at]) in changed] if changed else []

    def _in_modules(self) -> list:
        return [(m, k, e) for reference, state in self.modules for m in [reference()] if m is not None
                for now in [module_state(m)] for k, e in state.items()
                if not looks_like(now.get(k, MISSING), e)]

    def differing(self, replay) -> str:
        found = [*map(str, self._failing()[:1]), *self._others(replay), "a tensor"]
        return found[0]

    def refused(self, replay) -> TraceError:
        return TraceError("a host function has changed what the traced function reads behind it, which none did when that was "
                          f"recorded: {self.differing(replay)}. Let the host function return what is needed, as a tensor")

    def rewound(self, replay, targets) -> "Rollback":
        """Return the rollback to the state before the host calls, as far as the function reads it; raise if there is none."""
        refused, before = self.refused(replay), replay.before
        way = Rollback(before)
        for g in [g for g in self._failing() if type(g) is Guard]:
            way.takes(g, g.expected)
        for p in self.locations:
            way.takes(p, SameAs(p, {}))
        for o in [o for o in self.options if o.part is None]:
            way.puts(o.group, o.key, "item", before.options[o.place])
        for m, k, e in self._in_modules():
            way.takes(Location(Chain(ARGUMENT, type(m).__name__, (("attr", k),)), m), e)
        way.shortens()
        way.back()
        is_back = not self._failing() and not self._others(replay)
        way.forth()
        written = {id(owner) for owner, _ in map(_written_in, targets)}
        if not (is_back and self.early.isdisjoint(self._changed_inputs(replay)) and written.isdisjoint(way.owners)):
            raise refused
        return way


class Rollback:
    """State that host calls have changed: as it was, and as they left it."""

    def __init__(self, before):
        self._before = before
        self._assignments: list = []    # (owner, key, kind, value before, value now)
        self._contents: dict = {}       # by id: (container, content before, content now)

    @property
    def owners(self) -> set:
        return {id(owner) for owner, *_ in self._assignments} | self._contents.keys()

    def takes(self, place, expected):
        steps, found = place.chain.steps, place.owner()
        if is_length(steps) or (counts_back(steps) and type(place.holder()) is list):
            return              # the list itself is shortened
        if isinstance(expected, Exactly):
            expected = expected.expected
        if not self._refills(place.value(), expected) and found is not None:
            owner, key, kind = found
            self.puts(owner, key, kind, self._rebuilt(expected))

    def puts(self, owner, key, kind, value):
        now = load(owner, key, kind)
        if now is not value and not is_expectation(value):
            self._assignments.append((owner, key, kind, value, now))

    def shortens(self):
        for c, n in self._before.lists:
            if len(c) > n:
                self._contents.setdefault(id(c), (c, c[:n], c[:]))

    def _refills(self, now, expected) -> bool:
        """Add the content of a container; return whether it is known."""
        if type(expected) is ArraySnapshot and type(now) is np.ndarray and now.shape == expected.copy.shape:
            self._contents.setdefault(id(now), (now, expected.copy, now.copy()))
        elif type(expected) is Snapshot and type(now) is expected.kind and (type(now) in _REFILLED):
            if expected.base is set:
                held: Any = list(expected.keys)
            elif expected.keys is None:
                held = list(map(self._item, expected.items, [*now, *[MISSING] * len(expected.items)]))
            else:
                held = {k: self._item(e, now.get(k, MISSING)) for k, e in zip(expected.keys, expected.items)}
            self._contents.setdefault(id(now), (now, held, now.copy()))
        else:
            return False
        return True

    def _item(self, expected, now):
        return now if looks_like(now, expected) or self._refills(now, expected) else self._rebuilt(expected)

    def _rebuilt(self, expected):
        if isinstance(expected, Exactly):
            expected = expected.expected
        if type(expected) is SameAs and expected.place.identity in self._before.locations:
            return self._before.locations[expected.place.identity]
        if type(expected) is ArraySnapshot:
            return expected.copy.copy()
        if type(expected) is Snapshot and expected.kind in _MADE:
            items = expected.keys if expected.base is set else map(self._rebuilt, expected.items)
            return expected.kind(items if expected.keys is None or expected.base is set else zip(expected.keys, items))
        return expected

    def back(self):
        """Restore the state from before."""
        for container, was, _ in self._contents.values():
            refill(container, was)
        for owner, key, kind, was, _ in self._assignments:
            _put(owner, key, kind, was)

    def forth(self):
        """Restore the state that the host calls left."""
        for owner, key, kind, _, now in reversed(self._assignments):
            _put(owner, key, kind, now)
        for container, _, now in self._contents.values():
            refill(container, now)


_REFILLED = frozenset((list, deque, set, dict, OrderedDict, defaultdict))
_MADE = _REFILLED - {defaultdict} | {tuple}


def _put(owner, key, kind, value):
    if kind != "attr":
        store(owner, key, kind, value)
    elif value is MISSING:
        delattr(owner, key)
    else:
        setattr(owner, key, value)


def _are_same(a, b) -> bool:
    return len(a) == len(b) and all(x is y or (type(x) is type(y) and is_plain(x) and x == y) for x, y in zip(a, b))


def _written_in(target) -> tuple:
    """Return (object that a target writes to, kind of the write)."""
    return (load(*target.owner), target.kind) if type(target) is RelocatedTarget else (target.owner, target.kind)


def _state_of(target) -> tuple:
    """Return a value that shows writes of others to a target's location."""
    owner, kind = _written_in(target)
    if kind in (EXTEND, WHOLE) and type(owner) in (list, deque):
        return (len(owner), owner[0], owner[-1]) if owner else (0,)
    return (load(owner, target.key, kind),) if kind in ("item", "attr", "cell") else ()
