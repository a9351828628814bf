"""Recorded paths through a function, merged into a tree and replayed.

A `Stretch` is the nodes between two places where Python read a value. It ends in a question (the value, whose answer
chooses the next stretch) or in a `Finish`: results, writes and gradients. Nothing is written before the finish, so a path
that meets an unseen answer leaves no trace, and the function can be recorded again from its start.
"""

import hashlib
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import numpy as np

from ..ir.graph import Value
from ..ir.ops.assign import run_chain
from ..ir.params import param_key
from ..ir.substitute import bound_values, has_symbols, replaced
from ..runtime.autograd.node import Leaf
from ..runtime.device import CPU
from ..runtime.device_array import DeviceArray
from ..runtime.placement import moved
from ..runtime.storage import user_line
from ..runtime.tensor import Tensor, wrap
from .differentiate import Differential, attach, used_up
from .execute import Job, Piece, Result
from .random_streams import Draw, Drawn
from .recording import OptionNumber
from .seen import frozen_value
from .symbolic_job import job_of

_array_of = attrgetter("_a")


class Outdated(Exception):
    """Another thread recorded a path that needs more of a stretch than this replay computed."""


class Environment(dict):
    """Slots and their arrays."""

    def __missing__(self, slot):
        raise Outdated(slot)


class Unseen(Exception):
    """Python would read a value for which no path is recorded."""

    def __init__(self, how, value):
        self.how, self.value = how, value


@dataclass
class Stretch:
    """Nodes, and what follows them."""

    sources: list                # the inputs that first appear here
    signature: tuple             # what the nodes are, to recognise the same stretch in another recording
    piece: Piece
    question: tuple | None = None            # (slot, how)
    answers: dict = field(default_factory=dict)
    finish: "Finish | None" = None
    work: "Work | None" = None
    cleared: tuple = ()          # positions of inputs whose gradient goes before anything is computed

    def __post_init__(self):
        self.is_plain = all(s.kind in ("argument", "captured") for s in self.sources)

    def settle(self) -> dict:
        """Finds out what this stretch has to give, for what now follows; returns the slots it needs from before."""
        needed = {}
        for following in self.answers.values():
            needed.update(following.settle())
        if self.question is not None:
            needed.setdefault(self.question[0], None)
        made, hand = self.piece.made, ()
        wanted: list = []
        if self.finish is not None:
            hand = self.finish.hand_out(made, wanted, needed)
        keep = []
        for slot in sorted(needed):
            if slot in made:
                keep.append((len(wanted), slot))
                wanted.append(Result(slot, owned=True))
        if self.work is None or self.work.job.wanted != tuple(wanted):
            self.work = Work(job_of(self.piece, wanted), tuple(keep), hand)
        return {s: None for s in (*needed, *self.piece.reads) if s >= 0 and s not in made}


@dataclass(frozen=True)
class Work:
    """A stretch's job, which of its results stay for later as (position, slot), and what its finish hands out."""

    job: Job
    keep: tuple
    hand: tuple


@dataclass
class Finish:
    """What a path leaves behind. Slots number the values."""

    outputs: list                # (slot, Output)
    updates: list                # (input position, slot)
    grads: list                  # (input position, slot or None)
    hosts: list                  # (host step, slots)
    rebinds: list                # (input position, slot, Output)
    differential: Differential | None
    outcome: Any

    def hand_out(self, made, wanted, needed):
        """Says which results the last stretch has to give so that all can be handed out; for each thing that leaves, in the
        order results, updates, gradients, host steps, memory that inputs get, the position of its result, or
        None where it is kept by slot."""
        taken = set()

        def owned(slot):
            if slot >= 0 and slot not in made and slot not in taken:   # made before, in memory of its own
                taken.add(slot)
                needed.setdefault(slot, None)
                return None
            wanted.append(Result(slot, owned=True))
            return len(wanted) - 1

        results = [owned(slot) if o.source is None else None for slot, o in self.outputs]
        updates = []
        for position, slot in self.updates:
            wanted.append(Result(slot, owned=True, target=-1 - position))
            updates.append(len(wanted) - 1)
        grads = [None if slot is None else owned(slot) for _, slot in self.grads]
        hosts = []
        for _, slots in self.hosts:
            hosts.append(range(len(wanted), len(wanted) + len(slots)))
            wanted.extend([Result(slot, owned=True) for slot in slots])
        memory = [owned(slot) if o.source is None else None for _, slot, o in self.rebinds]
        for r in wanted:                # what was made before must still be there
            if r.slot >= 0 and r.slot not in made:
                needed.setdefault(r.slot, None)
        for slot, _ in self.differential.residuals if self.differential is not None else ():
            needed.setdefault(slot, None)
        return results, updates, grads, hosts, memory


def numbering(builder) -> dict:
    """A slot for each value: inputs count down from -1, results of nodes up from 0, both in order of appearance."""
    slots = {v: -1 - i for i, v in enumerate(builder.inputs)}
    for n in builder.nodes:
        for v in n.outputs:
            slots[v] = len(slots) - len(builder.inputs)
    return slots


