"""Recomputes values that cost fewer bytes to compute than to fetch: fetching costs a launch's time, arithmetic next to none.

    f: c = sub(cast(x), mean)   stores c in float32        f: c = sub(cast(x), mean)   stores mean
    g: ... c ...                reads c                    g: ... sub(cast(x), mean) ...

So backward passes read a normalisation's input instead of its result, and the narrow array instead of a wide copy. The same
instructions give the same bits. `join_sums` fetches a value once for several sums.
"""

from dataclasses import replace
from math import prod
from typing import NamedTuple

from ...ir.kernel.kernel import FOLD
from ...ir.opdef.op import Scalar
from ...ir.opdef.params import param_key
from ..rewrite.kernel_body import Body, Unfit, node_cost, sources
from ..simplify.single_pass_reductions import join_sweeps
from .fuse import MOST_AGAIN, Group, size_of
from .fuse_epilogue import DEAREST as DEAREST_BEHIND
from .lower import HELD, Loops

FACTOR = 4           # cost of an element up to which it is made again for each tile, where products compute it in their tiles
SMALL = 8            # how many times fewer bytes a value has that counts as one for each row
LEAST = 1 << 16      # bytes from which a value is worth it
MOST_NODES = 192     # of a kernel
MOST_BUFFERS = 56


class RecomputeCosts(NamedTuple):
    """The cost of memory beside instructions.

    least    cost of an element up to which it is recomputed, whatever that saves
    a_byte   instructions that a byte is worth
    """

    least: int
    a_byte: int


ON_GPU = RecomputeCosts(64, 20)      # large chips do 10 instructions in a byte's time, half of them beside other bytes
ON_CPU = RecomputeCosts(4, 1)        # what was written may still lie in a cache


def recompute(groups: list, escaping, products=frozenset(), worth: RecomputeCosts = ON_GPU) -> list:
    """Return `groups` in a runnable order, with kernels that read less.

    Values `escaping` are stored whatever happens; `products` are operators that take in the kernels around them.
    """
    return _Search(groups, escaping, products, worth).groups()


class _Way(NamedTuple):
    """A recomputation: its nodes, its values from memory, and the bytes that it saves."""

    nodes: tuple
    leaves: tuple
    gain: float


