"""Segments of a recorded path, and its finish.

A `Segment` holds the nodes between two reads of Python. It ends in a question (the value, whose answer chooses the next
segment) or in a `Finish`: results, writes and gradients.
"""

import hashlib
from dataclasses import dataclass, field
from typing import Any

from ...ir.cached_property import cached_property
from ...ir.graph.graph import Value
from ...ir.opdef.params import param_key
from ...ir.symbols.substitute import replaced
from ...runtime.core.backend import HOST
from ...runtime.core.tensor import Tensor
from ..guards.state_guards import OptionNumber
from ..host.host_numbers import HostNumber
from ..proxies.data_sizes import SIZED, Stage, stages_of, values_for
from ..recorder.outputs import parts_of
from ..recorder.random_streams import Draw
from .compile_segment import Job, Region, Result
from .differentiate import Differential
from .symbolic_job import job_of


@dataclass
class Segment:
    """Nodes, and what follows them."""

    sources: list                # inputs that first appear here
    signature: tuple             # identity of the nodes, to recognise the segment in another recording
    region: Region
    question: tuple | None = None            # (slot, how)
    line: tuple | None = None                # the user's line that reads an integer there
    place: tuple | None = None               # the user's line that asks the question
    stage: Stage = field(default_factory=Stage)
    answers: dict = field(default_factory=dict)     # (answer, conditions of what follows) -> what follows
    coming: "Segment | None" = None          # a new answer, which no replay takes yet
    finish: "Finish | None" = None
    work: "Work | None" = None
    cleared: tuple = ()          # positions of inputs whose gradient is dropped before anything is computed

    def __post_init__(self):
        self.captured = [s.what if s.kind == "captured" else None for s in self.sources]
        self.arguments = [(i, s.what) for i, s in enumerate(self.sources) if s.kind == "argument"]
        self.others = [(i, s) for i, s in enumerate(self.sources) if s.kind not in ("argument", "captured")]
        self.is_plain = not self.others

    def following(self, answer, symbols) -> tuple:
        """Return the recorded segment that follows an answer for these values of symbols, or None, and the values there."""
        found = self.answers.get((answer, ()))
        if found is not None and not found.stage.reads:
            return found, symbols
        for (recorded, _), following in self.answers.items():
            if recorded == answer and following.stage.takes(symbols):
                return following, symbols
        if self.question is not None and self.question[1] in SIZED:
            for (recorded, _), following in self.answers.items():
                values = values_for(recorded, answer)
                if values and following.stage.takes((*symbols, *values)):
                    return following, (*symbols, *values)
        return None, symbols

    def answers_beside(self, key) -> dict:
        """Return the answers that stay when another comes: not those that it covers, whose paths may be known less far."""
        return {k: s for k, s in self.answers.items() if k == key or not values_for(key[0], k[0])}

    def settle(self) -> dict:
        """Determine the results of this segment, for all that follows it now; return the slots that it needs from before."""
        needed = {}
        for following in (*self.answers.values(), *([] if self.coming is None else [self.coming])):
            needed.update(following.settle())
        if self.question is not None:
            needed.setdefault(self.question[0], None)
        computed, hand = self.region.computed, ()
        wanted: list = []
        if self.finish is not None:
            hand = self.finish.hand_out(computed, wanted, needed)
        keep = []
        old = () if self.finish is None else self.finish.old_values
        for slot in sorted((*old, *needed)):
            if slot in computed or slot in old:
                keep.append((len(wanted), slot))
                wanted.append(Result(slot, owned=True))
        wanted += [Result(slot) for slot in self.region.unread(wanted)]      # calls raise where eager code does
        if self.work is None or self.work.job.wanted != tuple(wanted):
            self.work = Work(job_of(self.region, wanted), tuple(keep), hand)
        return {s: None for s in (*needed, *self.region.reads) if s >= 0 and s not in computed}


@dataclass(frozen=True)
class Work:
    """A segment's job, its results that stay for later as (position, slot), and positions of what its finish hands out."""

    job: Job
    keep: tuple
    hand: tuple


