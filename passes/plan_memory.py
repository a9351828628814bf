"""Where the values of a fused graph live, and in which steps it runs.

Kernels that follow each other are one native call (a `Run`). A value that only kernels of one run see lies in that run's
arena, at an offset shared with values that are not alive at the same time. Everything else has memory of its own, from the
step that makes it to the last that reads it. An update may be written straight into the input that it replaces.
"""

import math
from dataclasses import dataclass, field

from ..ir.graph import Graph, Node, Value
from ..ir.kernel import Program, Slot, Step
from .fuse import fuse, own_results
from .kernel_body import is_free, source_of
from .lower import Lowered, lower
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
    program: Program | None = None
    dead: tuple = ()


@dataclass(eq=False)
class Call:
    """One node that is called on arrays: a contraction, a gather, a view that such a call takes, a fill."""

    node: Node
    refused: list = field(default_factory=list)
    dead: tuple = ()


@dataclass(frozen=True, eq=False)
class Plan:
    """Steps, and which values leave.

    graph      what is computed
    steps      Run or Call, in order; each knows the values that are dead after it
    in_place   {value: the input in whose memory it is written}
    """

    graph: Graph
    steps: tuple
    in_place: dict


def plan(graph: Graph, owned=frozenset(), targets=None) -> Plan:
    """The plan of a graph. Results at the positions `owned` get memory of their own; `targets` names, by position, the
    input that a result is to replace."""
    graph = own_results(graph, owned)
    steps, made = [], set()
    for g in fuse(graph):
        if g.is_kernel:
            if not steps or type(steps[-1]) is Call or _crowded(steps[-1]):
                steps.append(Run([], []))
            steps[-1].groups.append(g)
            steps[-1].kernels.append(lower(g.body))
        else:
            steps += _views(g.nodes[0].inputs, made)
            steps.append(Call(g.nodes[0], g.refused))
    steps += _views(graph.outputs, made)
    in_place = _in_place(graph, steps, targets or {})
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
    if type(step) is Call:
        return [x for x in step.node.inputs if type(x) is Value]
    return [v for k in step.kernels for v, _, written in k.operands if not written]


def _writes(step):
    if type(step) is Call:
        return list(step.node.outputs)
    return [v for k in step.kernels for v, _, written in k.operands if written]


# Updates in place.


def _in_place(graph, steps, targets):
    """Results that may be written into the memory of the input they replace: made by an elementwise kernel that reads the
    input only where it writes, after everything else has read it, with nothing to follow that may fail."""
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
    """(step, kernel) that stores a value, if a kernel without reductions does."""
    for i, s in enumerate(steps):
        for j, k in enumerate(s.kernels if type(s) is Run else ()):
            if any(v is value and written for v, _, written in k.operands):
                return (i, j) if not s.groups[j].reduced else None
    return None


def _is_last_reader(steps, at, target):
    plain = row_major(target.shape).plain
    for i, s in enumerate(steps):
        if type(s) is Call:
            if i > at[0] and any(source_of(v) is target for v in _reads(s)):
                return False
            continue
        for j, g in enumerate(s.groups):
            patterns = [p for v, p in g.body.loads if v is target]
            if patterns and (i, j) > at:
                return False
            if patterns and (i, j) == at and any(_flat(p) != _flat(plain) for p in patterns):
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
    last = {}
    for i, s in enumerate(steps):
        for v in _reads(s):
            last[v] = i
    forever = set(graph.outputs) | set(graph.inputs)
    behind = {}      # a view keeps the memory behind it: the arrays see to that themselves
    for i, s in enumerate(steps):
        if type(s) is Run:
            local = {v for v in _writes(s) if v not in forever and last.get(v, i) == i and v not in behind}
            _finish_run(graph, s, i, local, in_place)
            seen = dict.fromkeys([*s.reads, *s.writes])
        else:
            seen = dict.fromkeys([*_reads(s), *_writes(s)])
        s.dead = tuple([v for v in seen if v not in forever and last.get(v, i) <= i])


def _finish_run(graph, run, number, local, in_place):
    """The program of a run: slots, offsets, steps."""
    slots = {}
    arena = _arena(run, local, slots)
    run.reads = [v for v in dict.fromkeys(_reads(run)) if v not in local and v not in set(_writes(run))]
    run.writes = [v for v in dict.fromkeys(_writes(run)) if v not in local]
    order = {v: i for i, v in enumerate([*run.reads, *run.writes])}
    for v, target in in_place.items():
        if v in order and target in order:
            order[target] = order[v]
    run.reads = [v for v in run.reads if v not in in_place.values() or in_place_key(in_place, v) not in run.writes]
    order = {v: i for i, v in enumerate([*run.reads, *run.writes])}
    for v, target in in_place.items():
        if v in order:
            order[target] = order[v]
    steps = [Step(k.kernel, tuple([_slot(slots, order, v, offset) for v, offset, _ in k.operands]), k.symbols) for k in run.kernels]
    run.program = Program(f"{graph.name}_{number}", tuple(steps), slots, arena)


def in_place_key(in_place, target):
    """The value that is written into an input."""
    return next(v for v, t in in_place.items() if t is target)


def _slot(slots, order, value, offset):
    """The name of the slot of a value from an offset on."""
    name = next((n for n, s in slots.items() if n == f"t{id(value)}"), None)
    if name is not None:
        return name
    number = order[value]
    name = f"a{number}" if not offset else f"a{number}_{offset}"
    slots.setdefault(name, Slot("argument", number, value.aval.size * value.dtype.itemsize, offset * value.dtype.itemsize))
    return name
