"""Backward engine: walks the history of tensors once, in dependency order, newest first, without recursion.

Without `create_graph` gradient rules run on plain arrays. With it, or under a recorder, they run on tensors, so that their own
history is recorded.
"""

from bisect import insort_left
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np

from ...ir.errors import AutogradError, DTypeError, ShapeError
from ...ir.locks import new_rlock
from ...ir.opdef.aval import Aval
from ...ir.ops.core.elementwise import add
from ...ir.ops.core.shape import expand, full, select, slice_
from ...ir.source_location import place_text
from ...ir.symbols.substitute import at_hint
from ...ir.symbols.symbolic import is_symbol
from ..core.device_array import MESH, DeviceArray, place_of, zeros_on_device_of
from ..core.dispatch import call
from ..core.node import CHECK_NAN, ComplexNode, Leaf, Node, Output, aval_of
from ..core.tensor import Tensor, wrap
from ..core.writes import write
from ..state.mode import tls
from .gradient_buffers import accumulate_sparse, add_to, can_add_to, copied, is_sparse, own, sum_of, takes_sums
from .piecewise_linear import tie

_accumulating = new_rlock()
_number = attrgetter("number")
_NONE: frozenset = frozenset()
BLANK = 1 << 16                 # bytes up to which zeros on a device are cached for a whole run
_PARTS = frozenset((slice_, select))       # views of a part of an array, without repeated elements


