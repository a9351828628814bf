"""Order of host calls and reads in a recorded run.

A replay runs host calls after Python's questions are answered. So state that the function reads behind a host call must be as
before the call: this is checked while recording, and again at every replay (`post_host_guards.py`). If it is not, the call runs
eagerly. A location that a chain of names leads to is read where code loads it. Other state may be read at any time.
"""

import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ...ir.graph.graph import Value
from ...runtime.core.random import default_generator
from ...runtime.nn.base.module import Module
from ..bytecode.reads import MISSING, chains_of_generators, reads_at
from ..bytecode.stack import offsets_after, position_of
from ..bytecode.user_code import attributes_of, attributes_of_module, is_user_defined
from ..bytecode.uses import ADDED, CONTAINED, COUNTED, GROWN, INSPECTED, KEYED, MEASURED, SINGLE, STORED
from ..errors.errors import RunEagerlyError
from ..guards.absence import AbsentNames, AttributeNames, ClassNames, ObjectClasses
from ..guards.class_entries import ClassMembers
from ..guards.frames import is_user
from ..guards.guards import UNREAD, Guard, ModulesGuard, ReadCondition
from ..guards.known_objects import KnownObjects
from ..guards.locations import RESTORED, SameAs, StateInputs
from ..guards.snapshot import Exactly, Snapshot, has_content, looks_like, snapshot
from ..guards.state_guards import OptionNumber
from ..side_effects.contents import Besides, ContainerLog
from ..side_effects.writes import WriteLog
from .host_call import are_held, containers_in
from .host_reads import Reach
from .locks import LockLog
from .post_host_guards import AfterHost, HostChecks

_GIVEN = object()       # stands for a key: all items of a container that is an argument
_BY_ITEM = frozenset((*SINGLE, ADDED, GROWN, KEYED, STORED))     # uses that only read guarded items
_AT_ONCE = frozenset((MEASURED, COUNTED, INSPECTED, CONTAINED))     # uses that read the current content


class ReadOrder:
    """Intervals between host calls in which guarded locations may be read."""

    def __init__(self):
        self.steps = 0                # host calls so far
        self.at: Any = None           # (code, chain) that leads to the next location; None if no chain does
        self._reads: dict = {}       # place -> {numbers of host calls behind which it may be read}
        self._lasting: dict = {}     # place -> number of host calls from which on it may be read at any time
        self._locations: dict = {}   # (code, chain) -> the places to which it has led

    def reads(self, place, value=None, how=None, is_given=False):
        """Note that code reads a place with a value; `how` is its use of the value, `is_given` that functions receive it."""
        is_given = is_given or (self.at is not None and self.at[1] in chains_of_generators(self.at[0]))
        if has_content(value):
            if not is_given and type(value) is not np.ndarray and (
                    how in _BY_ITEM or (type(value) is list and how in (MEASURED, COUNTED))):
                return
            if is_given or how not in (*_BY_ITEM, *_AT_ONCE):
                self.lasts(place)
        if self.at is None:
            self.lasts(place)
        else:
            self._locations.setdefault(self.at, {})[place] = None
            self._reads.setdefault(place, set()).add(self.steps)

    def lasts(self, place):
        """Note that a place may be read at any time from now on."""
        self._lasting.setdefault(place, self.steps)
        self._reads.setdefault(place, set()).add(self.steps)

    def begins(self):
        """Begin an interval without a host call."""
        self.steps += 1

    def latest(self) -> list:
        """Return the places that code of the last interval may read."""
        return [place for place, steps in self._reads.items() if self.steps in steps]

    def stepped(self, frame, outside):
        """Note a host call of a frame; running code, up to `outside`, goes on to the chains that it loads behind."""
        self.steps += 1
        while frame is not None and frame.f_code is not outside:
            if is_user(frame):
                behind = offsets_after(frame.f_code, position_of(frame))
                for offset, chain in reads_at(frame.f_code):
                    for place in self._locations.get((frame.f_code, chain), ()) if offset in behind else ():
                        self._reads[place].add(self.steps)
            frame = frame.f_back

    def is_read(self, place, first, end=None) -> bool:
        """Return whether a place may be read behind host call number `first`, and before number `end`."""
        end = self.steps + 1 if end is None else end
        return self._lasting.get(place, end) < end or any(first <= n < end for n in self._reads.get(place, ()))


