"""The backward of a recording's results, for a backward after the call.

It runs once while the recorder still listens, along the tape of the eager run. So detached values, hooks and user functions
count as they do in eager mode. It ends at the inputs.
"""

from bisect import insort_left
from collections import Counter
from dataclasses import replace
from operator import attrgetter

from ...ir.interrupts import raise_interrupt
from ...ir.ops.core.elementwise import add
from ...runtime.autograd.engine import Backward, runs_no_user_code
from ...runtime.autograd.function import FunctionNode
from ...runtime.core.composite_tensors import PARTS
from ...runtime.core.device_array import ones_on_device_of
from ...runtime.core.node import FREED, Leaf, Output
from ...runtime.core.storage import user_line
from ...runtime.core.tensor import Tensor, wrap
from ...runtime.state.mode import other_mode, tls
from ..errors.errors import REFUSED, RanMoreError, TraceError, at
from ..guards.frames import unprofiled
from .backward_state import BackwardState, outside_ids
from .recording import Gradient, RecordedBackward, RecordedError

_number = attrgetter("number")


def backward_of(recorder, results, new_leaves) -> RecordedBackward:
    """Record the backward of some results, and restore the recorder's graph. `made` are leaves that the function makes at every
    call and returns: no recorded history may lead to them."""
    b, cuts = recorder.builder, len(recorder.reads.cuts)
    start, first = len(b.nodes), len(b.inputs)
    stops = recorder.inputs.ends()
    written = unprofiled(_versions, recorder)
    steps = len(recorder.hosts.steps)
    seeds = [_seed(recorder, t, f"grad{i}") for i, t in enumerate(results)]
    values, drawn = b.inputs[first:], recorder.random.places()
    walk = _Walk(recorder, set(stops.values()), new_leaves)
    with other_mode(observer=None):     # this backward has not been called yet: no profile shows it
        found = walk.arrivals([t._node for t in results], seeds)
    unprofiled(_check_pure, recorder, written, steps)
    if len(recorder.reads.cuts) > cuts:
        raise TraceError("this function cannot be traced: going backward through its results, Python reads a value out of a "
                         "tensor; call backward() inside of the traced function")
    gradients = unprofiled(_gradients_at, recorder, stops, found)
    starts = {p: walk.starts[edge] for p, edge in stops.items() if type(edge) is not Output and edge in walk.starts}
    passing = walk.passing(recorder, [t._node for t in results], values)
    nodes = b.nodes[start:]
    del b.nodes[start:]
    stand_ins = {*values, *[value for value, *_ in walk.starts.values()]}
    b.inputs[first:] = [v for v in b.inputs[first:] if v not in stand_ins]      # what user code alone has captured
    if recorder.random.moved_since(drawn):
        _refuse("draws random numbers", "draw them before, or call backward() inside of the traced function")
    reach = {p: walk.reach.get(key_of(edge), frozenset()) for p, edge in stops.items()}
    errors = [replace(e, complete=frozenset([p for p, edge in stops.items() if edge in e.complete])) for e in walk.errors]
    return RecordedBackward(nodes, values, gradients, errors, passing, starts=starts, rules=walk.rules, reach=reach)


def _versions(recorder) -> dict:
    """Return by id each cell that tensors lie over now, and its count of writes."""
    cells = [*[link.cell for _, link in recorder.links.live()], *recorder.inputs.cells]
    return {id(cell): (cell, cell.version) for cell in cells}


def _check_pure(recorder, before, steps):
    """Raise if user code in the backward wrote to tensors that it has not made, or took a step on the host: replays run no user
    code there, and the recorded call ran it once more."""
    now = {**before, **{id(cell): (cell, 0) for cell in recorder.inputs.cells if id(cell) not in before}}
    written = next((cell for cell, version in now.values() if cell.version != version), None)
    if written is not None or len(recorder.hosts.steps) > steps:
        node = None if written is None else written.value.node
        _refuse("prints or calls a host function" if written is None else "writes to a tensor in place",
                "call backward() inside of the traced function", None if node is None else node.line)


