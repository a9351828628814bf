"""Rematerialises cheap forward values in the backward pass.

    y = mul(h, w)                         y = mul(h, w)
    ... read now: matmul(y, a)            ... y is dead from here on
    ... peak of live memory               ...
    ... read late: matmul(g, y)           again = mul(later(h, g), w);  matmul(g, again)

A value is rematerialised if it is alive at the peak, a few instructions compute it from values that its late reader keeps
alive anyway, and that reader also reads something made after the peak. The copy waits for that operand (`later`), so that
`fuse` cannot merge it with the first one. The same instructions give the same bits.
"""

from itertools import accumulate

from ...ir.graph.graph import Builder, Graph, Value, live_nodes
from ...ir.opdef.op import Reduce
from ...ir.ops.core.elementwise import copy
from ...ir.ops.core.shape import contiguous, full, iota, later
from ...ir.ops.nn.loss import take_class
from ..rewrite.kernel_body import can_fuse, is_free, node_cost, source_of, sources
from .recompute import bytes_of

SMALL = 1 << 16      # bytes of a value up to which it is kept
DEAREST = 64         # instructions for each element up to which one is made again
_COPIES = frozenset((copy, contiguous))     # take as long again as they saved memory


def rematerialize(graph: Graph) -> Graph:
    """Return the graph with cheap values computed again after the peak."""
    search = _Search(graph)
    return _rebuilt(graph, search) if search.again else graph


class _Search:
    """The values of a graph that are rematerialised.

    place    {node: its number}
    sources  {node: the values in memory that it reads}; of views nothing
    readers  {value: the nodes that read it, through views or not}
    peak     number of the node at which the most is alive
    loops    nodes that kernels of loops can do
    far      bytes of results outside of loops of the nodes up to each
    fed      values made after the peak of something that was
    again    {value: (nodes, instructions, values behind them)} of rematerialised values
    copied   the nodes that are done again
    delayed  nodes after the peak that read nothing made there: they wait, so that they come after the copies
    """

    def __init__(self, graph):
        self.graph = graph
        self.place, self.sources, self.readers, self.fed = {}, {}, {}, set()
        self.live = live_nodes(graph)
        for n in graph.nodes:
            self.place[n] = len(self.place)
            self.sources[n] = () if is_free(n.outputs[0]) else sources(n)
            if n in self.live:
                for v in self.sources[n]:
                    self.readers.setdefault(v, []).append(n)
        self.forever = {*graph.inputs, *map(source_of, graph.results)}
        self.last = {v: self.place[nodes[-1]] for v, nodes in self.readers.items()}
        self.loops = {n for n in graph.nodes if can_fuse(n)}
        self.far = list(accumulate([0 if n in self.loops else sum(map(bytes_of, n.outputs)) for n in graph.nodes]))
        self.peak = self._peak()
        self._find_fed()
        self.again: dict = {}
        for n in graph.nodes[:self.peak]:
            chain = self._chain(n.outputs[0]) if self._is_cheap(n) else None
            if chain is not None:
                self.again[n.outputs[0]] = chain
        self.copied = {n for nodes, *_ in self.again.values() for n in nodes}
        self.delayed = self._find_delayed()

    def _is_cheap(self, node):
        """Return whether a node works on elements, so that a kernel can do it beside anything."""
        return node in self.loops and type(node.op.lower) is not Reduce and node.op not in (take_class, iota)

    def _peak(self):
        """Return the number of the node with the most live memory, without values inside kernels of loops."""
        change = [0] * (len(self.place) + 1)
        for v, last in self.last.items():
            if v not in self.forever and self.far[last] > self.far[self.place[v.node]] - (v.node not in self.loops):
                change[self.place[v.node]] += bytes_of(v)
                change[last + 1] -= bytes_of(v)
        alive = most = at = 0
        for i, c in enumerate(change):
            alive += c
            if alive > most:
                most, at = alive, i
        return at

    def _find_fed(self):
        for n in self.graph.nodes[self.peak:]:
            if not self._is_cheap(n) or any(v in self.fed for v in self.sources[n]):
                self.fed.update(n.outputs)

    def late(self, value):
        return [n for n in self.readers.get(value, ()) if self.place[n] > self.peak]

    def token(self, node):
        """Return the value that a copy for this node waits for: its last operand made after the peak."""
        found = [v for v in self.sources[node] if v in self.fed]
        return max(found, key=lambda v: self.place[v.node], default=None)

    def _chain(self, value):
        """Return (nodes, their instructions per element, values in memory at their start) of a rematerialisation, or None."""
        late = self.late(value)
        if value in self.forever or bytes_of(value) <= SMALL or not late or value.node.op in _COPIES:
            return None
        if any(self.token(n) is None and not self._is_cheap(n) for n in late):
            return None
        wanted = self.place[late[0]]
        if self.far[wanted - 1] - self.far[self.place[value.node]] < bytes_of(value):
            return None             # one kernel might do all of it
        nodes, behind, cost, stack = {}, {}, 0, [value]
        while stack:
            v = stack.pop()
            if v is not value and v not in self.again and self._alive_until(v) >= wanted:
                behind[v] = None
            elif v.node not in nodes:
                if v.node is None or not self._is_cheap(v.node):
                    return None
                nodes[v.node] = None
                cost += node_cost(v.node)
                if cost > DEAREST:
                    return None
                stack += self.sources[v.node]
        return tuple(nodes), cost, tuple(behind)

    def _alive_until(self, value):
        return len(self.place) if value in self.forever else self.last.get(value, -1)

    def _find_delayed(self):
        """Find nodes after the peak with no operand made there that read sources of copies."""
        behind = {v for *_, found in self.again.values() for v in found if v.node is not None}
        delayed: set = set()
        for n in self.graph.nodes[self.peak:]:
            if n.outputs[0] in self.fed or is_free(n.outputs[0]) or n.outputs[0] in self.forever:
                continue
            if any(v in behind or v in self.again or v.node in delayed for v in self.sources[n]):
                delayed.add(n)
        return delayed


def _rebuilt(graph, search):
    b = Builder(graph.name)
    env = b.copy_inputs(graph)
    copies: dict = {}

    def again(value, token):
        """Return a value of the graph, recomputed after `token` from kept values."""
        node = value.node
        if node is not None and node.op is full:
            return env[value]
        if value not in copies:
            if node is not None and (is_free(value) or node in search.copied or node in search.delayed):
                copies[value] = b.copy(node, [again(x, token) if type(x) is Value else x for x in node.inputs]).output
            else:
                copies[value] = env[value] if token is None else later(env[value], env[token])
        return copies[value]

    def operand(x, token):
        source = source_of(x)
        apart = source is not None and ((source in search.again and token is not None) or source.node in search.delayed)
        return again(x, token) if apart else env[x]

    for n in graph.nodes:
        free, source = is_free(n.outputs[0]), source_of(n.outputs[0])
        if n not in search.live or n in search.delayed or (free and source is not None and source.node in search.delayed):
            continue
        token = search.token(n) if search.place[n] > search.peak and not free else None
        made = b.copy(n, [x if type(x) is not Value else env[x] if free else operand(x, token) for x in n.inputs])
        env.update(zip(n.outputs, made.outputs))
    return b.finish_like(graph, env)