class _Search:
    """The recomputations of each kernel.

    maker    {value: the group that makes it}
    readers  {value: the groups that fetch it, in order}
    added    {group: values that it has to store for others}
    """

    def __init__(self, groups, escaping, products, worth):
        self.order, self.escaping, self.products, self.worth = groups, escaping, products, worth
        self.place = {n: i for i, n in enumerate(n for g in groups for n in g.nodes)}
        self.maker = {v: g for g in groups for n in g.nodes for v in n.outputs}
        self.readers: dict = {}
        for g in groups:
            for v in fetched(g):
                self.readers.setdefault(v, []).append(g)
        self.added: dict = {}
        self.now = {g: g for g in groups}        # the group as it has become

    def groups(self) -> list:
        if len(self.order) < 2:
            return self.order
        for g in reversed(self.order):          # late readers first: what they take to has one reader more for the earlier ones
            if g.is_kernel and size_of(g.shape) >= LEAST // 4:
                self._lighten(g)
        if all(self.now[g] is g for g in self.order):
            return self.order
        needed = {v for g in self.now.values() for v in fetched(g)}
        stored = [self._stored(self.now[g], self.added.get(g, ()), needed) for g in self.order]
        return [g for g in stored if g is not None]

    def _lighten(self, g):
        """Recompute in `g` its fetched values of each other kernel, all or singly where it pays, then their own operands."""
        tried: set = set()
        while True:
            found: dict = {}
            for v in fetched(self.now[g]):
                if bytes_of(v) >= LEAST and v not in tried and v in self.maker and self.maker[v].is_kernel:
                    found.setdefault(self.maker[v], []).append(v)
                    tried.add(v)
            if not found:
                return
            for f, values in found.items():
                for wanted in [values, *[[v] for v in values if len(values) > 1]]:
                    if self._recomputes(g, f, wanted):
                        break

    def _recomputes(self, g, f, wanted) -> bool:
        """Return whether `g` now recomputes values of `f`."""
        current = self.now[g]
        way = self._way(current, g, f, wanted)
        if way is None or way.gain < LEAST:
            return False
        nodes = sorted({*current.nodes, *way.nodes}, key=self.place.__getitem__)
        body = _fitting(nodes, current)
        if body is None:
            return False
        self.now[g] = replace(current, nodes=nodes, body=body, is_simple=False)
        self.added.setdefault(f, {}).update(dict.fromkeys([v for v in way.leaves if v in self.maker and self.maker[v] is f]))
        for v in way.leaves:
            readers = self.readers.setdefault(v, [])
            if g not in readers:
                readers.append(g)
        return True

    def _way(self, current, g, f, wanted) -> _Way | None:
        """Return the recomputation in `g` of values of `f`, or None."""
        inside, there = set(f.nodes), set(fetched(current)) - set(wanted)
        beginnings = self._beginnings(f, there, wanted)
        nodes: dict = {}
        leaves: dict = {}
        cost, stack = 0, list(wanted)
        while stack:
            v = stack.pop()
            if v not in wanted and beginnings(v) == {v}:
                leaves[v] = None
            elif v.node not in nodes:
                if type(v.node.op.lower) is not Scalar or not sources(v.node):
                    return None
                nodes[v.node] = None
                cost += node_cost(v.node)
                stack += sources(v.node)
        sweep_count = _sweep_count(current)
        saved = sum(bytes_of(v) * (sweep_count + self._share(v)) for v in wanted) + self._spared(f, leaves, wanted)
        spent = sum(bytes_of(v) * (sweep_count * (v not in there) + (v.node in inside and v not in f.body.results))
                    for v in leaves)
        dearest = FACTOR if self._is_factor(g) else max(self.worth.least,
                                                        self.worth.a_byte * (saved - spent) / size_of(wanted[0].shape))
        if cost > dearest or any(not self._is_there(v, f) for v in leaves):
            return None
        return _Way(tuple(nodes), tuple(leaves), saved - spent)

    def _beginnings(self, f, there, wanted):
        """Return a function from a value to its cheapest values in memory: itself, or operands of `f` (always if wanted)."""
        inside, least = set(f.nodes), min(map(bytes_of, wanted))
        known: dict = {v: frozenset((v,)) for v in there}

        def beginnings(v) -> frozenset:
            if v not in known:
                known[v] = frozenset((v,))
                is_small = SMALL * bytes_of(v) <= least and self._is_there(v, f)
                if v in wanted or (v.node in inside and type(v.node.op.lower) is Scalar and not is_small
                                   and not self._begins(v, f, wanted)):
                    others = frozenset().union(*map(beginnings, sources(v.node)))
                    if v in wanted or v not in f.body.results or spent(others) < bytes_of(v):
                        known[v] = others
            return known[v]

        def spent(values) -> int:
            return sum(bytes_of(v) for v in values if v not in there)

        return beginnings

    def _begins(self, v, f, wanted) -> bool:
        """Return whether a value is the first that `f`, an epilogue, makes of a product; false if `f` does much other work."""
        if f.body.reduced or not any(s.node is not None and s.node.op in self.products and set(self.readers[s]) == {f}
                                     for s in sources(v.node)):
            return False
        return self._rest(f, frozenset(wanted)) <= self.worth.a_byte * v.dtype.itemsize

    def _spared(self, f, leaves, wanted) -> int:
        """Return the bytes of products that need no memory once `f` is light enough to be their epilogue."""
        if self._rest(f, frozenset()) <= DEAREST_BEHIND:
            return 0
        begun = {s for v in leaves if v.node in f.nodes and self._begins(v, f, wanted) for s in sources(v.node)
                 if s.node is not None and s.node.op in self.products}
        return sum(2 * bytes_of(s) for s in begun)

    def _rest(self, f, wanted) -> int:
        """Return the cost of an element of `f` without the values that are wanted elsewhere."""
        nodes: dict = {}
        stack = [v for v in f.body.results if v not in wanted]
        while stack:
            v = stack.pop()
            if v.node in f.nodes and v.node not in nodes:
                nodes[v.node] = node_cost(v.node)
                stack += sources(v.node)
        return sum(nodes.values())

    def _is_there(self, v, f) -> bool:
        """Return whether a value is in memory, or can be stored by the kernel that makes it."""
        if v.node not in f.nodes or v in f.body.results:
            return True
        try:
            f.body.way_to(v)
        except Unfit:
            return False
        return True

    def _share(self, v) -> float:
        """Return the saved part of a value's store when one reader no longer needs it."""
        readers = self.readers[v]
        return 1 / len(readers) if v not in self.escaping and all(g.is_kernel for g in readers) else 0

    def _is_factor(self, g) -> bool:
        """Return whether a kernel makes nothing but a factor of products."""
        results = list(g.body.results)
        readers = self.readers.get(results[0], ())
        return (len(results) == 1 and not g.body.reduced and bool(readers)
                and all(not r.is_kernel and r.nodes[0].op in self.products for r in readers))

    def _stored(self, g, added, needed) -> Group | None:
        """Return a kernel that stores only the needed values; None if none are."""
        if not g.is_kernel:
            return g
        stores = tuple([v for v in dict.fromkeys([*g.body.results, *added]) if v in self.escaping or v in needed])
        if stores == tuple(g.body.results):
            return g
        return replace(g, body=Body(g.nodes, g.shape, g.reduced, stores)) if stores else None


