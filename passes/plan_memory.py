"""Where the values of a fused graph live, and in which steps it runs.

Kernels that follow each other are one native call (a `Run`). A value that only kernels of one run see lies in that run's
arena, at an offset shared with values that are not alive at the same time. Everything else has memory of its own, from the
step that makes it to the last that reads it. An update may be written straight into the input that it replaces.
"""

import math
from dataclasses import dataclass, field
from typing import Any

from ..ir.graph import Graph, Node, Value
from ..ir.kernel import Program, Slot, Step
from .fuse import fuse, own_results
from .fuse_epilogue import Epilogue, fuse_epilogues
from .kernel_body import is_free, source_of
from .lower import lower
from .strided import row_major

LINE = 64               # bytes on which values of the arena start
STAGGER = 5 * LINE      # what keeps values of a page's multiple from lying on the same lines of the cache
MOST_ARGUMENTS = 400    # of one native call


@dataclass(eq=False)
class Run:
    """Kernels in one native call. `reads` and `writes` are the program's arguments, in that order."""

    kernels: list
    groups: list
    reads: list = field(default_factory=list)
    writes: list = field(default_factory=list)
    program: Any = None     # the Program, once memory is placed
    dead: tuple = ()


@dataclass(eq=False)
class Call:
    """One node that is called on arrays: a contraction, a gather, a view that such a call takes, a fill."""

    node: Node
    refused: list = field(default_factory=list)
    dead: tuple = ()


@dataclass(eq=False)
class Product:
    """A matrix product with what follows it."""

    epilogue: Epilogue
    dead: tuple = ()

    @property
    def node(self) -> Node:
        """The product itself."""
        return self.epilogue.node


@dataclass(frozen=True, eq=False)
class Plan:
    """Steps, and which values leave.

    graph      what is computed
    steps      Run, Product or Call, in order; each knows the values that are dead after it
    in_place   {value: the input in whose memory it is written}
    """

    graph: Graph
    steps: tuple
    in_place: dict


def plan(graph: Graph, owned=frozenset(), targets=None) -> Plan:
    """The plan of a graph. Results at the positions `owned` get memory of their own; `targets` names, by position, the
    input that a result is to replace."""
    graph, targets = own_results(graph, owned), targets or {}
    steps: list[Any] = []
    made: set = set()
    replacing = frozenset([graph.outputs[i] for i in targets])
    groups = fuse(graph, replacing)
    for g in fuse_epilogues(groups, {source_of(v) for v in graph.outputs}, replacing):
        if type(g) is Epilogue:
            steps += [*_views(g.node.inputs, made), Product(g)]
        elif g.is_kernel:
            if not steps or type(steps[-1]) is not Run or _crowded(steps[-1]):
                steps.append(Run([], []))
            steps[-1].groups.append(g)
            steps[-1].kernels.append(lower(g.body))
        else:
            steps += _views(g.nodes[0].inputs, made)
            steps.append(Call(g.nodes[0], g.refused))
    steps += _views(graph.outputs, made)
    in_place = _in_place(graph, steps, targets)
    _place_all(graph, steps, in_place)
    return Plan(graph, tuple(steps), in_place)


def _crowded(run):
    return sum(len(k.operands) for k in run.kernels) > MOST_ARGUMENTS


def _views(values, made):
    """Calls that make views and fills which something outside of kernels takes."""
    steps = []
    for v in values:
        chain = []
        while type(v) is Value and is_free(v) and v not in made:
            made.add(v)
            chain.append(Call(v.node))
            v = v.node.inputs[0]
        steps += chain[::-1]
    return steps


def _reads(step):
    """The values in memory that a step reads."""
    if type(step) is not Run:
        beside = [v for v, *_ in step.epilogue.operands if v not in step.epilogue.others] if type(step) is Product else []
        return [*[x for x in step.node.inputs if type(x) is Value], *beside]
    return [v for k in step.kernels for v, _, written in k.operands if not written]


def _writes(step):
    if type(step) is not Run:
        return [step.epilogue.result, *step.epilogue.others] if type(step) is Product else list(step.node.outputs)
    return [v for k in step.kernels for v, _, written in k.operands if written]


# Updates in place.


def _in_place(graph, steps, targets):
    """Results that may be written into the memory of the input they replace: made element by element from what the input
    holds there, after everything else has read it, with nothing to follow that may fail."""
    found = {}
    last_call = max((i for i, s in enumerate(steps) if type(s) is Call and not is_free(s.node.outputs[0])), default=-1)
    for position, number in targets.items():
        value, target = graph.outputs[position], graph.inputs[number]
        if value.aval != target.aval or graph.outputs.count(value) > 1 or _leaves(graph, target):
            continue
        at = _maker(steps, value)
        if at is not None and at[0] > last_call and _is_last_reader(steps, at, target):
            found[value] = target
    return found


