"""Memory plan of a fused graph: its steps, and the place of each value.

`arrange` gives the steps of a graph in order: fused kernels, products with their epilogues, called nodes. It looks at sizes
only to judge profit, so an arrangement serves other sizes too. `place` makes a plan of it for known sizes: consecutive native
steps are one native call (a `Run`). A value that only one run sees lies in that run's arena, at an offset shared with values of
other lifetimes. Everything else has memory of its own, from its maker to its last reader. An update may be written straight
into the input that it replaces.
"""

import bisect
import heapq
import itertools
from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple

from ...ir.graph.graph import Graph, Value
from ...ir.ops.index.indexing import in_range
from ..fusion.fuse import Group, fuse, own_results
from ..fusion.fuse_epilogue import Epilogue, fuse_epilogues
from ..fusion.lower import lower
from ..fusion.recompute import ON_CPU, join_sums, recompute
from ..rewrite.kernel_body import is_free, source_of
from .inplace_updates import in_place
from .plan_steps import LINE, Call, Fused, Plan, Product, Run, reads_of, values_of, writes_of

STAGGER = 5 * LINE      # what keeps values of a page's multiple from lying on the same lines of the cache
_WORTH_A_SECOND_TRY = 1 << 20           # bytes of an arena, and
_WASTE = 1.04                           # times what is alive at once, from which a closer fit is looked for
MOST_ARGUMENTS = 4000   # of one native call


def plan(graph: Graph, owned=frozenset(), targets=None, scratch_of: Callable | None = None) -> Plan:
    """Return the placed arrangement of a graph with known sizes."""
    return place(arrange(graph, owned, targets), scratch_of)


def arrange(graph: Graph, owned=frozenset(), targets=None) -> Plan:
    """Return the steps of a graph.

    Results at the positions `owned` get memory of their own; `targets` names, by position, the input that a result is to
    replace.
    """
    graph, targets = own_results(graph, owned), targets or {}
    steps: list[Any] = []
    replacing = frozenset([graph.outputs[i] for i in targets])
    for g in _lighter(fuse_epilogues(fuse(graph, replacing), {source_of(v) for v in graph.outputs}, replacing), graph):
        if type(g) is Epilogue:
            steps.append(Product(g))
        else:
            steps.append(Fused(g, lower(g.body)) if g.is_kernel else Call(g.nodes[0], g.refused))
    steps = _late(graph, steps)
    return Plan(graph, tuple(steps), in_place(graph, steps, targets))


def _lighter(groups, graph) -> list:
    """Return the groups with kernels that read less; those inside products stay there."""
    products = {Group(list(g.nodes)): g for g in groups if type(g) is Epilogue}
    stands_for = {g: alone for alone, g in products.items()}
    found = recompute([stands_for.get(g, g) for g in groups], {*graph.outputs, *map(source_of, graph.outputs)}, worth=ON_CPU)
    return [products.get(g, g) for g in join_sums(found)]


def _late(graph, steps):
    """Move steps on inputs alone (packed weights) before their first reader, to save memory; checks of indices go first, with
    the integers that they need."""
    inputs, makers = set(graph.inputs), {}
    ordered = _checks(graph, steps)
    for s in steps:
        if s not in ordered and inputs.issuperset(reads_of(s)) and (type(s) is Fused or s.node.is_pure):
            makers.update(dict.fromkeys(writes_of(s), s))
    for s in steps:
        if s not in makers.values():
            ordered.update(dict.fromkeys([makers[v] for v in reads_of(s) if v in makers]))
            ordered[s] = None
    return [*ordered, *[s for s in steps if s not in ordered]]


def _checks(graph, steps) -> dict:
    """Return the steps that check indices, each behind the steps that it needs, as keys; without those that need floats, which
    may be large, or steps with effects."""
    makers = {v: s for s in steps for v in writes_of(s)}
    numbers = {s: i for i, s in enumerate(steps)}
    ordered: dict = {}
    for check in [s for s in steps if type(s) is Call and s.node.op is in_range]:
        needed, open_steps = {check}, [check]
        while open_steps:
            more = {makers[v] for v in reads_of(open_steps.pop()) if v in makers} - needed
            needed |= more
            open_steps += more
        if all((type(s) is Fused or s.node.is_pure) and all(not v.aval.dtype.is_floating_point for v in writes_of(s))
               for s in needed):
            ordered.update(dict.fromkeys(sorted(needed, key=numbers.__getitem__)))
    return ordered