@dataclass
class HostMark:
    """Host call of a recorded run, and how much was recorded when it returned."""

    name: str           # of the host function, for messages
    is_quiet: bool      # whether it changes nothing
    call: tuple         # (function, its arguments, those by name); empty for a quiet one, whose tensors may be freed
    written: tuple      # writes of the traced function before, as `HostLog._written` returns them
    nodes: int
    guards: int
    sources: int
    changed: dict       # {place: its name} of what the host function has changed
    known: frozenset    # places that had guards
    filled: frozenset   # ids of the containers that it has changed
    memory: list        # numbers of the inputs that it has written
    drew: frozenset     # ids of the random generators that it has used
    wrote: list         # numbers of its tensor arguments that it has written
    gives: bool = True  # whether it returned tensors
    hosts: int = 0      # number of host calls so far that returned none


class Reads(Protocol):
    """Reads of the function so far (`python_state.read_log.ReadLog`)."""

    guards: dict
    module_reads: set
    order: ReadOrder


class Queries(Protocol):
    """Attributes that code gets or sets (`python_state.attributes.DynamicAttributes`)."""

    names: set
    asks_all: bool


class HostLog:
    """Host calls of a recorded run, and what the function may read behind them."""

    def __init__(self, known: KnownObjects, inputs: StateInputs, contents: ContainerLog, reads: Reads, writes: WriteLog,
                 queries: Queries):
        self._known, self._inputs, self._contents, self._writes = known, inputs, contents, writes
        self._reads, self._queries, self._order = reads, queries, reads.order
        self.arguments: list = []       # containers and arrays among the arguments of the call
        self.outside: Any = None        # code that calls the traced function
        self.locks = LockLog()
        self._marks: list = []          # a `HostMark` for each host call
        self._left: dict = {}           # (id of an object, attribute) that host calls have changed -> value from before

    # While the call is recorded.

    @contextmanager
    def step(self, recorder, call, tensors, frame, is_quiet):
        """Compare state before and after a host call that a frame makes with some tensors; a quiet one changes nothing."""
        before = () if is_quiet else self._written(recorder)
        if not is_quiet:
            self.locks.calls_host(call[0])
        guards = [] if is_quiet else [(at, g, snapshot(g.value())) for at, g in [*self._reads.guards.items()]]
        stored = [] if is_quiet else [(t, snapshot(t.value())) for t in [*self._writes.targets.values()]]
        owners = [] if is_quiet else [(x, _attributes(x)) for x in (
            *[x for x, *_ in self._known.outside.values()], *self._writes.modules.modules())]
        memory = [] if is_quiet else [(c, c.root._storage.version, c.root._a) for c in recorder.inputs.cells]
        versions = [t._storage.version for t in tensors]
        stood = {g: g.place for g in (default_generator, *recorder.random.generators())}
        given = [] if is_quiet else [(c, snapshot(c)) for c in self.arguments if type(c) in (np.ndarray, *RESTORED)]
        with self._contents.left_to_host() as filled, self._inputs.lifted(t for t, _ in stored):
            yield
        self._order.stepped(frame, self.outside)
        changed = {at: str(g.chain) for at, g, was in guards if not looks_like(g.value(), was)}
        changed |= {t.place: t.text for t, was in stored if not looks_like(t.value(), was)}
        for x, was in owners:
            changed |= self._changed_attributes(x, was)
        changed |= {(id(c), _GIVEN): "a list, a dictionary or an array among its arguments" for c, copy in given
                    if not looks_like(c, copy)}
        written = [c.source for c, version, a in memory if c.root._storage.version != version or c.root._a is not a]
        self._marks.append(HostMark(
            call[0], is_quiet, () if is_quiet else call[1:], before,
            len(recorder.builder.nodes), len(recorder.guards), len(recorder.inputs.sources),
            changed, frozenset(self._reads.guards), frozenset(filled), written,
            frozenset([id(g) for g, place in stood.items() if g.place != place]),
            [i for i, (t, version) in enumerate(zip(tensors, versions)) if t._storage.version != version]))

    def _changed_attributes(self, x, was) -> dict:
        """Return {place: its name} of the attributes that a host call has changed; they are no writes of the function."""
        now = _attributes(x)
        others = {k for k in {**was, **now} if not looks_like(now.get(k, MISSING), was.get(k, MISSING))}
        self._writes.modules.left_by_others(x, others)
        for k in others:
            self._left.setdefault((id(x), k), was.get(k, MISSING))
        return {(id(x), k): f"{type(x).__name__}.{k}" for k in others}

    def may_be_changed(self, argument, frame) -> bool:
        """Return whether a host function that a frame calls may change a container argument so that other code sees it."""
        containers = containers_in(argument)
        is_known = any(self._contents.has_seen(c) or id(c) in self._known.outside or id(c) in self._writes.copies
                       for c in containers)
        return is_known or are_held(containers, frame, self.outside)

    def returned(self, gives: bool, hosts: int):
        """Note whether the last host call returned tensors, and how many have returned none."""
        self._marks[-1].gives, self._marks[-1].hosts = gives, hosts

    def _written(self, recorder) -> tuple:
        """Return what the function has written so far: (memory, memory of tensors whose gradients, places, containers), each
        as {id: name for messages}."""
        roots = {c.source: c.root for c in recorder.inputs.cells}
        memory = {id(c.root._storage): "a tensor" for c in recorder.inputs.cells if c.version}
        leaves = [roots[s.position] for s in recorder.gradients.leaves.values()
                  if s.position in roots and s.is_changed]
        stored = self._writes.targets
        changed = [t for t in [*stored.values(), *self._writes.modules.targets(stored)] if t.is_changed]
        return (memory, {id(t._storage): "a gradient" for t in leaves}, {t.place: t.text for t in changed},
                self._contents.changed())

    # The end of the call.

    def against_order(self, recorder) -> str:
        """Return why host calls cannot come at the end of a replay, or locks not be held by all of it, in words; empty if they
        can."""
        return self._changed_behind(recorder) or self._read_by_hosts(recorder) or self.locks.problem

    def _read_by_hosts(self, recorder) -> str:
        """Return what a host function may read that the function had written before: a replay writes after host calls.
        Tell the recorder which inputs they may read, so that they are not overwritten earlier."""
        writes, earlier = any(c.version for c in recorder.inputs.cells), []
        for mark in [m for m in self._marks if not m.is_quiet]:
            if not (writes or any(mark.written) or any(m.gives for m in self._marks)):
                continue
            reach = Reach(*mark.call)
            other = next((name for name, r in earlier if mark.gives and r.meets(reach)), None)
            if other is not None:
                return (f"its host function {mark.name} may read what {other} changes, and comes first in a replay, since it "
                        f"gives tensors; let {other} give one, too, and take that as an argument")
            earlier += [] if mark.gives else [(mark.name, reach)]
            for found, known in zip(mark.written, (reach.storages, reach.storages if reach.gradients else (), reach.locations,
                                                   reach.objects)):
                # Libraries, and processes that a host function starts, read the environment unseen.
                text = next((text for at, text in found.items()
                             if reach.is_all or at in known or at == id(os.environ)), None)
                if text is not None:
                    return (f"its host function {mark.name} may read {text}, which the function has written before; pass that "
                            "as an argument")
            recorder.hosts.shown |= {c.source for c in recorder.inputs.cells
                                     if reach.is_all or id(c.root._storage) in reach.storages}
        return ""

    def _changed_behind(self, recorder) -> str:
        """Return what a host call has changed that the function reads behind it, or writes; empty if nothing."""
        for n, mark in enumerate(self._marks, 1):
            found = None if mark.is_quiet else self._read_behind(n, mark, recorder)
            if found is not None:
                return (f"its host function {mark.name} changes {found}, which it reads behind that, or writes; let the host "
                        "function return what is needed, as a tensor")
        return ""

    def _read_behind(self, n, mark, recorder) -> str | None:
        names = self._queries.names
        for at, text in mark.changed.items():
            owner, key = at
            is_asked = key is _GIVEN or (type(key) is str and self._may_query(owner, key, names))
            if is_asked or at in self._writes.targets or self._order.is_read(at, n):
                return text
        for at, g in self._reads.guards.items() if mark.changed or mark.filled else ():
            way = g.locations_on_path()
            is_filled = at not in mark.known and not mark.filled.isdisjoint([id(g.value()), *[owner for owner, _ in way]])
            if (is_filled or not mark.changed.keys().isdisjoint(way)) and self._order.is_read(at, n):
                return str(g.chain)
        later = [s.what for s in recorder.inputs.sources[mark.sources:] if type(s.what) is OptionNumber]
        option = next((o for o in later if id(o.group) in mark.filled), None)
        if option is not None:
            return f"the optimizer's option {option.key}"
        if any(s.kind == "number" for s in recorder.inputs.sources[mark.sources:]):
            return "what a random generator or a clock gives"      # a replay draws before it calls the host function
        if any(id(g) in mark.drew for g in _drawn_from(recorder.inputs.sources[mark.sources:])):
            return "a random generator"
        written = {c.source for c in recorder.inputs.cells if c.version}
        return None if written.union(_inputs_read(recorder, mark)).isdisjoint(mark.memory) else "a tensor"

    def _may_query(self, owner, name, names) -> bool:
        """Return whether code may read an attribute that no chain shows; ingot's own modules read all of theirs."""
        m = self._known.modules.get(owner)
        return name in names or self._queries.asks_all or (m is not None and not is_user_defined(type(m)))

    def left_in_modules(self) -> dict:
        """Return {(id of a module, attribute): its value before, or UNREAD} of what host calls have changed in modules."""
        names, filled = self._queries.names, frozenset().union(*[mark.filled for mark in self._marks])
        found = {}
        for m in self._writes.modules.modules() if filled or self._left else ():
            for name, value in attributes_of_module(m).items():
                at = id(m), name
                is_read = at in self._reads.module_reads or self._may_query(*at, names)
                if at in self._left or (id(value) in filled and not is_read):
                    found[at] = snapshot(self._left[at]) if is_read else UNREAD
        return found

    def besides_left(self, guards) -> list:
        """Return the guards without those of locations that host calls have changed: nobody reads these behind them."""
        left = {at for mark in self._marks for at in mark.changed}
        return [g for g in guards if not left or (g.identity not in left and left.isdisjoint(g.locations_on_path()))]

    def hosted(self, recorder, guards, targets, outputs) -> HostChecks | None:
        """Return the checks behind the host calls of a replay. `guards` are all guards of the recording, `outputs` its results.
        Raise if a host function has written to a tensor argument that is read behind it."""
        if all(mark.is_quiet for mark in self._marks):
            return None
        for mark in [m for m in self._marks if not (m.is_quiet or m.gives)]:
            step, values = recorder.hosts.steps[mark.hosts - 1]
            step.lasting = _lasting(recorder, mark, values, outputs)
            if not set(step.lasting).isdisjoint(mark.wrote):
                raise RunEagerlyError(f"its host function {mark.name} writes to a tensor that it is given; give it a clone()")
        after: dict = {}
        loud = [(n, mark) for n, mark in enumerate(self._marks, 1) if not mark.is_quiet]
        for (n, mark), (end, _) in zip(loud, [*loud[1:], (len(self._marks) + 1, None)]):
            after.setdefault(mark.hosts, [n, end])[1] = end
        made = {at: self._after(recorder, guards, *span) for at, span in after.items()}
        first = min(mark.sources for _, mark in loud)
        return HostChecks([mark.gives for mark in self._marks], made, targets, _drawn_from(recorder.inputs.sources[first:]))

    def _after(self, recorder, guards, first, end) -> AfterHost:
        mark, names = self._marks[first - 1], self._queries.names
        last = self._marks[end - 1].guards if end <= len(self._marks) else len(recorder.guards)
        read = [g for g in guards if (type(g) is Guard and self._order.is_read(g.identity, first, end))
                or type(g) in _OF_OBJECTS] + recorder.guards[mark.guards:last]
        modules = [] if not self._known.modules else [
            (m, {k: e for k, e in state.items()
                 if k not in attributes_of_module(m) or self._order.is_read((id(m), k), first, end)
                 or self._may_query(id(m), k, names)}) for g in guards if type(g) is ModulesGuard for m, state in g.states]
        expected = [*[g.expected for g in read if hasattr(g, "expected")], *[e for _, state in modules for e in state.values()]]
        locations = {p.identity: p for e in expected for p in _locations_in(e)}
        sources = recorder.inputs.sources
        inputs = {i: sources[i] for i in _inputs_read(recorder, mark) if sources[i].kind in ("argument", "captured")}
        early = {*_inputs_of(recorder, recorder.builder.nodes[:mark.nodes]),
                 *[c.source for c in recorder.inputs.cells if c.version]}
        return AfterHost(read, modules, [*locations.values()],
                         [s.what for s in sources[mark.sources:] if type(s.what) is OptionNumber], inputs, early)

    def close(self):
        self._marks = []


