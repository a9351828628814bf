"""Batches small kernels that do the same into one launch: updates of parameters, casts of weights, norms of gradients.

A launch costs a device about as much as some megabytes. A small step waits here until its result is needed, or until as many
like it wait as one launch serves; later ones that could run as well go along. The last launch of kernels over long, split rows,
which makes the row values (a sum, a parameter's update), is batched likewise.
"""

import functools
from collections import Counter
from dataclasses import dataclass
from typing import Any

from ...ir.graph.graph import Graph
from ...ir.kernel.kernel import LOAD, POINT, STORE, Kernel, buffer_of
from ...ir.ops.core.shape import later
from ...ir.symbols.substitute import is_same
from ...ir.symbols.symbolic import judged
from ..codegen.triton.ir.source import POINTER
from ..codegen.triton.loops import configs
from ..codegen.triton.loops.multi_tensor import SLOTS
from ..fusion.fuse import waits_for
from ..rewrite.kernel_body import source_of

SMALL = 6 << 20         # bytes that a device moves while it begins a launch
EVEN = 4                # elements that sizes are multiples of where vectors are whole
_ROOM = 3072            # bytes of parameters, of the 4096 there are


@dataclass(eq=False)
class EndStep:
    """The last launch of a kernel over split rows, which waits for others like it."""

    step: Any
    dead: tuple = ()

    @property
    def lowered(self):
        """Return the kernel with its operands."""
        return self.step.lowered

    @property
    def reads(self) -> list:
        return [v for v, written in self._operands() if not written]

    @property
    def writes(self) -> list:
        return [v for v, written in self._operands() if written]

    def _operands(self):
        kernel, operands = self.lowered.kernel, self.lowered.operands
        names = names_at_end(kernel)
        return [(v, written) for b, (v, _, written) in zip(kernel.buffers, operands) if b.name in names]


@dataclass(eq=False)
class ManyStep:
    """Kernels of one kind in one launch.

    steps   each of them
    over    (buffer of a result, buffer of the operand in whose memory it lies) of each
    shared  buffers that are the same in all
    slots   how many fit into a launch
    """

    steps: tuple
    over: tuple
    shared: frozenset
    slots: int
    dead: tuple = ()

    @property
    def reads(self) -> list:
        return [v for s in self.steps for v in s.reads]

    @property
    def writes(self) -> list:
        return [v for s in self.steps for v in s.writes]


@dataclass(frozen=True)
class _Kind:
    """The key of kernels (by identity) that share a launch; `evens`: sizes are multiples of EVEN; `slots`: how many fit."""

    kernel: int
    constants: tuple
    warps: int
    how: tuple
    over: tuple
    evens: tuple
    slots: int


def batch_launches(graph: Graph, steps, kernels, in_place: dict, parts: dict) -> list:
    """Return the steps, with small alike `kernels`, and ends of others, in one launch.

    `in_place` names the input in whose memory a value is written, `parts` has values that are parts of concats.
    """
    waited = {source_of(n.inputs[1]) for n in graph.nodes if n.op is later}
    times = Counter([id(s.lowered.kernel) for s in kernels])
    kinds: dict = {}
    for s in kernels:
        if times[id(s.lowered.kernel)] > 1 and waited.isdisjoint(s.writes) and not any(waits_for(n) for n in s.group.nodes):
            found, kind = _kind(s, in_place, parts)
            if kind is not None:
                kinds.setdefault(kind, []).append(found)
    alike = {s: kind for kind, found in kinds.items() if len(found) > 1 < kind.slots for s in found}
    if not alike:
        return list(steps)
    ends = {s.step: s for s in alike if type(s) is EndStep}
    for s in ends:
        s.ends_apart = True
    steps = [x for s in steps for x in ((s, ends[s]) if s in ends else (s,))]
    return _Gathering(steps, alike, kinds, _needs(steps, in_place)).steps