@dataclass
class Finish:
    """The results and effects of a path. Slots number the values."""

    outputs: list                # (slot, Output)
    updates: list                # (input position, slot)
    grads: list                  # (input position, Gradient over slots or None)
    hosts: list                  # (host step, slots)
    turns: list                  # (input position, whether it requires grad from now on)
    retained: list               # positions of inputs that keep their gradients from now on
    detached: list               # positions of inputs that lose their history
    rebinds: list                # (input position, slot, Output)
    differential: Differential | None
    template: Any
    parts: list = field(default_factory=list)      # (number, Output) of results that are made of others
    joined: dict = field(default_factory=dict)       # {position of an input, which is written once all was read: its parts}
    shown: frozenset = frozenset()       # positions of inputs that host steps may read: written when these have run
    hosted: Any = None           # checks behind the host steps
    held: tuple = ()             # slots of earlier segments that are handed out
    writes: dict = field(default_factory=dict)       # {input position: `Write`} of the updates
    wholes: tuple = ()           # positions of DTensors whose parts are updated
    _late: dict = field(default_factory=dict)

    @cached_property
    def positions(self) -> list:
        """Positions of the updated inputs."""
        return [position for position, _ in self.updates]

    @cached_property
    def counts(self) -> list:
        """Counts of the writes to them."""
        return [self.writes[position].count for position in self.positions]

    def written_late(self, in_place, updates) -> list:
        """Return (position, number of the array) of the updates that the run has not written in place."""
        found = self._late.get(in_place)
        if found is None:
            found = self._late[in_place] = [(p, at) for p, at in zip(self.positions, updates) if at not in in_place]
        return found

    @cached_property
    def unchecked(self) -> list:
        """(number of an update, count) of those that all went through `.data`."""
        return [(i, self.writes[p].count) for i, p in enumerate(self.positions)
                if self.writes[p].unchecked and self.writes[p].count]

    @cached_property
    def has_made_gradients(self) -> bool:
        """Whether the call leaves gradients that are results, or are made of parts."""
        return any(g is not None and not g.is_new for _, g in self.grads)

    @cached_property
    def turned_late(self) -> frozenset:
        """Positions of inputs that require grad once they look at other memory, where older views of them do not."""
        windows = {position for position, _, o in self.rebinds if o.is_window}
        return frozenset([position for position, on in self.turns if on and position in windows])

    @cached_property
    def prepared(self) -> list:
        """Positions of inputs whose history takes part in the writes."""
        return [position for position, write in self.writes.items() if write.rescues or write.checks]

    @property
    def old_values(self) -> list:
        """Slots of inputs that a backward reads as they were before this call writes to them."""
        written = {-1 - part for position, _ in self.updates for part in (position, *self.joined.get(position, ()))}
        return [] if self.differential is None else [slot for slot, _ in self.differential.residuals if slot in written]

    @property
    def does_more(self) -> bool:
        """Whether a call does more than returning plain results."""
        does = self.updates or self.grads or self.hosts or self.turns or self.rebinds or self.retained or self.detached
        return bool(does) or self.differential is not None

    def has_order_of(self, recording) -> bool:
        """Return whether the results of a recording have the same order of dims in memory; with sizes of 1 there may be no
        telling."""
        return [o.order for _, o in self.outputs] == [o.order for o in recording.outputs]

    def hand_out(self, computed, wanted, needed):
        """Add the results that the last segment must give to `wanted`. Return for results, updates, gradients, host steps and
        replaced memory, in this order, the positions of their results; None for values that are kept by slot."""
        d = self.differential
        shared = set() if d is None else {slot for _, _, slot in d.shared}       # which results and inputs hold in the end
        residuals = [] if d is None else [slot for slot, _ in d.residuals if slot not in shared]
        taken, saved = set(), frozenset(residuals)

        def owned(slot, order=None, brief=False):
            is_free = slot not in computed and slot not in taken and slot not in saved
            if slot >= 0 and is_free and order is None:         # made before, in memory of its own
                taken.add(slot)
                needed.setdefault(slot, None)
                return None
            wanted.append(Result(slot, owned=True, order=order, brief=brief))
            return len(wanted) - 1

        self._late = {}
        results = [owned(slot, o.order) if o.source is None and o.part is None else None
                   for slot, o in self.outputs]
        updates = []
        for position, slot in self.updates:
            is_late = position in self.joined or position in self.shown
            wanted.append(Result(slot, owned=True, target=None if is_late else -1 - position))
            updates.append(len(wanted) - 1)
        grads = [None if g is None else [owned(slot, brief=True) if i is None else None
                                         for slot, i in zip(g.values, g.result_numbers)] for _, g in self.grads]
        hosts = []
        for _, slots in self.hosts:
            hosts.append(range(len(wanted), len(wanted) + len(slots)))
            wanted.extend([Result(slot, owned=True) for slot in slots])
        memory, wholes = [], {}         # views of one memory share it
        for _, slot, o in self.rebinds:
            at = wholes.get(slot) if o.whole is not None else None
            if at is None:
                at = owned(slot, o.order) if o.source is None and o.memory_of is None else None
            if o.whole is not None:
                wholes[slot] = at
            memory.append(at)
        for r in wanted:                # what was made before must still be there
            if r.slot >= 0 and r.slot not in computed:
                needed.setdefault(r.slot, None)
        needed.update(dict.fromkeys(residuals))
        self.held = tuple([slot for slot in (*taken, *residuals) if slot >= 0 and slot not in computed])
        return results, updates, grads, hosts, memory


