"""What a recorded function may read behind its host steps, which may change it: a call in which one does runs as it is.

A replay runs host steps when everything that Python asked is known. So what is read behind one must be then as it was before:
that is seen while the call is recorded, and asked at every replay (`post_host_guards.py`). A place to which a chain of names
leads is read where code loads it; code that is running while a host step does so goes on to what it loads behind. Whatever else
the function has met it may read at any time.
"""

from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...ir.graph.graph import Value
from ...runtime.core.random import default_generator
from ...runtime.nn.base.module import Module
from ..bytecode.code_order import offsets_after
from ..bytecode.reads import MISSING, chains_of_generators, reads_at
from ..bytecode.stack import position_of
from ..bytecode.uses import ADDED, CONTAINED, COUNTED, GROWN, KEYED, LOOKED, MEASURED, SINGLE, STORED
from ..errors.errors import AsItIsError
from ..guards.absence import Keys, Lack
from ..guards.frames import is_user
from ..guards.guards import UNREAD, Guard, ModulesGuard, Reading
from ..guards.instances import attributes_of, attributes_of_module, is_users
from ..guards.locations import RESTORED, SameAs
from ..guards.snapshot import Exactly, Photograph, is_changeable, is_plain, looks_like, photograph
from ..guards.state_guards import OptionNumber
from ..side_effects.contents import Besides
from .host_arguments import are_held, containers_in
from .host_reads import Reach
from .post_host_guards import AfterHost, Hosted

_GIVEN = object()       # in the place of a key: all that a container holds which is an argument
_BY_ITEM = frozenset((*SINGLE, ADDED, GROWN, KEYED, STORED))     # uses that read no more than items, which have guards
_AT_ONCE = frozenset((MEASURED, COUNTED, LOOKED, CONTAINED))     # uses that read what is there then


class ReadOrder:
    """When the places that guards look at may be read: behind how many host steps.

    steps      how many there were so far
    at         (code, chain) that leads to a place; None where that is met in other ways
    """

    def __init__(self):
        self.steps = 0
        self.at: Any = None
        self._reads: dict = {}       # place -> {behind how many host steps it may be read}
        self._lasting: dict = {}     # place -> from how many on it may be read at any time
        self._places: dict = {}      # (code, chain) -> the places to which it has led

    def reads(self, place, value=None, how=None, is_given=False):
        """A place is met in which there is a value; code does with that what `how` says, and may give it to functions."""
        is_given = is_given or (self.at is not None and self.at[1] in chains_of_generators(self.at[0]))
        if is_changeable(value) or (isinstance(value, tuple) and not is_plain(value)):
            if not is_given and type(value) is not np.ndarray and (
                    how in _BY_ITEM or (type(value) is list and how in (MEASURED, COUNTED))):
                return
            if is_given or how not in (*_BY_ITEM, *_AT_ONCE):
                self.lasts(place)
        if self.at is None:
            self.lasts(place)
        else:
            self._places.setdefault(self.at, {})[place] = None
            self._reads.setdefault(place, set()).add(self.steps)

    def lasts(self, place):
        """A place is met that may be read at any time from now on."""
        self._lasting.setdefault(place, self.steps)

    def stepped(self, frame, outside):
        """A host step has run, called by a frame; the first one is called by `outside`."""
        self.steps += 1
        while frame is not None and frame.f_code is not outside:
            if is_user(frame):
                behind = offsets_after(frame.f_code, position_of(frame))
                for offset, chain in reads_at(frame.f_code):
                    for place in self._places.get((frame.f_code, chain), ()) if offset in behind else ():
                        self._reads[place].add(self.steps)
            frame = frame.f_back

    def is_read(self, place, first, end=None) -> bool:
        """Whether a place may be read behind the host step with a number, and before the one with the number `end`."""
        end = self.steps + 1 if end is None else end
        return self._lasting.get(place, end) < end or any(first <= n < end for n in self._reads.get(place, ()))


@dataclass
class HostMark:
    """A host step of a recorded call, and how much was written down when it had run.

    hosts      host steps that give nothing
    changed    {place: its name} of what it has changed
    known      the places that had guards
    filled     ids of the containers that it has changed
    memory     numbers of the inputs that it has written
    call       (function, its arguments, those by name)
    written    what the function had written before, as `_written` gives it
    drew       ids of the random generators that it has put elsewhere
    wrote      numbers of the tensors that it was given, and has written
    """

    name: str
    is_quiet: bool
    call: tuple
    written: tuple
    nodes: int
    guards: int
    sources: int
    changed: dict
    known: frozenset
    filled: frozenset
    memory: list
    drew: frozenset
    wrote: list
    gives: bool = True
    hosts: int = 0


