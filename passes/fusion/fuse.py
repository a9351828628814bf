"""Fusion of operations into groups, one kernel each.

Every operation that the kernel generator can compute starts as a group of its own. Producers are joined to their readers, then
neighbours that read the same memory to each other, as long as the result is one kernel (`kernel_body` says so), no cycle
arises, and little is computed twice. Everything else (contractions, gathers, sorts, draws) is a call between kernels.
"""

import heapq
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from ...ir.graph.graph import Builder, Graph, Value, live_nodes
from ...ir.opdef.op import Reduce, Scalar
from ...ir.ops.core.shape import contiguous, later
from ...ir.ops.nn.loss import take_class
from ...ir.symbols.substitute import is_same
from ...ir.symbols.symbolic import judged
from ..layout.plain_operands import LOOPS, readable
from ..rewrite.kernel_body import Body, Unfit, can_fuse, is_free, node_cost, source_of, sources
from ..simplify.single_pass_reductions import join_sweeps
from .lower import Loops

MOST_NODES = 96      # of a group
MOST_BUFFERS = 40
CHEAP = 2            # cost up to which an operation may be done again for every element that it is spread over
MOST_AGAIN = 4       # cost per element of what is done again in one kernel
SMALL = 1 << 15      # points up to which a kernel needs no second thread
DEAREST_DOWN = 48    # cost of what sums down columns add up: their sweeps do one vector after the other
FEW_OF_MANY = 8      # elements for each sum from which it does not wait for the update that takes it
FEW_ROWS = 8         # rows below which a kernel of several sweeps cannot use threads


@dataclass(eq=False)
class Group:
    """Operations that run together: one kernel, or (`body` is None) one called node.

    Scalar functions over one shape alone (`is_simple`) always fit, one or several; their body is built at the end, when their
    number is known.
    """

    nodes: list
    shape: tuple = ()
    reduced: tuple = ()
    body: Body | None = None
    refused: list = field(default_factory=list)     # joins that were not made, as text
    is_simple: bool = False
    fits: bool = False                              # whether it is a kernel whose body is not made yet

    @property
    def is_kernel(self) -> bool:
        return self.fits or self.body is not None


_APART = 1 << 40            # between the ranks of neighbours


class Move(NamedTuple):
    """Groups that make way for a join, in order: behind the second, where the new group stands, or else before the first."""

    groups: list
    behind: bool


class GroupOrder:
    """A topological order of groups. `followers` and `leaders` give the readers of a group's results and the makers of its
    operands."""

    def __init__(self, groups: Iterable, followers: Callable, leaders: Callable):
        self.followers, self.leaders = followers, leaders
        self._after: dict = {}          # group -> the next one; None is the end of the ring
        self._before: dict = {}
        self.rank: dict = {None: 0}
        self._after[None] = self._before[None] = None
        for g in groups:
            self._put(g, self._before[None])

    def move_for(self, first: Any, second: Any) -> Move | None:
        """Return the moves that make the first and a later second group adjacent; None if a path leads through a third."""
        low, high, rank = self.rank[first], self.rank[second], self.rank
        ahead = {g: None for g in self.followers(first) if g is not second and rank[g] < high}
        behind = {g: None for g in self.leaders(second) if g is not first and rank[g] > low}
        searches = (list(ahead), ahead, behind, self.followers), (list(behind), behind, ahead, self.leaders)
        if not ahead.keys().isdisjoint(behind):
            return None
        while all(waiting for waiting, *_ in searches):
            for waiting, seen, goals, more in searches:
                for g in more(waiting.pop()):
                    if g in goals:
                        return None
                    if g not in seen and low < rank[g] < high:
                        seen[g] = None
                        waiting.append(g)
        exhausted = ahead if not searches[0][0] else behind
        return Move(sorted(exhausted, key=rank.__getitem__), exhausted is ahead)

    def join(self, first: Any, second: Any, joined: Any, move: Move):
        """Put one group in the place of two."""
        self._put(joined, second if move.behind else self._before[first])
        last = joined if move.behind else self._before[joined]
        for g in move.groups:
            self._take(g)
            self._put(g, last)
            last = g
        self._take(first)
        self._take(second)

    def _put(self, group, before):
        after = self._after[before]
        self._after[before] = self._before[after] = group
        self._before[group], self._after[group] = before, after
        low, high = self.rank[before], self.rank[after] if after is not None else self.rank[before] + 2 * _APART
        self.rank[group] = (low + high) // 2
        if not low < self.rank[group] < high:
            self._number()

    def _number(self):
        g, rank = self._after[None], 0
        while g is not None:
            rank += _APART
            self.rank[g] = rank
            g = self._after[g]

    def _take(self, group):
        before, after = self._before.pop(group), self._after.pop(group)
        self._after[before], self._before[after] = after, before
        del self.rank[group]