def numbering(builder) -> dict:
    """Return a slot for each value: inputs count down from -1, results of nodes up from 0, both in order of appearance."""
    slots = {v: -1 - i for i, v in enumerate(builder.inputs)}
    for n in builder.nodes:
        for v in n.outputs:
            slots[v] = len(slots) - len(builder.inputs)
    return slots


def segments_of(recording, give=None) -> list:
    """Return a recording as a list of segments, the last one with its finish. With `give`, which replaces symbolic numbers, the
    segments serve only to compare signatures."""
    b, slots = recording.builder, numbering(recording.builder)
    bounds = [*[c.nodes for c in recording.cuts], len(b.nodes)]
    captured = {-1 - i: s.what for i, s in enumerate(recording.sources) if s.kind == "captured"}
    orders = {-1 - i: order for i, order in recording.orders.items()}
    made, start, known = [], 0, 0
    for i, (end, stage) in enumerate(zip(bounds, stages_of(recording))):
        nodes = b.nodes[start:end]
        used = [-1 - slots[x] for n in nodes for x in n.inputs if type(x) is Value and x.is_input]
        if i < len(recording.cuts) and recording.cuts[i].value.is_input:
            used.append(-1 - slots[recording.cuts[i].value])
        reach = len(b.inputs) if i == len(bounds) - 1 else max(max([known - 1, *used]) + 1, recording.cuts[i].inputs)
        sources = recording.sources[known:reach]
        own = {v for n in nodes for v in n.outputs}
        read = {x for n in nodes for x in n.inputs if type(x) is Value and x not in own}
        follows = any(not x.is_input for x in read)          # what a segment before it has made, on its device
        backend = next((at for n, at in recording.devices.items() if follows or b.inputs[n] in read), HOST)
        region = Region(f"{b.name}_{i}" if i else b.name, nodes, slots, captured, recording.scope, backend, orders, stage.count)
        region.limit = recording.limit
        made.append(Segment(sources, _signature(nodes, slots, sources, give), region, stage=stage))
        if i < len(recording.cuts):
            made[-1].question = (slots[recording.cuts[i].value], recording.cuts[i].how)
            made[-1].line, made[-1].place = recording.cuts[i].line, recording.cuts[i].place
        start, known = end, reach
    if give is None:
        made[-1].finish = _finish(recording, slots)
    return made


def _signature(nodes, slots, sources, give=None):
    def literal(x):
        return param_key(x if give is None else replaced(x, give))

    def operand(node, x):
        """Numbers take the dtype of the values that they meet, so an int is as good as the float that equals it."""
        x = x if give is None else replaced(x, give)
        if type(x) is int and abs(x) <= 1 << 53 and all(v.dtype.is_floating_point for v in node.inputs if type(v) is Value):
            x = float(x)
        return param_key(x)

    body = tuple([(n.op.name, tuple([("slot", slots[x]) if type(x) is Value else operand(n, x) for x in n.inputs]),
                   tuple([(name, literal(value)) for name, value in n.params.items()])) for n in nodes])
    return body, tuple([(s.kind, _what(s.what)) for s in sources])


def _what(x):
    """Return the identity of an input's source; a constant that the function made is identified by its content."""
    if isinstance(x, Tensor) and "is_constant" in x.__dict__:
        return x._a.shape, x._a.dtype.str, hashlib.sha256(x._a.tobytes()).digest()
    if type(x) is OptionNumber:
        return x.place
    return x if isinstance(x, (int, str, Draw, HostNumber)) else id(x)


def _finish(recording, slots):
    return Finish([(slots[o.value if o.whole is None else o.whole], o) for o in recording.outputs],
                  [(position, slots[v]) for position, v in recording.updates],
                  [(position, None if g is None else g.over(slots)) for position, g in recording.grads],
                  [(step, [slots[v] for v in values]) for step, values in recording.hosts],
                  recording.turns, recording.retained, recording.detached,
                  [(position, slots[o.value if o.whole is None else o.whole], o) for position, o in recording.rebinds],
                  Differential.of(recording, slots), recording.template,
                  parts_of(recording.outputs), recording.joined, frozenset(recording.shown),
                  recording.hosted, writes=recording.writes,
                  wholes=tuple([source.what[0] for source in [recording.sources[position] for position, _ in recording.updates]
                                if source.kind == "part"]))