class BehindHosts:
    """The part of a watch that looks at host steps."""

    @contextmanager
    def host_step(self: Any, recorder, call, tensors, frame, is_quiet):
        """Around a host step that a frame calls, with some tensors; a quiet one changes nothing."""
        before = () if is_quiet else self._written(recorder)
        lay = self.casts.lift()
        guards = [] if is_quiet else [(at, g, photograph(g.value())) for at, g in self.guards.items()]
        stored = [] if is_quiet else [(t, photograph(t.value())) for t in self.stored.values()]
        owners = [] if is_quiet else [(x, _attributes(x)) for x in self._owners()]
        memory = [] if is_quiet else [(c, c.root._storage.version, c.root._a) for c in recorder.inputs.cells]
        versions = [t._storage.version for t in tensors]
        stood = {g: g.place for g in (default_generator, *recorder.random.generators())}
        given = [] if is_quiet else [(c, photograph(c)) for c in self.arguments if type(c) in (np.ndarray, *RESTORED)]
        with self.contents.left_to_host() as filled, self.held.lifted(t for t, _ in stored):
            yield
        self.casts.lift()
        self.order.stepped(frame, self._starter)
        changed = {at: str(g.chain) for at, g, was in guards if not looks_like(g.value(), was)}
        changed |= {t.place: t.text for t, was in stored if not looks_like(t.value(), was)}
        for x, was in owners:
            now = _attributes(x)
            others = {k for k in {**was, **now} if not looks_like(now.get(k, MISSING), was.get(k, MISSING))}
            changed |= {(id(x), k): f"{type(x).__name__}.{k}" for k in others}
            self.module_writes.left_by_others(x, others)
            for k in others:
                self.left.setdefault((id(x), k), was.get(k, MISSING))
        self.casts.lay(lay)
        changed |= {(id(c), _GIVEN): "a list, a dictionary or an array among its arguments" for c, copy in given
                    if not looks_like(c, copy)}
        written = [c.source for c, version, a in memory if c.root._storage.version != version or c.root._a is not a]
        self.hosts.append(HostMark(
            call[0], is_quiet, call[1:], before,
            len(recorder.builder.nodes), len(recorder.guards), len(recorder.inputs.sources),
            changed, frozenset(self.guards), frozenset(filled), written,
            frozenset([id(g) for g, place in stood.items() if g.place != place]),
            [i for i, (t, version) in enumerate(zip(tensors, versions)) if t._storage.version != version]))

    def may_be_changed(self: Any, given, frame) -> bool:
        """Whether a host function that a frame calls may change a container that it is given, so that somebody sees it."""
        containers = containers_in(given)
        is_known = any(self.contents.has_seen(c) or id(c) in self.outside or id(c) in self.copies for c in containers)
        return is_known or are_held(containers, frame, self._starter)

    def host_gave(self: Any, gives: bool, hosts: int):
        """The last host step gave tensors, or not, and so many have not."""
        self.hosts[-1].gives, self.hosts[-1].hosts = gives, hosts

    def _written(self: Any, recorder) -> tuple:
        """(memory by id, memory of tensors whose gradients, places, containers by id) of what the function has written so far,
        each with a name for messages."""
        roots = {c.source: c.root for c in recorder.inputs.cells}
        memory = {id(c.root._storage): "a tensor" for c in recorder.inputs.cells if c.version}
        leaves = [roots[s.position] for s in recorder.gradients.leaves.values()
                  if s.position in roots and (s.was_set or not s.is_as_before())]
        changed = [t for t in [*self.stored.values(), *self.module_writes.targets(self.stored)] if t.is_changed]
        return (memory, {id(t._storage): "a gradient" for t in leaves}, {t.place: t.text for t in changed},
                self.contents.changed())

    def read_by_hosts(self: Any, recorder) -> str:
        """What a host step may read that the function had written before, in words: a replay writes when host steps have run.
        Notes which inputs they may read: those are written over no sooner."""
        writes, earlier = any(c.version for c in recorder.inputs.cells), []
        for mark in [m for m in self.hosts if not m.is_quiet]:
            if not (writes or any(mark.written) or any(m.gives for m in self.hosts)):
                continue
            reach = Reach(*mark.call)
            other = next((name for name, r in earlier if mark.gives and r.meets(reach)), None)
            if other is not None:
                return (f"its host function {mark.name} may read what {other} changes, and comes first in a replay, since it "
                        f"gives tensors; let {other} give one, too, and take that as an argument")
            earlier += [] if mark.gives else [(mark.name, reach)]
            for found, known in zip(mark.written, (reach.storages, reach.storages if reach.gradients else (), reach.places,
                                                   reach.objects)):
                text = next((text for at, text in found.items() if reach.is_all or at in known), None)
                if text is not None:
                    return (f"its host function {mark.name} may read {text}, which the function has written before; pass that "
                            "as an argument")
            recorder.hosts.shown |= {c.source for c in recorder.inputs.cells
                                     if reach.is_all or id(c.root._storage) in reach.storages}
        return ""

    def _owners(self: Any) -> list:
        """The objects and modules that the function has met."""
        return [*[x for x, *_ in self.outside.values()], *self.module_writes.modules()]

    def against_order(self: Any, recorder) -> str:
        """What shows that host steps cannot come at the end of a call, in words; nothing if they can."""
        return self.changed_behind(recorder) or self.read_by_hosts(recorder)

    def changed_behind(self: Any, recorder) -> str:
        """What a host step has changed that the function reads behind it, or writes, in words; nothing if there is none."""
        for n, mark in enumerate(self.hosts, 1):
            found = None if mark.is_quiet else self._read_behind(n, mark, recorder)
            if found is not None:
                return (f"its host function {mark.name} changes {found}, which it reads behind that, or writes; let the host "
                        "function return what is needed, as a tensor")
        return ""

    def _read_behind(self: Any, n, mark, recorder) -> str | None:
        names = self._asked_names()
        for at, text in mark.changed.items():
            is_asked = at[1] is _GIVEN or (type(at[1]) is str and self._may_ask(*at, names))
            if is_asked or at in self.stored or self.order.is_read(at, n):
                return text
        for at, g in self.guards.items() if mark.changed or mark.filled else ():
            way = g.places_on_the_way()
            is_filled = at not in mark.known and not mark.filled.isdisjoint([id(g.value()), *[owner for owner, _ in way]])
            if (is_filled or not mark.changed.keys().isdisjoint(way)) and self.order.is_read(at, n):
                return str(g.chain)
        later = [s.what for s in recorder.inputs.sources[mark.sources:] if type(s.what) is OptionNumber]
        option = next((o for o in later if id(o.group) in mark.filled), None)
        if option is not None:
            return f"the optimizer's option {option.key}"
        if any(id(g) in mark.drew for g in _drawn_from(recorder.inputs.sources[mark.sources:])):
            return "a random generator"
        written = {c.source for c in recorder.inputs.cells if c.version}
        return None if written.union(_inputs_read(recorder, mark)).isdisjoint(mark.memory) else "a tensor"

    def _may_ask(self: Any, owner, name, names) -> bool:
        """Whether code that no chain shows may read an attribute: that of ingot's own modules reads all."""
        m = self.modules.get(owner)
        return name in names or bool(self._computing) or (m is not None and not is_users(type(m)))

    def left_in_modules(self: Any) -> dict:
        """{(id of a module, attribute): what was there} of what host steps have left, if it is read, else UNREAD."""
        names, filled = self._asked_names(), frozenset().union(*[mark.filled for mark in self.hosts])
        found = {}
        for m in self.module_writes.modules() if filled or self.left else ():
            for name, value in attributes_of_module(m).items():
                at = id(m), name
                is_read = at in self.module_reads or self._may_ask(*at, names)
                if at in self.left or (id(value) in filled and not is_read):
                    found[at] = photograph(self.left[at]) if is_read else UNREAD
        return found

    def _asked_names(self: Any) -> frozenset:
        """The attributes that code reads of what no chain leads to."""
        return frozenset().union(*self._questions.values())

    def besides_left(self: Any, guards) -> list:
        """The guards without those of what host steps have changed, which nobody reads behind them."""
        left = {at for mark in self.hosts for at in mark.changed}
        return [g for g in guards if not left or (g.watched not in left and left.isdisjoint(g.places_on_the_way()))]

    def hosted(self: Any, recorder, guards, targets, outputs) -> Hosted | None:
        """What is asked behind the host steps of a replay; `guards` are all that the recording has, `outputs` the values that
        leave it. Raises if one has written to a tensor that it was given, which is read behind it."""
        if all(mark.is_quiet for mark in self.hosts):
            return None
        for mark in [m for m in self.hosts if not (m.is_quiet or m.gives)]:
            step, values = recorder.hosts.steps[mark.hosts - 1]
            step.kept = _lasting(recorder, mark, values, outputs)
            if not set(step.kept).isdisjoint(mark.wrote):
                raise AsItIsError(f"its host function {mark.name} writes to a tensor that it is given; give it a clone()")
        after: dict = {}
        loud = [(n, mark) for n, mark in enumerate(self.hosts, 1) if not mark.is_quiet]
        for (n, mark), (end, _) in zip(loud, [*loud[1:], (len(self.hosts) + 1, None)]):
            after.setdefault(mark.hosts, [n, end])[1] = end
        made = {at: self._after(recorder, guards, *span) for at, span in after.items()}
        first = min(mark.sources for _, mark in loud)
        return Hosted([mark.gives for mark in self.hosts], made, targets, _drawn_from(recorder.inputs.sources[first:]))

    def _after(self: Any, recorder, guards, first, end) -> AfterHost:
        mark, names = self.hosts[first - 1], self._asked_names()
        last = self.hosts[end - 1].guards if end <= len(self.hosts) else len(recorder.guards)
        read = [g for g in guards if (type(g) is Guard and self.order.is_read(g.watched, first, end))
                or type(g) in (Reading, Lack, Keys)] + recorder.guards[mark.guards:last]
        modules = [] if not self.modules else [
            (m, {k: e for k, e in state.items()
                 if k not in attributes_of_module(m) or self.order.is_read((id(m), k), first, end)
                 or self._may_ask(id(m), k, names)}) for g in guards if type(g) is ModulesGuard for m, state in g.states]
        expected = [*[g.expected for g in read if hasattr(g, "expected")], *[e for _, state in modules for e in state.values()]]
        places = {p.watched: p for e in expected for p in _places_in(e)}
        sources = recorder.inputs.sources
        inputs = {i: sources[i] for i in _inputs_read(recorder, mark) if sources[i].kind in ("argument", "captured")}
        early = {*_inputs_of(recorder, recorder.builder.nodes[:mark.nodes]),
                 *[c.source for c in recorder.inputs.cells if c.version]}
        return AfterHost(read, modules, [*places.values()],
                         [s.what for s in sources[mark.sources:] if type(s.what) is OptionNumber], inputs, early)