def _fitting(nodes, group) -> Body | None:
    """Return the body of a kernel with more nodes, or None if that is no good kernel."""
    if len(nodes) > MOST_NODES:
        return None
    try:
        body = Body(nodes, group.shape, group.reduced, tuple(group.body.results))
        if group.reduced:
            Loops(body)
    except Unfit:
        return None
    twice = sum(node_cost(n) * max(0, size_of((count,)) - size_of(n.output.shape)) for n, count in body.counts.items()
                if type(n.op.lower) is Scalar)
    return None if twice > MOST_AGAIN * size_of(body.shape) or len(body.loads) + len(body.results) > MOST_BUFFERS else body


def _sweep_count(group) -> int:
    """Return how often a kernel reads its operands: once per nested reduction and once for results; once if rows are held."""
    body = group.body
    if not body.reduced or prod(body.shape[d] for d in body.reduced) <= HELD:
        return 1
    deepest = max([t.depth for t in join_sweeps(body).terms if t.kind == FOLD], default=0)
    return deepest + any(v not in body.rows for v in body.results)


def join_sums(groups: list) -> list:
    """Return the groups with one kernel in place of sums over the same points that read the same large value, if nothing else
    reads their results.

        f: sum(mul(g, x)), and the update that takes it          f: both, which fetch g once
        h: sum(g), and the update that takes it

    Gradients of a norm's weight and bias are such. The joined group stands in place of its last.
    """
    read = {v for g in groups for v in fetched(g)}
    latest: dict = {}               # (points, what is reduced) -> the last groups of that kind, by what they fetch
    gone: set = set()
    now: dict = {}
    for g in groups:
        now[g] = g
        if not (g.is_kernel and g.reduced) or any(v in read for v in g.body.results):
            continue
        known = latest.setdefault(param_key((g.shape, g.reduced)), {})
        large = [v for v in fetched(g) if bytes_of(v) >= LEAST]
        for before in dict.fromkeys([known[v] for v in large if v in known]):
            joined = _joined_sums(now[before], now[g])
            if joined is not None:
                now[g] = joined
                gone.add(before)
        known.update(dict.fromkeys(fetched(now[g]), g))
    return [now[g] for g in groups if g not in gone]


def _joined_sums(a: Group, b: Group) -> Group | None:
    assert a.body is not None and b.body is not None
    nodes = list(dict.fromkeys([*a.nodes, *b.nodes]))
    results = tuple(dict.fromkeys([*a.body.results, *b.body.results]))
    if len(nodes) > MOST_NODES:
        return None
    try:
        body = Body(nodes, b.shape, b.reduced, results)
        Loops(body)
    except Unfit:
        return None
    if len(body.loads) + len(body.results) > MOST_BUFFERS:
        return None
    return replace(b, nodes=nodes, body=body, refused=a.refused + b.refused)


def fetched(group) -> list:
    """Return the values in memory that a group reads."""
    if group.is_kernel:
        return list(dict.fromkeys([v for v, _ in group.body.loads]))
    return list(dict.fromkeys([v for n in group.nodes for v in sources(n)]))


def bytes_of(value) -> int:
    """Return the bytes of a value in memory; symbolic sizes count as they are now."""
    return size_of(value.shape) * value.dtype.itemsize