class Backward:
    """One backward run: its options, and the gradients that have arrived so far. `hooked`: whether hooks run; they do not when
    backward stands for forward mode. `along`: whether the run is the first half of a derivative along a direction."""

    def __init__(self, *, retain: bool, create_graph: bool, targets=None, hooked: bool = True, along: bool = False):
        self.retain = retain
        self.along = along
        self.hooked = hooked
        self.targets = targets          # None: accumulate into leaves; else {edge key: None} to capture
        self.wanted = {t[0] if type(t) is tuple else t for t in targets} if targets else _NONE       # nodes of the targets
        m = tls.m
        self.on_tensors = create_graph or m.recorder is not None or m.batched is not None
        self.create_graph = create_graph
        self.only_recorded = self.on_tensors and not create_graph and m.batched is None     # eager code runs it on arrays
        self.run = m.runner
        self.check_nan = m.anomaly == CHECK_NAN
        self.plain = not (self.on_tensors or self.check_nan or m.observer)
        self.by_observer = m.observer is not None and m.observer.observes_rules
        if m.observer is not None:
            self.through = m.observer.around_backward(self.through)
        self.pending: dict = {}
        self.wholes: dict = {}          # by edge: gradients made for one part, without other references
        self.endings: list = []         # functions to call when all gradients have arrived
        self.outer: Any = None          # the run whose rule started this one

    def start(self, edges, gradients):
        """Run from `edges` with the given gradients (tensors); return the captured gradients if targets were named."""
        m = tls.m
        for edge, g in zip(edges, gradients):
            self.deliver(edge, self.without_history(g) if self.on_tensors else g._a)
        sources = [e.source if type(e) is Output else e for e in edges]
        roots = sources if len(sources) == 1 else list(dict.fromkeys(sources))
        if self.on_tensors:
            expand_nodes(roots, self)
        for node in [n for n in self.wanted if n.expand is not None]:
            node.hand_over_targets(self)
        needed = None if self.targets is None else reach(roots, self.wanted)
        waiting = count_dependencies(roots, needed)
        self.reached, self.needed = waiting, needed
        if m.recorder is not None:
            m.recorder.gradients.going_back(waiting if needed is None else needed)
        outside = m.grad, m.autocast, m.backward
        self.outer = m.backward
        m.grad, m.autocast, m.backward = self.create_graph, None, self      # rules run in the dtypes of the forward
        try:
            if m.own_code is not None and all(map(runs_no_user_code, waiting)):
                m.own_code(self.walk, roots, waiting, needed)
            else:
                self.walk(roots, waiting, needed)
            for ending in self.endings:
                ending()
        finally:
            m.grad, m.autocast, m.backward = outside
        return self.targets

    def gives(self, node) -> bool:
        """Return whether this run needs the gradient of a node's results, for its rule or for the caller."""
        return node in self.reached if self.needed is None or node in self.needed else node in self.wanted

    def walk(self, roots, waiting, needed):
        """Process each node once all its gradients have arrived, the latest recorded first; hooks rely on that order."""
        ready = [n for n in roots if waiting[n] == 0]
        if len(ready) > 1:
            ready.sort(key=_number)
        pending, deliver, through = self.pending, self.deliver, self.through
        plain, run, frees, wholes, wanted = self.plain, self.run, not self.retain, self.wholes, self.wanted
        blanks: dict = {}           # zeros on a device that several rules read
        node: Any = None
        try:
            while ready:
                node = ready.pop()
                if type(node) is Leaf:
                    self.finish_leaf(node)
                    continue
                g = pending.pop(node, None)
                if wholes:
                    wholes.pop(node, None)
                if needed is not None and node not in needed:
                    if g is not None and node in self.wanted:
                        self.arrive(node, g)
                    continue
                if g is None:
                    grads = None
                elif (plain and type(node) is Node and type(node.saved) is tuple
                        and not node.pre_hooks and not node.post_hooks and node not in wanted):
                    if node.outs is not None:
                        g = self.gather_outputs(node, g, blanks)
                    grads = self.part(node, g) if node.op in _PARTS else run(node.apply, g, pending)
                    if frees:
                        node.release()
                else:
                    grads = through(node, g)
                for i, edge in enumerate(node.edges):
                    if edge is None:
                        continue
                    if grads is not None and grads[i] is not None:
                        if edge in pending or type(edge) is Output:
                            deliver(edge, grads[i])
                        else:
                            pending[edge] = grads[i]
                            if grads.__class__ is list:
                                grads[i] = None     # or a sum could not see that `pending` alone holds it
                    source = edge.source if type(edge) is Output else edge
                    left = waiting[source] = waiting[source] - 1
                    if left:
                        continue
                    if ready and ready[-1].number >= source.number:
                        insort_left(ready, source, key=_number)     # before its equals: leaves keep their order of arrival
                    else:
                        ready.append(source)
                g = grads = None        # or a leaf could not see that it owns its gradient
        except Exception as error:
            if node is not None:
                place = f", recorded at {place_text(node.line)}" if getattr(node, "line", None) else ""
                error.add_note(f"while going backward through {node.label}{place}")
            raise

    def part(self, node, g):
        """Return the result of `node.apply` for a part of an array: zeros around its gradient. If such zeros exist for another
        part of the same array, add the gradient there; then nothing remains to deliver."""
        edge, = node.edges
        whole = self.wholes.get(edge)
        if whole is not None and self.pending.get(edge) is whole and type(g) is np.ndarray:
            seen = node.op.ref(whole, **node.params)
            self.run(add_to, seen, g)
            return None
        grads = self.run(node.apply, g, self.pending)
        made = grads[0]
        if edge not in self.pending and type(made) is np.ndarray and made.flags.carray:
            self.wholes[edge] = made
        return grads

    def without_history(self, g):
        """Return a gradient from users as hooks and callers see it: a tensor of its own, if eager code hands on its array."""
        return g.detach() if self.only_recorded and type(g) is Tensor else g

    def deliver(self, edge, g):
        """Add a gradient to those that arrived at `edge`."""
        pending = self.pending
        if type(edge) is Output:
            slots = pending.get(edge.source)
            if slots is None:
                slots = pending[edge.source] = [None] * len(edge.source.outs)
            held, slots[edge.index] = [slots[edge.index]], None
            slots[edge.index] = g if held[0] is None else self.sum_with(held, g)
        else:
            held = [pending.pop(edge, None)]
            pending[edge] = g if held[0] is None else self.sum_with(held, g)

    def sum_with(self, held: list, g):
        """Return the sum of two gradients; in the memory of the first if it is large and only the list `held` refers to it."""
        if can_add_to(held, g):
            return self.run(add_to, held[0], g)
        return sum_of(held[0], g) if self.on_tensors or is_sparse(held[0]) or is_sparse(g) else self.run(sum_of, held[0], g)

    def through(self, node, g):
        """Return the gradients of a node's arguments in cases beyond its rule on one plain array."""
        g = self.arrive(node, g)
        if node.pre_hooks and self.hooked:
            g = self.run_node_prehooks(node, g)
            if g is None or (node.outs is not None and all(x is None for x in g)):
                if not self.retain:
                    node.release()
                return [None] * len(node.edges)
        if node.run is not None:
            grads = node.run(self, g)
            if self.only_recorded:
                grads = [self.without_history(one) for one in grads]
        else:
            if node.outs is not None:
                g = self.gather_outputs(node, g)
            if self.on_tensors:
                grads = node.pull(g, unpack_tensors(node))
                if self.create_graph and "straight" in node.op.traits:
                    tie(grads, node.edges)
            elif self.by_observer:
                grads = self.pull_by_observer(node, g)
            elif type(node.saved) is tuple and not isinstance(node, ComplexNode):
                grads = self.run(node.apply, g, self.pending)
            else:
                grads = self.run(node.pull, g, node.values())
        if self.check_nan:
            check_nan(node, grads)
        if node.post_hooks and self.hooked:
            grads = self.run_post_hooks(node, grads, g)
        if not self.retain:
            node.release()
        return grads

    def pull_by_observer(self, node, g):
        """Run a rule as operators on tensors, so that op observers see it."""
        given = tuple([None if x is None else wrap(x) for x in g]) if type(g) is tuple else wrap(g)
        return [x._a if isinstance(x, Tensor) else x for x in node.pull(given, unpack_tensors(node))]

    def arrive(self, node, g):
        """Run what precedes a node: tensor hooks, retain_grad, and capture for the caller."""
        return self.show(node, g) if node.looks_inside is None else node.looks_inside(self, g)

    def show(self, node, g):
        """Pass a gradient to hooks and the caller; return their result."""
        if node.pre_hooks and self.hooked:
            g = self.run_tensor_hooks(node, g, node.pre_hooks.values())
        if self.targets is not None:
            self.capture(node, g)
        return g

    def gather_outputs(self, node, slots, blanks=None):
        """Return the gradient in the form that the rule takes: alone if one result is differentiable, else a tuple.

        Gaps become zeros unless the rule accepts them (trait "gaps"). Small zeros on a device are shared through `blanks`, so
        code that may write a gradient sees other references.
        """
        kinds = node.inexact_outs
        if len(kinds) > 1 and "gaps" in node.op.traits:
            return tuple([slots[i] for i in kinds])
        there = next(s for s in slots if s is not None)
        filled = [self.zeros(node.outs[i], there, blanks) if slots[i] is None else slots[i] for i in kinds]
        return filled[0] if len(kinds) == 1 else tuple(filled)

    def zeros(self, aval, neighbour, blanks):
        if self.on_tensors:
            return call(full, (neighbour,), {"shape": aval.shape, "value": 0, "dtype": aval.dtype})
        is_there = neighbour.__class__ is DeviceArray and neighbour.kind != MESH
        if blanks is None or not is_there or aval.size * aval.dtype.itemsize > BLANK:
            return zeros_on_device_of(neighbour, aval.shape, aval.dtype.np)
        key = place_of(neighbour), aval.shape, aval.dtype
        found = blanks.get(key)
        if found is None:
            found = blanks[key] = zeros_on_device_of(neighbour, aval.shape, aval.dtype.np)
        return found

    def capture(self, node, g):
        """Store the gradient of a tensor that the caller requested."""
        if node.outs is None:
            if node in self.targets:
                self.targets[node] = self.as_tensor(g)
            return
        for i, one in enumerate(g):
            if (node, i) in self.targets and one is not None:
                self.targets[node, i] = self.as_tensor(one)

    def finish_leaf(self, leaf):
        """Accumulate the gradient at a leaf, or store it for the caller."""
        g = self.pending.pop(leaf, None)
        self.wholes.pop(leaf, None)
        if g is None or (self.targets is not None and leaf not in self.targets):
            return
        is_simple = self.plain and self.targets is None and not (leaf.hooks or leaf.pre_hooks or leaf.post_hooks)
        if is_simple and (g.__class__ is np.ndarray or (g.__class__ is DeviceArray and g.kind != MESH)):
            t = wrap(g)
            del g                       # or `own` could not see that it owns the gradient
            with _accumulating:
                old = leaf.grad
                if old is None:
                    leaf.grad = own(t)
                    return
                if old.__class__ is Tensor and old._node is None and old._a.__class__ is t._a.__class__ and takes_sums(old._a):
                    self.run(add_to, old._a, t._a)
                    old._storage.wrote("backward")
                    return
            g = t
        g = self.as_tensor(g)
        if leaf.hooks and self.hooked:
            for hook in list(leaf.hooks.values()):
                g = replaced(hook(g), g)
        if self.targets is not None:
            self.targets[leaf] = g
            return
        g = run_leaf_prehooks(leaf, g)
        if not self.on_tensors and not is_sparse(g):
            g = wrap(g._a)          # the user may hold the tensor that a hook returned
        if is_sparse(g) or is_sparse(leaf.grad):
            with _accumulating:
                accumulate_sparse(leaf, g)
        else:
            accumulate(leaf, copied(g) if self.on_tensors else own(g), self.create_graph)
        run_post_accumulate(leaf)

    def as_tensor(self, g):
        return g if isinstance(g, Tensor) else wrap(g)

    def as_value(self, g):
        """Return a tensor from a hook as this run's kind of value."""
        return g if self.on_tensors or g is None or is_sparse(g) else g._a

    def run_tensor_hooks(self, node, g, hooks):
        """Run tensor hooks of a node in the order of registration, then retain_grad. Hooks of one tensor get one object unless
        one returns another, so a later hook sees attributes that an earlier one set."""
        hooks = [h for h in list(hooks) if h[0] != "node"]
        seen: dict = {}
        for which, hook in sorted(hooks, key=lambda h: h[0] == "retain"):
            if which == "retain":
                hook(self, g)
                continue
            value = g if node.outs is None else g[which]
            if value is None:
                continue
            given = seen.get(which)
            given = self.as_tensor(value) if given is None else given
            seen[which] = new = replaced(hook(given), given)
            if node.outs is None:
                g = self.as_value(new)
            else:
                g[which] = self.as_value(new)
        return g

    def run_node_prehooks(self, node, g):
        """Run hooks of the node itself, which see the gradients of all its results."""
        for which, hook in list(node.pre_hooks.values()):
            if which != "node":
                continue
            given = tuple(None if x is None else self.as_tensor(x) for x in (g if node.outs is not None else [g]))
            new = [self.as_value(x) for x in all_replaced(hook(given), given)]
            g = new if node.outs is not None else new[0]
        return g

    def run_post_hooks(self, node, grads, g):
        gave = tuple(None if x is None else self.as_tensor(x) for x in grads)
        got = tuple(None if x is None else self.as_tensor(x) for x in (g if isinstance(g, (tuple, list)) else (g,)))
        for hook in list(node.post_hooks.values()):
            gave = all_replaced(hook(gave, got), gave)
        return [self.as_value(x) for x in gave]