def _leaves(graph, target):
    return any(source_of(v) is target for v in graph.outputs)


def _maker(steps, value):
    """(step, kernel) that stores a value, if a kernel without reductions or the epilogue of a product does."""
    for i, s in enumerate(steps):
        if type(s) is Product and value in s.epilogue.others:
            return i, 0
        for j, g in enumerate(s.groups if type(s) is Run else ()):
            if value in g.body.results:
                return (i, j) if not g.reduced else None
    return None


def _is_last_reader(steps, at, target):
    """Whether nothing reads an input after the kernel at `at`, and that kernel only where it writes."""
    plain = _flat(row_major(target.shape).plain)
    for i, s in enumerate(steps[at[0]:], at[0]):
        called = [x for x in s.node.inputs if type(x) is Value] if type(s) is not Run else []
        if any(source_of(v) is target for v in called):
            return False
        groups = s.groups if type(s) is Run else [s.epilogue.group] if type(s) is Product else []
        for j, g in enumerate(groups):
            patterns = [p for v, p in g.body.loads if v is target]
            if (i, j) > at and patterns:
                return False
            if (i, j) == at and any(_flat(p) != plain for p in patterns):
                return False
    return True


def _flat(p):
    """A pattern with nothing but its order of elements."""
    sizes = [(n, s) for n, s in zip(p.shape, p.strides) if n != 1]
    step, order = 1, True
    for n, s in reversed(sizes):
        order, step = order and s == step, step * n
    return p.offset, order, math.prod(p.shape)


# Memory.


def _place_all(graph, steps, in_place):
    """Gives runs their programs, and each step the values that are dead after it."""
    last = {}
    for i, s in enumerate(steps):
        for v in _reads(s):
            last[v] = i
    forever = set(graph.outputs) | set(graph.inputs)
    for i, s in enumerate(steps):
        if type(s) is Run:
            local = [v for v in dict.fromkeys(_writes(s)) if v not in forever and last.get(v, i) == i]
            _finish_run(f"{graph.name}_{i}", s, local, in_place)
            seen = [*s.reads, *s.writes]
        else:
            seen = [*_reads(s), *_writes(s)]
        s.dead = tuple([v for v in dict.fromkeys(seen) if v not in forever and last.get(v, i) <= i])


def _finish_run(name, run, local, in_place):
    """The program of a run: arguments, arena, steps."""
    inside, made = set(local), dict.fromkeys(_writes(run))
    run.writes = [v for v in made if v not in inside]
    replaced = {in_place[v] for v in run.writes if v in in_place}
    run.reads = [v for v in dict.fromkeys(_reads(run)) if v not in made and v not in replaced]
    number = {v: i for i, v in enumerate([*run.reads, *run.writes])}
    number.update({in_place[v]: number[v] for v in run.writes if v in in_place})
    arena, size = _arena(run, inside)
    slots, steps = {}, []
    for k in run.kernels:
        names = []
        for v, offset, _ in k.operands:
            start = offset * v.dtype.itemsize
            kind, where = ("arena", arena[v] + start) if v in arena else ("argument", number[v])
            slot = Slot(kind, where, v.aval.size * v.dtype.itemsize, 0 if kind == "arena" else start)
            within = f"_{slot.offset}" if slot.offset else ""
            names.append(f"{'a' if kind == 'argument' else 'm'}{slot.where}{within}_{slot.bytes}")
            slots[names[-1]] = slot
        steps.append(Step(k.kernel, tuple(names), k.symbols))
    run.program = Program(name, tuple(steps), slots, size)


def _arena(run, inside):
    """({value: offset}, size): values of the arena, those that are alive at the same time apart from each other."""
    first, last = {}, {}
    for j, k in enumerate(run.kernels):
        for v, _, _ in k.operands:
            if v in inside:
                first.setdefault(v, j)
                last[v] = j
    found, size = {}, 0
    for v in sorted(inside, key=first.__getitem__):
        busy = sorted([(found[w], found[w] + _room(w)) for w in found if first[w] <= last[v] and first[v] <= last[w]])
        at = 0
        for low, high in busy:
            if at + _room(v) <= low:
                break
            at = max(at, high)
        found[v] = at
        size = max(size, at + _room(v))
    return found, size


def _room(value):
    """Bytes that a value takes in the arena."""
    size = -(-value.aval.size * value.dtype.itemsize // LINE) * LINE
    return size + STAGGER if size >= 4096 else size