def stretches_of(recording, give=None) -> list:
    """A recording as a list of stretches, the last one with its finish; with `give`, only to compare signatures, in which
    that stands for symbolic numbers."""
    b, slots = recording.builder, numbering(recording.builder)
    bounds = [*[c.nodes for c in recording.cuts], len(b.nodes)]
    captured = {-1 - i: s.what for i, s in enumerate(recording.sources) if s.kind == "captured"}
    made, start, known = [], 0, 0
    for i, end in enumerate(bounds):
        nodes = b.nodes[start:end]
        used = [-1 - slots[x] for n in nodes for x in n.inputs if type(x) is Value and x.is_input]
        if i < len(recording.cuts) and recording.cuts[i].value.is_input:
            used.append(-1 - slots[recording.cuts[i].value])
        reach = len(b.inputs) if i == len(bounds) - 1 else max([known - 1, *used]) + 1
        sources = recording.sources[known:reach]
        own = {v for n in nodes for v in n.outputs}
        read = {x for n in nodes for x in n.inputs if type(x) is Value and x not in own}
        follows = any(not x.is_input for x in read)          # what a stretch before it has made, on its device
        backend = next((at for n, at in recording.devices.items() if follows or b.inputs[n] in read), None)
        piece = Piece(f"{b.name}_{i}" if i else b.name, nodes, slots, captured, recording.scope, backend)
        made.append(Stretch(sources, _signature(nodes, slots, sources, give), piece))
        if i < len(recording.cuts):
            made[-1].question = (slots[recording.cuts[i].value], recording.cuts[i].how)
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
    """What identifies the source of an input: a constant that the function made is known by what it holds."""
    if isinstance(x, Tensor) and "is_constant" in x.__dict__:
        return x._a.shape, x._a.dtype.str, hashlib.sha256(x._a.tobytes()).digest()
    if type(x) is OptionNumber:
        return x.place
    return x if isinstance(x, (int, str, Draw)) else id(x)


def _finish(recording, slots):
    return Finish([(slots[o.value], o) for o in recording.outputs],
                  [(position, slots[v]) for position, v in recording.updates],
                  [(position, None if v is None else slots[v]) for position, v in recording.grads],
                  [(step, [slots[v] for v in values]) for step, values in recording.hosts],
                  [(position, slots[o.value], o) for position, o in recording.rebinds],
                  Differential.of(recording, slots), recording.outcome)


class Tree:
    """All recorded paths that share Python state: a first stretch, and the answers that lead on."""

    def __init__(self, recording):
        stretches = stretches_of(recording)
        self.first = stretches[0]
        self._extend(self.first, stretches, recording.cuts)
        if self.first.question is None:
            self.first.cleared = tuple(recording.cleared)
        self.first.settle()

    def merge(self, recording, before) -> bool:
        """Adds another path, once `before` was called; False if it does not begin like the ones here."""
        stretches = stretches_of(recording)
        here, i = self.first, 0
        while True:
            if here.signature != stretches[i].signature or here.question != stretches[i].question:
                return False
            if i == len(recording.cuts):
                if here.finish.outcome != recording.outcome:
                    return False
                before()
                return True
            seen = recording.cuts[i].seen
            i += 1
            if seen not in here.answers:
                before()
                self._extend(stretches[i], stretches[i:], recording.cuts[i:])
                stretches[i].settle()               # other threads may take it as soon as it is an answer
                here.answers[seen] = stretches[i]
                self.first.settle()
                return True
            here = here.answers[seen]

    def agrees(self, recording, give) -> bool | None:
        """Whether a recording with symbolic sizes, for those that `give` puts in, is a path of this tree; None if Python saw
        other values, so that nothing is known."""
        here = self.first
        for i, stretch in enumerate(stretches_of(recording, give)):
            if here.signature != stretch.signature or here.question != stretch.question:
                return False
            if i == len(recording.cuts):
                return True
            following = here.answers.get(recording.cuts[i].seen)
            if following is None:
                return None
            here = following
        return None

    @staticmethod
    def _extend(here, stretches, cuts):
        for cut, following in zip(cuts, stretches[1:]):
            here.answers[cut.seen] = following
            here = following

    def run(self, arguments, symbols=()):
        """Replays; returns the result tensors, and the outcome that they are for. Raises Unseen before anything was written."""
        while True:
            replay = Replay(arguments, symbols)
            try:
                return self._follow(replay)
            except Outdated:
                replay.roll_back()
            except BaseException:
                replay.roll_back()
                raise

    def straight(self, symbols=()):
        """(inputs, compiled graph, what it reads that is made of weights alone, positions of its results) of a tree that is one
        stretch without writes, gradients or draws, once that is compiled; inputs are numbers of arguments, and captured
        tensors. Else None."""
        here, work = self.first, self.first.work
        finish, (compiled, derived) = here.finish, work.job.ready(symbols) or (None, None)
        plain = here.question is None and compiled is not None and compiled.is_native
        if not plain or finish.updates or finish.grads or finish.hosts or finish.rebinds or finish.differential is not None:
            return None
        if not here.is_plain or any(o.source is not None or o.freed or o.device is not None for _, o in finish.outputs):
            return None
        return [here.sources[-1 - slot].what for slot in work.job.slots], compiled, derived, work.hand[0]

    def _follow(self, replay):
        here = self.first
        while True:
            work = here.work
            found = replay.go(here, work)
            if here.question is None:
                return replay.commit(here.finish, work, found), here.finish.outcome
            answer = replay.answer(*here.question)
            if answer not in here.answers:
                raise Unseen(here.question[1], answer)
            here = here.answers[answer]