def place(schedule: Plan, scratch_of: Callable | None = None, over_of: Callable | None = None,
          room: Callable | None = None) -> Plan:
    """Return the plan of a schedule: the steps of `arrange`, with locations in memory.

    `scratch_of` gives the bytes that a native product or node needs while it runs; None for one that Python must call, as all
    are without `scratch_of`. `over_of` gives, for a native step, {result: the operand in whose memory it may be written};
    `room` the bytes of a value whose size is symbolic.
    """
    graph, made, steps, arguments = schedule.graph, set(), [], 0
    ends = {s: (reads_of(s), writes_of(s)) for s in schedule.steps}
    for s in schedule.steps:
        need = 0 if type(s) is Fused else scratch_of(s) if scratch_of is not None else None
        if need is None:
            steps += [*_views(s.node.inputs, made), copy(s)]        # what is dead after it is this plan's
            continue
        if not steps or type(steps[-1]) is not Run or arguments > MOST_ARGUMENTS:
            steps.append(Run([]))
            arguments = 0
        steps[-1].steps.append(s)
        arguments += sum(map(len, ends[s]))
        if need:
            steps[-1].scratch[s] = need
        if over_of is not None and type(s) is not Fused:
            steps[-1].over.update(over_of(s))
    steps += _views(graph.outputs, made)
    _place_all(graph, steps, schedule.in_place, ends)
    for s in steps:
        if type(s) is Run:
            lay_out(s, s.scratch, room or room_of)
    return Plan(graph, tuple(steps), schedule.in_place)


def _views(values, done):
    """Return calls that make the views and fills for steps outside of kernels."""
    steps = []
    for v in values:
        chain = []
        while type(v) is Value and is_free(v) and v not in done:
            done.add(v)
            chain.append(Call(v.node))
            v = v.node.inputs[0] if v.node.inputs else None
        steps += chain[::-1]
    return steps


# Memory.


def _place_all(graph, steps, targets, ends):
    """Give runs arguments and arenas, steps dead values; `targets`: inputs written over, `ends`: (reads, writes) of a step."""
    last = {}
    for i, s in enumerate(steps):
        for v in _touched(s, ends):
            last[v] = i
    forever = set(graph.outputs) | set(graph.inputs)
    for i, s in enumerate(steps):
        if type(s) is Run:
            made = dict.fromkeys([v for each in s.steps for v in ends[each][1]])
            inside = {v for v in made if v not in forever and v not in targets and last[v] == i}
            _finish_run(s, made, inside, targets, ends)
            seen = [*s.reads, *s.writes, *[v for v in made if v in targets]]
        else:
            seen = _touched(s, ends)
        s.dead = tuple([v for v in dict.fromkeys(seen) if v not in forever and last[v] == i])


def _touched(step, ends):
    """Return the values that a step reads or makes, as the next steps see them."""
    if type(step) is Run:
        return [v for s in step.steps for end in ends[s] for v in end]
    read = values_of(step.node) if type(step) is Call else [*values_of(step.node), *reads_of(step)]
    return [*read, *writes_of(step)]


def _finish_run(run, makers, inside, targets, ends):
    run.updates = list(dict.fromkeys([targets[v] for v in makers if v in targets]))
    run.writes = [v for v in makers if v not in inside and v not in targets]
    read = dict.fromkeys([v for s in run.steps for v in ends[s][0]])
    run.over_inputs = {v: targets[v] for v in (*makers, *read) if targets.get(v) in run.updates}
    run.reads = [v for v in read if v not in makers and v not in run.updates and v not in run.over_inputs]
    _note_lives(run, inside, ends)


def _note_lives(run, inside, ends):
    """Record the lifetimes of values in the arena."""
    first, last = {}, {}
    for i, s in enumerate(run.steps):
        for end in ends[s]:
            for v in end:
                if v in inside:
                    first.setdefault(v, i)
                    last[v] = i
    run.shared = _written_over(run, first, last, ends)
    run.lives = [(v, i, last[v]) for v, i in first.items() if v not in run.shared]
    run.lives += [(s, i, i) for i, s in enumerate(run.steps) if s in run.scratch]


def lay_out(run: Run, scratch: dict, room: Callable):
    """Place values and the `scratch` memory of steps in the arena of a run, disjoint while their lifetimes overlap.

    `room` gives the bytes that a value takes there.
    """
    lives = [Life(x, _rounded(scratch[x]) if x in scratch else room(x), first, last) for x, first, last in run.lives]
    at, run.arena_bytes = allocate(lives, LINE)
    if run.arena_bytes > _WORTH_A_SECOND_TRY:
        at, run.arena_bytes = _closer(lives, at, run.arena_bytes)
    run.scratch = {s: at.pop(s) for s in scratch}
    for v, read in run.shared.items():
        at[v] = at[read]
    run.arena = at