def own_results(graph: Graph, owned) -> Graph:
    """Return the graph with copies of the results at positions `owned` that are an input, a view or another result."""
    seen, copied = set(), set()
    for i, v in enumerate(graph.outputs):
        if i in owned and (v.is_input or is_free(v) or v in seen):
            copied.add(i)
        elif i in owned:
            seen.add(v)
    if not copied:
        return graph
    b = Builder(graph.name)
    env, copies = b.inline(graph, b.copy_inputs(graph)), {}
    return b.finish([b.append(contiguous, (readable(b, env[v], LOOPS, copies),), {}) if i in copied else env[v]
                     for i, v in enumerate(graph.outputs)])


def fuse(graph: Graph, late=frozenset(), launches=False) -> list:
    """Return the groups of a graph in a runnable order; views and fills belong to none.

    Kernels that make the values `late`, and nothing for other groups, come last: they write into inputs that others must have
    read. `launches`: each kernel costs so much that few are better than locality.
    """
    return Fuser(graph, late, launches).groups()


class Fuser:
    """Joins the operations of one graph."""

    def __init__(self, graph: Graph, late=frozenset(), launches=False):
        self.graph, self.late, self.launches = graph, late, launches
        self.place = {n: i for i, n in enumerate(graph.nodes)}
        self.escaping = {source_of(v) for v in graph.outputs}
        self.readers: dict = {}                 # value -> the nodes that read it, through views or not
        self.waiting: dict = {}                 # value -> the nodes that run after it was made, though they do not read it
        self.needs: dict = {}                   # node -> the nodes that run before it
        self.group = {}
        live, effect = live_nodes(graph), None
        for n in graph.nodes:
            if is_free(n.outputs[0]) or n not in live:
                continue
            self.group[n] = self._alone(n)
            read, others = sources(n), waits_for(n)
            if n.has_effect:        # effects keep their order
                others += [] if effect is None else [effect]
                effect = n.outputs[0]
            for source in read:
                self.readers.setdefault(source, []).append(n)
            for source in others:
                self.waiting.setdefault(source, []).append(n)
            self.needs[n] = [v.node for v in (*read, *others) if v.node in self.group]
        self.order = GroupOrder(self.group.values(), self._followers, self._leaders)
        for n, g in self.group.items():
            if can_fuse(n):
                self._start(g)

    def _alone(self, node):
        if not can_fuse(node):
            return Group([node])
        if type(node.op.lower) is Reduce:
            return Group([node], node.inputs[0].shape, tuple(node.params["dim"]))
        if node.op is take_class:
            return Group([node], node.inputs[0].shape, (1,))
        return Group([node], node.output.shape)

    def _stores(self, nodes):
        inside = set(nodes)
        return tuple([v for n in nodes for v in n.outputs
                      if v in self.escaping or any(r not in inside for r in self.readers.get(v, ()))])

    def _start(self, g):
        """Make a kernel of one operation where possible, else a call."""
        if self._surely_fits(g.nodes[0]):
            g.is_simple = g.fits = True
            return
        try:
            g.body = Body(g.nodes, g.shape, g.reduced, g.nodes[0].outputs)
            if g.reduced:
                Loops(g.body)
            g.is_simple = type(g.nodes[0].op.lower) is Scalar
        except Unfit as e:
            g.body = None
            g.refused.append(str(e))

    @staticmethod
    def _surely_fits(node):
        """Return whether an operation surely is a scalar kernel in memory order; equal symbolic sizes may be unknown."""
        return type(node.op.lower) is Scalar and not node.output.aval.is_symbolic and all(
            [source_of(x) in (x, None) and not x.aval.is_symbolic for x in node.inputs if type(x) is Value])  # noqa: C419

    def groups(self) -> list:
        """Join, then put in order."""
        for n in self.graph.nodes:
            if n in self.group and self.group[n].is_kernel:
                for source in sorted(sources(n), key=lambda v: -self.place.get(v.node, -1)):
                    self._join_producer(source, n)
        self._join_siblings()
        if self.launches:
            self._join_numbers()
        found = list(dict.fromkeys(self.group.values()))
        for g in found:
            if g.fits:
                g.body, g.fits = Body(g.nodes, g.shape, (), self._stores(g.nodes)), False
        return self._in_order(found)

    # Joining.

    def _join_producer(self, source, node):
        producer, reader = self.group.get(source.node), self.group[node]
        if producer is None or producer is reader or not producer.is_kernel:
            return
        if producer.reduced and self._is_for_others(node, producer):
            reader.refused.append(f"{source.node.op.name}: sums over other dims compute it")
            return
        move = self.order.move_for(producer, reader)
        if move is None:
            reader.refused.append(f"{source.node.op.name}: other work lies between")
            return
        self._try(producer, reader, move)

    def _is_for_others(self, node, rows):
        """Return whether only sums over other dims want a node of a kernel with reductions; it is then not stored."""
        def is_full(v):
            return is_same(math.prod(v.shape), math.prod(rows.shape))

        if self.group[node].reduced or not is_full(node.output):
            return False
        if any(is_full(v) and self.group.get(v.node) is rows for v in sources(node)):
            return False
        wanting, seen = [node], {node}
        while wanting:
            n = wanting.pop()
            if n.output in self.escaping or len(seen) > MOST_NODES:
                return False
            for r in self.readers.get(n.output, ()):
                if type(r.op.lower) is Reduce:
                    if is_same(r.inputs[0].shape, rows.shape) and tuple(r.params["dim"]) == rows.reduced:
                        return False
                elif type(r.op.lower) is not Scalar or not is_full(r.output):
                    return False
                elif r not in seen:
                    seen.add(r)
                    wanting.append(r)
        return True

    def _join_siblings(self):
        """Join independent groups over the same points that read the same large value."""
        for source in list(self.readers):
            found = []
            for n in self.readers[source]:
                g = self.group[n]
                if g.is_kernel and g not in found and 2 * size_of(source.shape) >= size_of(g.shape):
                    found.append(g)
            for a, b in pairwise(found):
                a, b = self.group[a.nodes[0]], self.group[b.nodes[0]]
                if a is b or not is_same(a.shape, b.shape):
                    continue
                a, b = sorted((a, b), key=self.order.rank.__getitem__)
                move = None if b in self._followers(a) else self.order.move_for(a, b)
                if move is not None:
                    self._try(a, b, move)

    def _join_numbers(self):
        """Join updates of single numbers, such as counters of steps: each would be a launch of its own."""
        found = [g for g in dict.fromkeys(self.group.values()) if g.is_kernel and not g.reduced and g.shape in ((), (1,))
                 and all(v in self.late for v in self._stores(g.nodes)) and not self._followers(g)]
        found.sort(key=self.order.rank.__getitem__)
        for a, b in pairwise(found):
            a = self.group[a.nodes[0]]
            move = self.order.move_for(a, b)
            if move is not None:
                self._try(a, b, move)

    def _try(self, first, second, move):
        """Join two groups, if that gives a good kernel and others can make way."""
        nodes = sorted({*first.nodes, *second.nodes}, key=self.place.__getitem__)
        stores = self._stores(nodes)
        if self._surely_fit(first, second, nodes, stores):
            self._join(first, second, Group(nodes, first.shape, is_simple=True, fits=True), move)
            return
        why = "too many operations" if len(nodes) > MOST_NODES else self._waits(first, second) or "nothing fits both"
        for shape, reduced in self._frames(first, second) if why == "nothing fits both" else ():
            try:
                body = Body(nodes, shape, reduced, stores)
                why = self._objection(body)
                if why is None and reduced:
                    Loops(body)
            except Unfit as e:
                why = str(e)
            if why is None:
                self._join(first, second, Group(nodes, shape, reduced, body), move)
                return
        second.refused.append(f"{first.nodes[-1].op.name} with {second.nodes[0].op.name}: {why}")

    def _join(self, first, second, joined, move):
        joined.refused = first.refused + second.refused
        self.order.join(first, second, joined, move)
        self.group.update(dict.fromkeys(joined.nodes, joined))

    def _waits(self, first, second):
        """Return why sums must stay apart from a reader, or None: updates come last, and the sums would wait for them."""
        if self.launches or not first.reduced or second.reduced or size_of(first.shape) <= FEW_OF_MANY * size_of(second.shape):
            return None
        return "sums would wait for the updates" if any(v in self.late for n in second.nodes for v in n.outputs) else None

    @staticmethod
    def _surely_fit(first, second, nodes, stores):
        """Return whether two groups make one kernel without repeated work: scalar functions over one shape in memory order."""
        if not (first.is_simple and second.is_simple and len(nodes) <= MOST_NODES and is_same(first.shape, second.shape)):
            return False
        inside, loads = set(nodes), 0
        for x in (x for n in nodes for x in n.inputs if type(x) is Value):
            source = source_of(x)
            within = source is not None and source.node in inside
            if within and source is not x:
                return False
            loads += source is not None and not within
        return loads + len(stores) <= MOST_BUFFERS

    @staticmethod
    def _frames(first, second):
        """Return the iteration spaces that two groups might share."""
        a, b = (first.shape, first.reduced), (second.shape, second.reduced)
        if first.reduced and second.reduced:
            return [b] if is_same(a, b) else []
        if first.reduced or second.reduced:
            return [a if first.reduced else b]
        return [b] if is_same(a, b) else [b, a]

    def _objection(self, body):
        """Return why a kernel would be a bad one, or None."""
        if len(body.loads) + len(body.results) > MOST_BUFFERS:
            return "too many buffers"
        points, again = size_of(body.shape), 0
        for n, count in body.counts.items():
            count, natural = judged(count), size_of(body.shape if type(n.op.lower) is Reduce else n.output.shape)
            if count > natural:
                if node_cost(n) > CHEAP:
                    return f"{n.op.name} would be computed {count} times for {natural} results"
                again += (count - natural) * node_cost(n)
        if again > MOST_AGAIN * points:
            return "too much would be computed again"
        if not self.launches and _is_dear_down(body):
            return "sums down columns would wait for dear functions"
        return _serial(join_sweeps(body) if self.launches else body, points)

    # Order.

    def _followers(self, g):
        return dict.fromkeys([self.group[r] for n in g.nodes for v in n.outputs
                              for r in (*self.readers.get(v, ()), *self.waiting.get(v, ())) if self.group[r] is not g])

    def _leaders(self, g):
        return dict.fromkeys([self.group[n] for reader in g.nodes for n in self.needs[reader] if self.group[n] is not g])

    def _is_late(self, g, after):
        return g.is_kernel and not after[g] and any(v in self.late for v in g.body.results)

    def _in_order(self, groups):
        """Return groups in dependency order, otherwise as the graph has them."""
        after = {g: self._followers(g) for g in groups}
        waiting = dict.fromkeys(groups, 0)
        for g in groups:
            for f in after[g]:
                waiting[f] += 1
        rank = {g: (self._is_late(g, after), self.place[g.nodes[0]]) for g in groups}
        ready = [(rank[g], i, g) for i, g in enumerate(groups) if not waiting[g]]
        heapq.heapify(ready)
        done = []
        while ready:
            _, i, g = heapq.heappop(ready)
            done.append(g)
            for f in after[g]:
                waiting[f] -= 1
                if not waiting[f]:
                    heapq.heappush(ready, (rank[f], len(groups) + len(done) + i, f))
        return done


def waits_for(node) -> list:
    """Return the values that a node asks to exist before it runs, though it does not read them (`later`)."""
    found = []
    for x in node.inputs:
        while type(x) is Value and is_free(x) and x.node.inputs:
            if x.node.op is later:
                found.append(source_of(x.node.inputs[1]))
            x = x.node.inputs[0]
    return [v for v in found if v is not None]


def size_of(shape) -> int:
    """Return the number of points of a shape, for judging profit alone: symbolic sizes count as they are now."""
    return judged(math.prod(shape))


def _is_dear_down(body):
    """Return whether a kernel that sums columns computes much for each element."""
    last = len(body.shape) - 1
    return bool(body.reduced) and last not in body.reduced and sum(t.cost for t in body.terms if not t.row) > DEAREST_DOWN


def _serial(body, points):
    """Return why a kernel could not use threads where it must, or None."""
    rows = size_of(body.row_shape)
    if not body.reduced or points <= SMALL or rows >= FEW_ROWS:
        return None
    sweep_count = max(t.depth for t in body.terms) + any(v not in body.rows for v in body.results)
    return "long rows are swept several times" if sweep_count > 1 else None