class Replay:
    """One run along the tree."""

    __slots__ = ("arguments", "drawn", "env", "symbols", "tensors")

    def __init__(self, arguments, symbols=()):
        self.arguments = arguments
        self.symbols = symbols   # the values of symbolic sizes and numbers
        self.tensors = []        # the tensor behind each input, None for keys and scalars
        self.env = Environment() # slot -> array, for inputs (negative) and results
        self.drawn = Drawn()     # random keys

    def go(self, stretch, work):
        """Takes in the stretch's inputs and runs its nodes."""
        tensors, env = self.tensors, self.env
        if stretch.is_plain:
            given = self.arguments
            found = [given[s.what] if s.kind == "argument" else s.what for s in stretch.sources]
            env.update(zip(range(-1 - len(tensors), -1 - len(tensors) - len(found), -1), map(_array_of, found)))
            tensors += found
            return self._run(stretch, work)
        for source in stretch.sources:
            kind = source.kind
            if kind == "argument":
                t = self.arguments[source.what]
                array = t._a
            elif kind == "captured":
                t = source.what
                array = t._a
            else:
                t, array = self._resolve(source)
            tensors.append(t)
            env[-len(tensors)] = array
        return self._run(stretch, work)

    def _run(self, stretch, work):
        for position in stretch.cleared:          # its memory is free for what is computed now
            leaf = self.tensors[position]._node
            if type(leaf) is Leaf:
                leaf.grad = None
        found = work.job.run(self.env, self.symbols)
        for position, slot in work.keep:
            self.env[slot] = found[position]
        return found

    def _resolve(self, source):
        if source.kind == "grad":
            t = self.tensors[source.what]._node.grad
            return t, t._a
        if source.kind == "key":
            return None, self.drawn.key(source.what)
        return None, np.asarray(source.what(), np.float64)

    def roll_back(self):
        """Gives drawn random keys back."""
        self.drawn.give_back()

    def answer(self, slot, how):
        """What Python reads here."""
        a = self.env[slot]
        read = {"bool": lambda: bool(a.item()), "int": lambda: int(a.item()), "float": lambda: float(a.item()),
                "item": a.item, "tolist": a.tolist}.get(how)
        return frozen_value(a if read is None else read())

    def commit(self, finish, work, found):
        """Writes what the path writes and makes the result tensors."""
        results, updates, grads, hosts, memory = work.hand
        for (step, _), places in zip(finish.hosts, hosts):
            step.run([found[at] for at in places], self.symbols)
        if updates:
            self._write(finish, work.job.in_place(self.symbols), updates, found)
        for (position, slot), at in zip(finish.grads, grads):
            leaf = self.tensors[position]._node
            if type(leaf) is Leaf:
                leaf.grad = None if slot is None else wrap(self._value(slot, at, found))
        made = [self._result(slot, o, at, found) for (slot, o), at in zip(finish.outputs, results)]
        if finish.differential is not None:
            attach(finish.differential, self, made, [position for position, _ in finish.updates])
        if finish.rebinds:
            self._rebind([(position, self._result(slot, o, at, found)) for (position, slot, o), at in
                          zip(finish.rebinds, memory)])
        return made

    def _rebind(self, pairs):
        """`t.data = new` for (position of the input t, new), all at once."""
        new = [(self.tensors[position], t._a, t._storage, t._base, t._path) for position, t in pairs]
        for t, *memory in new:
            t._a, t._storage, t._base, t._path = memory

    def _write(self, finish, in_place, updates, found):
        line = user_line()
        for (position, _), at in zip(finish.updates, updates):
            t = self.tensors[position]
            if at not in in_place:
                np.copyto(t._a, found[at])
            t._storage.version += 1
            t._storage.writer = ("a traced function", *line)

    def plain(self, x):
        """Plain data with the values of this run for symbolic numbers."""
        return bound_values(x, self.symbols) if has_symbols(x) else x

    def _value(self, slot, at, found):
        return self.env[slot] if at is None else found[at]

    def _result(self, slot, output, at, found) -> Tensor:
        if output.source is not None:
            t = self.tensors[output.source]
            return t if output.same else run_chain(t, self.plain(output.chain))
        t = wrap(self._value(slot, at, found))
        if (output.device is None) == (t._a.__class__ is DeviceArray):
            t = moved(t, output.device or CPU)      # (a job runs in one place, whatever of it was made elsewhere)
        if output.freed:
            t._node = used_up(t._a)
        return t