def _kind(step, in_place, parts) -> tuple:
    """Return (small kernel or end of another, its kind); (the step, None) for others."""
    lowered = step.lowered
    sizes = {name: judged(n) for name, n in lowered.symbols.items()}
    launches = configs.launches(lowered.kernel, sizes, apart=reads_first(lowered, in_place), among=True)
    found, one = step, launches[-1]
    if len(launches) > 1:
        if not configs.is_end(one) or not parts.keys().isdisjoint(step.writes):
            return step, None
        found = EndStep(step)
    values = [v for v, _, _ in lowered.operands] if found is step else [*found.reads, *found.writes]
    if sum([judged(v.aval.size) * v.dtype.itemsize for v in values]) > SMALL:
        return step, None
    over = _over(lowered, in_place, {p.name for p in one.source.parameters})
    pointers = sum(p.kind == POINTER for p in one.source.parameters) - len(over)
    slots = min(SLOTS, _ROOM // (8 * pointers + 4 * (len(sizes) + 1)))
    evens = tuple([n % EVEN == 0 for n in sizes.values()])
    return found, _Kind(id(lowered.kernel), one.constants, one.warps, one.how, over, evens, slots)


@functools.lru_cache(1024)
def names_at_end(kernel: Kernel) -> frozenset:
    """Return the buffers that a kernel with reduced dims reads and writes once for each row."""
    points = [i for s in kernel.stages if s.over == POINT for i in s.body]
    return frozenset([buffer_of(i) for i in points if i.op in (LOAD, STORE)])


def reads_first(lowered, in_place) -> bool:
    """Return whether all threads of a program must read before any writes.

    A result lies in an operand's memory, and threads may be laid out in several ways, as elements have several sizes.
    """
    over = any(v in in_place for v, _, written in lowered.operands if written)
    return over and len({v.dtype.itemsize for v, _, _ in lowered.operands if judged(v.aval.size) > 1}) > 1


def _over(lowered, in_place, names) -> tuple:
    """Return (buffer of a result, buffer of the operand whose memory it takes) of a kernel, of those in `names`."""
    named = [(b.name, v) for b, v in zip(lowered.kernel.buffers, lowered.operands) if b.name in names]
    read = {v: name for name, (v, offset, written) in reversed(named) if not written and is_same(offset, 0)}
    return tuple([(name, read[in_place[v]]) for name, (v, _, written) in named if written and in_place.get(v) in read])


def _needs(steps, in_place) -> dict:
    """Return the steps that precede each, in a fixed order: makers of its operands, and readers of memory it overwrites."""
    makers = {v: s for s in steps for v in s.writes}
    readers: dict = {}
    found: dict = {}
    for s in steps:
        for v in s.reads:
            readers.setdefault(v, []).append(s)
        found[s] = {makers[v]: None for v in s.reads if v in makers and makers[v] is not s}
        if type(s) is EndStep:
            found[s][s.step] = None
    held: dict = {}                 # what lay in the memory of an input, first to last
    for v, target in in_place.items():
        maker = makers[v]
        before = held.setdefault(target, [target])
        own = (maker, maker.step) if type(maker) is EndStep else (maker,)
        for s in own:               # (sizes may leave nothing to the end: all is written before it then)
            found[s] |= {r: None for x in before for r in readers.get(x, ()) if r not in own}
        before.append(v)
    return found


class _Gathering:
    """A reordering of steps: `alike` has the kind of waiting steps, `kinds` all of a kind, `needs` the predecessors of each."""

    def __init__(self, steps, alike, kinds, needs):
        self.alike, self.kinds, self.needs = alike, kinds, needs
        self.steps: list = []
        self.done: set = set()
        self.waiting: dict = {}         # kind -> the steps that wait
        for s in steps:
            if s not in self.done:
                self.come(s)
        for kind in list(self.waiting):
            self.run(kind)

    def come(self, step):
        """Take a step's turn: all its predecessors have run when it is over."""
        for s in self.needs[step]:
            if s not in self.done:
                self.run(self.alike[s])
        kind = self.alike.get(step)
        if kind is None:
            self.steps.append(step)
            self.done.add(step)
            return
        waiting = self.waiting.setdefault(kind, [])
        waiting.append(step)
        if len(waiting) == kind.slots:
            self.run(kind)

    def run(self, kind):
        """Run the waiting steps of a kind, and with them the next ones that could run."""
        found = self.waiting.pop(kind)
        for s in self.kinds[kind]:
            if len(found) == kind.slots:
                break
            if s not in self.done and s not in found and self.done.issuperset(self.needs[s]):
                found.append(s)
        self.done.update(found)
        self.steps.append(found[0] if len(found) == 1 else ManyStep(tuple(found), kind.over, _shared(found), kind.slots))


def _shared(steps) -> frozenset:
    columns = zip(*[s.lowered.operands for s in steps])
    names = [b.name for b in steps[0].lowered.kernel.buffers]
    return frozenset([name for name, ((v, offset, _), *others) in zip(names, columns)
                      if all(other is v and is_same(o, offset) for other, o, _ in others)])