def _attributes(x) -> dict:
    return attributes_of_module(x) if isinstance(x, Module) else dict(attributes_of(x))


def _drawn_from(sources) -> list:
    """The random generators that give keys for some inputs."""
    return list({id(s.what.generator): s.what.generator for s in sources if s.kind == "key"}.values())


def _places_in(expected) -> list:
    """The places whose values are expected somewhere, now."""
    if type(expected) is SameAs:
        return [expected.place]
    if isinstance(expected, Exactly):
        return _places_in(expected.expected)
    inside = expected.items if type(expected) is Photograph else expected.rest.values() if type(expected) is Besides else ()
    return [p for e in inside for p in _places_in(e)]


def _lasting(recorder, mark, values, outputs) -> tuple:
    """The numbers of values that a host step is given whose memory is from outside, or read behind it."""
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
    """The numbers of the inputs that are read behind a host step."""
    b = recorder.builder
    behind = [*[c.value for c in recorder.reads.cuts if c.nodes >= mark.nodes],
              *[v for _, values in recorder.hosts.steps[mark.hosts:] for v in values]]
    return _inputs_of(recorder, b.nodes[mark.nodes:], behind)


def _inputs_of(recorder, nodes, values=()) -> set:
    """The numbers of the inputs whose memory nodes read, perhaps as views, or which are among some values."""
    b = recorder.builder
    number, made = {v: i for i, v in enumerate(b.inputs)}, {v: n for n in b.nodes for v in n.outputs}
    found = set()
    for v in [*[x for n in nodes if not n.op.is_view for x in n.inputs if type(x) is Value], *values]:
        while v in made and made[v].op.is_view:
            v = made[v].inputs[0]
        found |= {number[v]} if v in number else set()
    return found