def _refuse(what: str, instead: str, line=None):
    raise RanMoreError(f"{REFUSED}a function or hook that runs when backward() comes, after the call, {what}"
                       f"{at(line or user_line())}; {instead}")


def _gradients_at(recorder, stops, found) -> dict:
    return {p: Gradient.of(recorder, found.get(edge)) for p, edge in stops.items()}


def _seed(recorder, t, name):
    """Return the gradient of a result; its values do not matter."""
    g = wrap(ones_on_device_of(t._a))
    aval = recorder.value_of(t).aval
    recorder.fresh(g, recorder.builder.input(name, aval))
    return g


class _Walk(Backward):
    """A backward that ends at some edges, before the hooks there, and collects what arrives."""

    def __init__(self, recorder, stops, new_leaves):
        super().__init__(retain=True, create_graph=False)
        self._recorder = recorder
        self.starts: dict = {}          # edge: [input, value of the first gradient added to it, count of gradients]
        self.stops, self.new_leaves = stops, new_leaves
        self.ends = {_source(e) for e in stops}
        self.passed: set = set()        # ends that a backward would have come by
        self.reach: dict = {}           # key of an edge: numbers of the results that lead to it
        self.errors: list = []          # `RecordedError`s; the walk goes on past a node that raises
        self.rules: dict = {}           # node of the graph: the same of the eager node whose rule appended it
        self._gradients: dict = {}            # by node: the gradients of its results, behind the hooks of these

    def arrivals(self, edges, gradients) -> dict:
        for i, (edge, g) in enumerate(zip(edges, gradients)):
            self._arrives(edge, g, frozenset((i,)))
        m = tls.m
        mode = m.grad, m.autocast
        m.grad, m.autocast = False, None
        try:
            order = unprofiled(self._order, [_source(e) for e in edges])
            outside = unprofiled(outside_ids, self._recorder)
            before = unprofiled(self._state_of, order, outside)
            if m.own_code is not None and unprofiled(self._runs_no_user_code, order):
                m.own_code(self._go, order)
            elif not self._recorder.tracker.chains.generators.undone(lambda: self._go(order)):
                raise TraceError(f"{REFUSED}a function or hook that runs when backward() comes, after the call, draws from "
                                 "Python's or numpy's random numbers; draw them before, or call backward() inside of the "
                                 "traced function")
            unprofiled(self._check_state, order, outside, before)
        finally:
            m.grad, m.autocast = mode
        return unprofiled(self._found)

    def _state_of(self, order, outside) -> list:
        """Return (node, state that it leads to) for those of some nodes that run code of users."""
        return [(node, BackwardState(node, outside)) for node in order
                if not self._is_end(node) and (isinstance(node, FunctionNode) or node.pre_hooks or node.post_hooks)]

    def _check_state(self, order, outside, before):
        """Raise if user code in the backward changed state of the call: replays run no user code there."""
        for (node, was), (_, state) in zip(before, self._state_of(order, outside)):
            if not state.is_as(was):
                name = f"{node.cls.__name__}.backward" if isinstance(node, FunctionNode) else "a hook"
                what = "what its ctx holds" if isinstance(node, FunctionNode) else "an object that it holds"
                raise RanMoreError(f"{REFUSED}{name}, which runs when backward() comes, after the call, changes "
                                   f"{what}; call backward() inside of the traced function")

    def _found(self) -> dict:
        return {e: g for e in self.stops if (g := self._gradient_at(e)) is not None}

    def _runs_no_user_code(self, order) -> bool:
        return all(self._is_end(node) or runs_no_user_code(node) for node in order)

    def _go(self, order):
        for node in order:
            if self._is_end(node):
                self.passed.add(node)
                continue
            g = self.pending.pop(node, None)
            if g is None:
                continue
            nodes = self._recorder.builder.nodes
            first, reach = len(nodes), self.reach[node]
            try:
                grads = self.through(node, g)
            except TraceError:
                raise
            except Exception as e:
                raise_interrupt(e, self.through, node, g)
                self.errors.append(RecordedError(e.with_traceback(None), reach, frozenset(self.passed)))
                continue
            self.rules.update(dict.fromkeys(nodes[first:], reach))
            for edge, grad in zip(node.edges, grads):
                if edge is not None and grad is not None:
                    self._arrives(edge, grad, reach)

    def _arrives(self, edge, g, reach):
        """Deliver a gradient to which these results lead."""
        self.deliver(edge, g)
        for key in {key_of(edge), _source(edge)}:
            self.reach[key] = self.reach.get(key, frozenset()) | reach

    def deliver(self, edge, g):
        """Add a gradient to those that arrived. The first one at an end is added to an input, which stands for gradients that
        arrive there before this backward."""
        if type(edge) is not Output and edge in self.stops:
            if edge in self.starts:
                self.starts[edge][2] += 1
            elif edge not in self.pending and type(g) not in PARTS:
                g = self._started(edge, g)
        super().deliver(edge, g)

    def _started(self, edge, g) -> Tensor:
        r = self._recorder
        value = r.value_of(g)
        start = r.builder.input(f"start{len(self.starts)}", value.aval)
        total = r.builder.append(add, [start, value], {})
        self.starts[edge] = [start, total, 1]
        made = wrap(g._a)
        r.fresh(made, total)
        return made

    def _is_end(self, node) -> bool:
        return type(node) is Leaf or node in self.ends

    def arrive(self, node, g):
        """Remember the gradient of a node's results behind their hooks; hooks of `retain_grad()` run at each backward alone."""
        retaining = {number: hook for number, hook in (node.pre_hooks or {}).items() if hook[0] == "retain"}
        for number in retaining:
            del node.pre_hooks[number]
        try:
            g = super().arrive(node, g)
        finally:
            for number, hook in retaining.items():
                node.pre_hooks[number] = hook
        self._gradients[node] = list(g) if node.outs is not None else g
        return g

    def passing(self, recorder, edges, seeds) -> dict:
        """Return {number of an edge: value of the gradient there}, where that is not just its seed."""
        found = {}
        for i, (edge, seed) in enumerate(zip(edges, seeds)):
            g = self._gradients.get(_source(edge))
            g = g[edge.index] if type(edge) is Output and g is not None else g
            if isinstance(g, Tensor) and type(g) not in PARTS and recorder.value_of(g) is not seed:
                found[i] = recorder.value_of(g)
        return found

    def _gradient_at(self, edge):
        if type(edge) is Output:
            slots = self.pending.get(edge.source)
            return None if slots is None else slots[edge.index]
        return self.pending.get(edge)

    def _order(self, roots) -> list:
        """Return the nodes between results and stops in the order of a backward: of ready nodes, the one recorded last."""
        roots = [*dict.fromkeys(roots)]
        waiting: Counter = Counter()
        stack, seen = [*roots], set(roots)
        while stack:
            node = stack.pop()
            if node in self.new_leaves:
                raise TraceError("this function cannot be traced: it hands out a tensor that requires grad, which it has made, "
                                 "and what it has computed from it; do one of the two outside")
            for source in self._sources(node):
                waiting[source] += 1
                if source not in seen:
                    seen.add(source)
                    stack.append(source)
        ready, order = sorted([n for n in roots if not waiting[n]], key=_number), []
        while ready:
            order.append(ready.pop())
            for source in self._sources(order[-1]):
                waiting[source] -= 1
                if not waiting[source]:
                    insort_left(ready, source, key=_number)
        return order

    def _sources(self, node) -> list:
        """Return the nodes behind the edges of a node; none behind the ends."""
        return [] if self._is_end(node) else [_source(e) for e in node.edges if e is not None]


def _source(edge):
    return edge.source if type(edge) is Output else edge


def key_of(edge):
    """Return the identity of an edge."""
    return (edge.source, edge.index) if type(edge) is Output else edge


def is_freed(node) -> bool:
    """Return whether a history has a node whose saved values a backward has freed."""
    stack, seen = [node], set()
    while stack:
        n = stack.pop()
        n = n.source if type(n) is Output else n
        if n is None or type(n) is Leaf or id(n) in seen:
            continue
        seen.add(id(n))
        if getattr(n, "saved", None) is FREED:
            return True
        stack.extend(n.edges)
    return False