def replaced(new, old):
    """Return the checked result of a hook, or the gradient itself for None."""
    if new is None:
        return old
    if not isinstance(new, Tensor):
        raise DTypeError(f"a gradient hook must return a tensor or None, got {type(new).__name__}")
    if new.shape != old.shape:
        raise ShapeError(f"a gradient hook returned a gradient of shape {list(new.shape)}, expected {list(old.shape)}")
    if new.dtype is not old.dtype:
        raise DTypeError(f"a gradient hook returned a gradient of {new.dtype.name}, expected {old.dtype.name}")
    return new


def all_replaced(new, old: tuple) -> tuple:
    """Return the checked result of a hook on a node, or the gradients themselves for None. A hook may drop a gradient."""
    if new is None:
        return old
    new = new if isinstance(new, tuple) else (new,)
    if len(new) != len(old):
        raise AutogradError(f"a hook on a node returned {len(new)} gradients, expected {len(old)}")
    if any(before is None and x is not None for x, before in zip(new, old)):
        raise AutogradError("a hook on a node returned a gradient in the place of None: nothing takes it")
    return tuple([None if x is None else replaced(x, before) for x, before in zip(new, old)])


def accumulate(leaf, g: Tensor, create_graph: bool):
    """Add a gradient to a leaf's, in the same memory unless the sum must be differentiable."""
    with _accumulating:
        if tls.m.recorder is not None:
            tls.m.recorder.gradients.leaf_read(leaf)
        old = leaf.grad
        if old is None:
            leaf.grad = g
            if tls.m.recorder is not None:
                tls.m.recorder.gradients.leaf_set(leaf)
        elif create_graph or old._node is not None or not takes_sums(old._a):
            leaf.grad = add(old, g)
            if tls.m.recorder is not None:
                tls.m.recorder.gradients.leaf_set(leaf)
        elif tls.m.recorder is not None:
            write(old, add(old, g), "backward")
        else:
            tls.m.quietly(add_to, old._a, g._a)
            old._storage.wrote("backward")


