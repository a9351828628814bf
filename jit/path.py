"""Recorded paths through a function, merged into a tree and replayed.

A `Stretch` is the nodes between two places where Python read a value. It ends in a question (the value, whose answer
chooses the next stretch) or in a `Finish`: results, writes and gradients. Nothing is written before the finish, so a path
that meets an unseen answer leaves no trace, and the function can be recorded again from its start.
"""

from dataclasses import dataclass, field

import numpy as np

from ..ir.graph import Value
from ..ir.ops.shape import run_chain
from ..ir.params import params_key
from ..runtime.autograd.node import Leaf
from ..runtime.tensor import Tensor, wrap
from .differentiate import Differential, attach
from .execute import Piece, as_array
from .record import frozen_value


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


@dataclass
class Finish:
    """What a path leaves behind. Slots number the values."""

    outputs: list                # (slot, Output)
    updates: list                # (input position, slot)
    grads: list                  # (input position, slot or None)
    differential: Differential | None


def numbering(builder) -> dict:
    """A slot for each value: inputs count down from -1, results of nodes up from 0, both in order of appearance."""
    slots = {v: -1 - i for i, v in enumerate(builder.inputs)}
    for n in builder.nodes:
        for v in n.outputs:
            slots[v] = len(slots) - len(builder.inputs)
    return slots


def stretches_of(recording) -> list:
    """A recording as a list of stretches, the last one with its finish."""
    b, slots = recording.builder, numbering(recording.builder)
    bounds = [*[c.nodes for c in recording.cuts], len(b.nodes)]
    made, start, known = [], 0, 0
    for i, end in enumerate(bounds):
        nodes = b.nodes[start:end]
        used = [-1 - slots[x] for n in nodes for x in n.inputs if type(x) is Value and x.is_input]
        if i < len(recording.cuts) and recording.cuts[i].value.is_input:
            used.append(-1 - slots[recording.cuts[i].value])
        reach = len(b.inputs) if i == len(bounds) - 1 else max([known - 1, *used]) + 1
        sources = recording.sources[known:reach]
        keep = set(slots)
        made.append(Stretch(sources, _signature(nodes, slots, sources), Piece(nodes, slots, keep)))
        if i < len(recording.cuts):
            made[-1].question = (slots[recording.cuts[i].value], recording.cuts[i].how)
        start, known = end, reach
    made[-1].finish = _finish(recording, slots)
    return made


def _signature(nodes, slots, sources):
    body = tuple([(n.op.name, tuple([("slot", slots[x]) if type(x) is Value else x for x in n.inputs]), params_key(n.params))
                  for n in nodes])
    return body, tuple([(s.kind, s.what if isinstance(s.what, (int, str)) else id(s.what)) for s in sources])


def _finish(recording, slots):
    return Finish([(slots[o.value], o) for o in recording.outputs],
                  [(position, slots[v]) for position, v in recording.updates],
                  [(position, None if v is None else slots[v]) for position, v in recording.grads],
                  Differential.of(recording, slots))


class Tree:
    """All recorded paths that share Python state: a first stretch, and the answers that lead on."""

    def __init__(self, recording):
        stretches = stretches_of(recording)
        self.first = stretches[0]
        self._extend(self.first, stretches, recording.cuts)

    def merge(self, recording) -> bool:
        """Adds another path; False if it does not begin like the ones here."""
        stretches = stretches_of(recording)
        here, i = self.first, 0
        while True:
            if here.signature != stretches[i].signature or here.question != stretches[i].question:
                return False
            if i == len(recording.cuts):
                return True
            seen = recording.cuts[i].seen
            i += 1
            if seen not in here.answers:
                here.answers[seen] = stretches[i]
                self._extend(stretches[i], stretches[i:], recording.cuts[i:])
                return True
            here = here.answers[seen]

    @staticmethod
    def _extend(here, stretches, cuts):
        for cut, following in zip(cuts, stretches[1:]):
            here.answers[cut.seen] = following
            here = following

    def run(self, arguments):
        """Replays; returns the result tensors. Raises Unseen before anything was written."""
        replay = Replay(arguments)
        here = self.first
        try:
            while True:
                replay.go(here)
                if here.question is None:
                    return replay.commit(here.finish)
                answer = replay.answer(*here.question)
                if answer not in here.answers:
                    raise Unseen(here.question[1], answer)
                here = here.answers[answer]
        except BaseException:
            replay.roll_back()
            raise


class Replay:
    """One run along the tree."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.tensors = []        # the tensor behind each input, None for keys and scalars
        self.inputs = {}         # slot -> array, for inputs (negative) and results
        self.drawn = []          # (generator, state before)

    def go(self, stretch):
        """Takes in the stretch's inputs and runs its nodes."""
        for source in stretch.sources:
            tensor, array = self._resolve(source)
            self.tensors.append(tensor)
            self.inputs[-len(self.tensors)] = array
        stretch.piece.run(self.inputs)

    def _resolve(self, source):
        if source.kind == "argument":
            t = self.arguments[source.what]
            return t, t._a
        if source.kind == "captured":
            return source.what, source.what._a
        if source.kind == "grad":
            t = self.tensors[source.what]._node.grad
            return t, t._a
        if source.kind == "key":
            self.drawn.append((source.what, source.what.get_state()))
            return None, source.what.key()._a
        return None, np.asarray(source.what(), np.float64)

    def roll_back(self):
        """Gives drawn random keys back."""
        for generator, state in reversed(self.drawn):
            generator.set_state(state)

    def answer(self, slot, how):
        """What Python reads here."""
        a = as_array(self.inputs[slot])
        read = {"bool": lambda: bool(a.item()), "int": lambda: int(a.item()), "item": a.item, "tolist": a.tolist}.get(how)
        return frozen_value(a if read is None else read())

    def commit(self, finish):
        """Writes what the path writes and makes the result tensors."""
        env = self.inputs
        fresh = {position: np.array(env[slot], copy=True) for position, slot in finish.updates} if finish.updates else {}
        for position, value in fresh.items():
            t = self.tensors[position]
            np.copyto(t._a, value)
            t._storage.wrote("a traced function")
        for position, slot in finish.grads:
            leaf = self.tensors[position]._node
            if type(leaf) is Leaf:
                leaf.grad = None if slot is None else self._own(env[slot])
        made = {}
        results = [self._result(slot, o, made) for slot, o in finish.outputs]
        if finish.differential is not None:
            attach(finish.differential, self, results)
        return results

    def _own(self, value):
        """A tensor over an array of its own."""
        a = as_array(value)
        alone = a.flags.owndata and a.flags.c_contiguous and not any(a is x for x in self._outside())
        return wrap(a if alone else np.array(a, order="C"))

    def _outside(self):
        return [t._a for t in self.tensors if t is not None]

    def _result(self, slot, output, made) -> Tensor:
        if output.source is not None:
            t = self.tensors[output.source]
            return t if output.same else run_chain(t, output.chain)
        if slot not in made:
            made[slot] = self._own(self.inputs[slot])
            return made[slot]
        return wrap(made[slot]._a.copy())