def _written_over(run, first, last, ends):
    """Return {value: the one whose place in the arena it takes}, makers in order; the latter lives as long as the former."""
    found = {}
    for i, s in enumerate(run.steps if run.over else ()):
        read, written = ends[s]
        for v in written:
            source = run.over.get(v)
            if v in first and source in first and last[source] == i and read.count(source) == 1:
                found[v] = source
    for v, read in reversed(found.items()):
        last[read] = last[v]
    return found


class Life(NamedTuple):
    """A memory need in bytes, from the start of a step to the end of another."""

    what: Any
    size: int
    first: int
    last: int


def allocate(lives, start):
    """Return ({key: its place}, the end of all), from `start` on, in the order of first use: warm cache lines are reused."""
    at, end, free = {}, start, _Free(start)
    ending: list = []                   # (step after which it ends, start, size)
    for x in sorted(lives, key=lambda x: (x.first, -x.size)):
        while ending and ending[0][0] < x.first:
            free.give(*heapq.heappop(ending)[1:])
        low = at[x.what] = free.take(x.size)
        heapq.heappush(ending, (x.last, low, x.size))
        end = max(end, low + x.size)
    return at, end


class _Free:
    """The free space of an arena: gaps, and all from some byte on."""

    def __init__(self, start: int):
        self._rest = start
        self._gaps: list = []           # (size, start), in order
        self._sizes: dict = {}          # start of a gap -> its size
        self._starts: dict = {}         # end of a gap -> its start

    def take(self, size: int) -> int:
        """Take so many bytes from the smallest gap that has them; return its start."""
        i = bisect.bisect_left(self._gaps, (size, 0))
        if i == len(self._gaps):
            self._rest += size
            return self._rest - size
        room, low = self._gaps[i]
        self._remove(low, room)
        if room > size:
            self._add(low + size, room - size)
        return low

    def give(self, low: int, size: int):
        before, after = self._starts.get(low), self._sizes.get(low + size)
        if after is not None:
            self._remove(low + size, after)
            size += after
        if before is not None:
            self._remove(before, low - before)
            low, size = before, size + low - before
        if low + size == self._rest:
            self._rest = low
        else:
            self._add(low, size)

    def _add(self, low, size):
        bisect.insort(self._gaps, (size, low))
        self._sizes[low], self._starts[low + size] = size, low

    def _remove(self, low, size):
        del self._gaps[bisect.bisect_left(self._gaps, (size, low))], self._sizes[low], self._starts[low + size]


def _closer(lives, at, end):
    """Return the same places, or tighter ones where they waste a lot: the largest first, after room for all small ones."""
    change = [0] * (max(x.last for x in lives) + 2)
    for x in lives:
        change[x.first] += x.size
        change[x.last + 1] -= x.size
    if end <= _WASTE * max(itertools.accumulate(change)):
        return at, end
    small, large = [x for x in lives if x.size < end >> 8], [x for x in lives if x.size >= end >> 8]
    found, start = allocate(small, LINE)
    taken, stops = [], start            # taken: (start, end, life), in order
    for x in sorted(large, key=lambda x: (-x.size, x.first)):
        busy = [(low, high) for low, high, y in taken if y.first <= x.last and x.first <= y.last]
        low = found[x.what] = _gap(busy, x.size, start)
        bisect.insort(taken, (low, low + x.size, x), key=lambda t: t[:2])
        stops = max(stops, low + x.size)
    return (found, stops) if stops < end else (at, end)


def _gap(busy, size, start):
    """Return the start of the smallest gap of so many bytes between busy places, which may overlap."""
    at, best = start, None
    for low, high in busy:
        gap = low - at
        if gap >= size and (best is None or gap < best[0]):
            best = gap, at
        at = max(at, high)
    return at if best is None else best[1]


def _rounded(size):
    return max(-(-size // LINE), 1) * LINE


def room_of(value: Value) -> int:
    """Return the bytes that a value takes in the arena."""
    return room_for(value.aval.size * value.dtype.itemsize)


def room_for(size: int) -> int:
    """Return the bytes that so many bytes take in the arena."""
    size = _rounded(size)
    return size + STAGGER if size >= 4096 else size