def run_post_accumulate(leaf):
    """Run the hooks after an accumulation; each gets its tensor."""
    if leaf.post_hooks:
        for _, tensor_ref, hook in sorted(leaf.post_hooks.values(), key=itemgetter(0)):
            tensor = tensor_ref()
            if tensor is not None and hook(tensor) is not None:
                raise AutogradError("a post accumulate grad hook must return None: what it returned would go nowhere")


def run_leaf_prehooks(leaf, g):
    """Return a gradient after the hooks of a leaf's node, before it is accumulated."""
    for hook in list((leaf.pre_hooks or {}).values()):
        new = hook((g,))
        g = replaced(new[0] if isinstance(new, tuple) else new, g)
    return g


def runs_no_user_code(node) -> bool:
    """Return whether a backward through a node runs an operator's own rule alone: no hooks and no functions of users."""
    if type(node) is Leaf:
        return not (node.hooks or node.pre_hooks or node.post_hooks)
    is_own = type(node) in (Node, ComplexNode) and node.run is None and node.looks_inside is None
    return is_own and type(node.saved) is tuple and not (node.pre_hooks or node.post_hooks)


def expand_nodes(roots, engine):
    """Have nodes that stand for many put these behind them, so that each rule runs on tensors. Edges lead past such a node
    then, so that gradients are added in the order of the nodes that made them."""
    stack, seen, before = [*roots], set(roots), []
    while stack:
        node = stack.pop()
        if type(node) is Leaf:
            continue
        if node.expand is not None:
            node.expand()
        for edge in node.edges:
            source = edge.source if type(edge) is Output else edge
            if source is not None and source.expand is not None:
                before.append(node)
            if source is not None and source not in seen:
                seen.add(source)
                stack.append(source)
    for node in before:
        node.edges = tuple([e.source.edge_past(e) if type(e) is Output and e.source.expand is not None else e
                            for e in node.edges])