_OF_OBJECTS = (ReadCondition, AbsentNames, AttributeNames, ClassMembers, ClassNames, ObjectClasses)


def _attributes(x) -> dict:
    return attributes_of_module(x) if isinstance(x, Module) else dict(attributes_of(x))


def _drawn_from(sources) -> list:
    return list({id(s.what.generator): s.what.generator for s in sources if s.kind == "key"}.values())


def _locations_in(expected) -> list:
    """Return the locations whose current values an expectation holds."""
    if type(expected) is SameAs:
        return [expected.place]
    if isinstance(expected, Exactly):
        return _locations_in(expected.expected)
    inside = expected.items if type(expected) is Snapshot else expected.rest.values() if type(expected) is Besides else ()
    return [p for e in inside for p in _locations_in(e)]


def _lasting(recorder, mark, values, outputs) -> tuple:
    """Return the numbers of tensor arguments of a host call whose memory is from outside, or read behind it."""
    b = recorder.builder
    made = {v: n for n in b.nodes for v in n.outputs}

    def memory(v):
        while v in made and made[v].op.is_view:
            v = made[v].inputs[0]
        return v

    read = {memory(x) for n in b.nodes[mark.nodes:] for x in n.inputs if type(x) is Value}
    read |= {memory(v) for v in [*outputs, *[v for _, later in recorder.hosts.steps[mark.hosts:] for v in later]]}
    return tuple([i for i, v in enumerate(map(memory, values)) if v.is_input or v in read])


def _inputs_read(recorder, mark) -> set:
    b = recorder.builder
    behind = [*[c.value for c in recorder.reads.cuts if c.nodes >= mark.nodes],
              *[v for _, values in recorder.hosts.steps[mark.hosts:] for v in values]]
    return _inputs_of(recorder, b.nodes[mark.nodes:], behind)


def _inputs_of(recorder, nodes, values=()) -> set:
    """Return the numbers of the inputs whose memory nodes read, perhaps as views, or which are among some values."""
    b = recorder.builder
    number, made = {v: i for i, v in enumerate(b.inputs)}, {v: n for n in b.nodes for v in n.outputs}
    found = set()
    for v in [*[x for n in nodes if not n.op.is_view for x in n.inputs if type(x) is Value], *values]:
        while v in made and made[v].op.is_view:
            v = made[v].inputs[0]
        found |= {number[v]} if v in number else set()
    return found