def count_dependencies(roots, needed=None) -> dict:
    """Count the edges to each node reachable from the roots (through `needed` nodes, if given)."""
    waiting = dict.fromkeys(roots, 0)
    stack = [n for n in roots if type(n) is not Leaf]
    while stack:
        node = stack.pop()
        if needed is not None and node not in needed:
            continue
        for edge in node.edges:
            if edge is None:
                continue
            if type(edge) is Output:
                edge = edge.source
            if edge in waiting:
                waiting[edge] += 1
            else:
                waiting[edge] = 1
                if type(edge) is not Leaf:
                    stack.append(edge)
    return waiting


def reach(roots, wanted) -> set:
    """Return the nodes that must run so that the wanted ones get their gradients."""
    readers: dict = {n: [] for n in roots}         # for each node, the nodes that read its results
    stack = [n for n in roots if type(n) is not Leaf]
    while stack:
        node = stack.pop()
        for edge in node.edges:
            if edge is None:
                continue
            source = edge.source if type(edge) is Output else edge
            known = readers.get(source)
            if known is not None:
                known.append(node)
                continue
            readers[source] = [node]
            if type(source) is not Leaf:
                stack.append(source)
    running: set = set()
    stack = [n for n in wanted if n in readers]
    while stack:
        for node in readers[stack.pop()]:
            if node not in running:
                running.add(node)
                stack.append(node)
    return running


def unpack_tensors(node: Node):
    """Return the values that a node saved, as tensors with their own history."""
    out, *args = node.values()
    recorder = tls.m.recorder
    traced = node.traced or (None,) * (len(args) + 1)
    if type(out) is tuple:
        own_edges = [Output(node, i) if aval.dtype.is_inexact else None for i, aval in enumerate(node.outs)]
        unpacked = [tuple([_retie(*v, node, recorder) for v in zip(out, own_edges, traced[0] or (None,) * len(out))])]
    else:
        unpacked = [_retie(out, node, traced[0], node, recorder)]
    edges = (*node.edges, *(None,) * (len(args) - len(node.edges)))
    unpacked.extend([_retie(*v, node, recorder) for v in zip(args, edges, traced[1:])])
    return unpacked


def _retie(value, edge, traced, node, recorder):
    """Return a saved array as a tensor with its history; other saved values as they are."""
    if not isinstance(value, (np.ndarray, DeviceArray)):
        if is_symbol(traced):
            return traced
        return traced.aval if isinstance(value, Aval) and traced is not None else value
    t = wrap(value)
    if edge is not None:
        hidden_expand = isinstance(edge, Node) and edge.op is expand and at_hint(edge.params["shape"]) != value.shape
        t._node = edge.edges[0] if hidden_expand else edge
    if recorder is not None:
        recorder.gradients.unpacked(t, traced, node, node.guards)
    return t


def check_nan(node, grads):
    """Raise at the first gradient with nan, for anomaly mode."""
    for i, g in enumerate(grads):
        if g is None:
            continue
        g = g._values() if is_sparse(g) else g
        a = g._a if isinstance(g, Tensor) else g
        a = a.numpy() if isinstance(a, DeviceArray) else np.asarray(a)
        if aval_of(a).dtype.is_floating_point and np.isnan(a.astype(np.float64)).any():
            line = f" recorded at {place_text(node.line)}" if getattr(node, "line", None) else ""
            raise AutogradError(f"{node.label}{line} returned nan in gradient {i} (shape {list(a.shape)})")
