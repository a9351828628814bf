"""Backward: walks the history of some tensors once, in dependency order, without recursion.

Without `create_graph` the gradient rules run on plain arrays; with it, or while a recorder watches, on tensors, so that
their own history is recorded.
"""

import sys

import numpy as np

from ...ir.errors import AutogradError
from ...ir.ops.elementwise import add
from ...ir.ops.shape import expand
from ..state import tls
from ..tensor import Tensor, wrap
from .node import FREED, Leaf, Node, Output, aval_of


class Backward:
    """One run: the wishes, and what has arrived so far."""

    def __init__(self, *, retain: bool, create_graph: bool, targets=None):
        self.retain = retain
        self.targets = targets          # None: accumulate into leaves; else {edge key: None} to capture
        m = tls.m
        self.on_tensors = create_graph or m.recorder is not None
        self.create_graph = create_graph
        self.run = m.run
        self.anomaly = m.anomaly
        self.plain = not (self.on_tensors or self.anomaly) and targets is None
        self.pending = {}

    def start(self, edges, gradients):
        """Runs from `edges` with the given gradients (tensors); returns the captured gradients if targets were named."""
        m = tls.m
        for edge, g in zip(edges, gradients):
            self.deliver(edge, g if self.on_tensors else g._a)
        roots = list(dict.fromkeys(e.source if type(e) is Output else e for e in edges))
        waiting = count_dependencies(roots)
        useful = None if self.targets is None else reach(roots, self.targets)
        before, m.grad = m.grad, self.create_graph
        try:
            self.walk(roots, waiting, useful)
        finally:
            m.grad = before
        return self.targets

    def walk(self, roots, waiting, useful):
        """Processes every node when all gradients for it have arrived."""
        ready = [n for n in roots if waiting[n] == 0]
        pending, deliver, through = self.pending, self.deliver, self.through
        while ready:
            node = ready.pop()
            g = pending.pop(node, None)
            if type(node) is Leaf:
                self.finish_leaf(node, g)
                continue
            skip = g is None or (useful is not None and node not in useful)
            grads = None if skip else through(node, g)
            for i, edge in enumerate(node.edges):
                if edge is None:
                    continue
                if grads is not None and grads[i] is not None:
                    if edge in pending or type(edge) is Output:
                        deliver(edge, grads[i])
                    else:
                        pending[edge] = grads[i]
                source = edge.source if type(edge) is Output else edge
                left = waiting[source] = waiting[source] - 1
                if not left:
                    ready.append(source)

    def deliver(self, edge, g):
        """Adds a gradient to what has arrived at `edge`."""
        pending = self.pending
        if type(edge) is Output:
            slots = pending.get(edge.source)
            if slots is None:
                slots = pending[edge.source] = [None] * len(edge.source.outs)
            old = slots[edge.index]
            slots[edge.index] = g if old is None else add(old, g)
        else:
            old = pending.get(edge)
            pending[edge] = g if old is None else add(old, g)

    def through(self, node, g):
        """Gradients of a node's arguments."""
        if self.plain and type(node) is Node and node.outs is None and not node.pre_hooks and not node.post_hooks:
            grads = self.run(node.apply, g)
            if not self.retain:
                node.saved, node.guards = FREED, ()
            return grads
        if node.pre_hooks:
            g = self.run_pre_hooks(node, g)
        if self.targets is not None:
            self.capture(node, g)
        if node.outs is not None:
            g = self.gather_outputs(node, g)
        if type(node) is not Node:
            grads = node.run(self, g)
        elif self.on_tensors:
            grads = node.pull(g, unpack_tensors(node))
        else:
            grads = self.run(node.apply, g)
        if self.anomaly:
            check_nan(node, grads)
        if node.post_hooks:
            grads = self.run_post_hooks(node, grads, g)
        if not self.retain:
            node.release()
        return grads

    def gather_outputs(self, node, slots):
        """The gradient as the rule takes it: alone if one result is differentiable, else a tuple without gaps."""
        kinds = [i for i, a in enumerate(node.outs) if a.dtype.is_inexact]
        filled = [self.zeros(node.outs[i]) if slots[i] is None else slots[i] for i in kinds]
        if len(kinds) == 1 and type(node) is Node:
            return filled[0]
        return tuple(filled)

    def zeros(self, aval):
        z = np.zeros(aval.shape, aval.dtype.np)
        return wrap(z) if self.on_tensors else z

    def capture(self, node, g):
        """Notes the gradient of a tensor that the caller asked for, as it passes."""
        if node.outs is None:
            if node in self.targets:
                self.targets[node] = self.as_tensor(g)
            return
        for i, one in enumerate(g):
            if (node, i) in self.targets and one is not None:
                self.targets[node, i] = self.as_tensor(one)

    def finish_leaf(self, leaf, g):
        if g is None:
            return
        g = self.as_tensor(g)
        for hook in list((leaf.hooks or {}).values()):
            g = _replaced(hook(g), g)
        if self.targets is not None:
            if leaf in self.targets:
                self.targets[leaf] = g
            return
        if leaf.grad is None and not self.create_graph:
            g = own(g)
        leaf.accumulate(g)
        for tensor_ref, hook in list((leaf.post_hooks or {}).values()):
            tensor = tensor_ref()
            if tensor is not None:
                hook(tensor)

    def as_tensor(self, g):
        return g if isinstance(g, Tensor) else wrap(g)

    def as_value(self, g):
        """A tensor from a hook, in the form this run works on."""
        return g if self.on_tensors or g is None else g._a

    def run_pre_hooks(self, node, g):
        for which, hook in list(node.pre_hooks.values()):
            if which == "node":
                given = tuple(self.as_tensor(x) if x is not None else None for x in (g if node.outs is not None else [g]))
                new = hook(given)
                if new is not None:
                    new = [self.as_value(x) for x in (new if isinstance(new, tuple) else (new,))]
                    g = new if node.outs is not None else new[0]
            elif node.outs is None:
                g = self.as_value(_replaced(hook(self.as_tensor(g)), self.as_tensor(g)))
            elif g[which] is not None:
                g[which] = self.as_value(_replaced(hook(self.as_tensor(g[which])), self.as_tensor(g[which])))
        return g

    def run_post_hooks(self, node, grads, g):
        gave = tuple(None if x is None else self.as_tensor(x) for x in grads)
        got = tuple(self.as_tensor(x) for x in (g if isinstance(g, tuple) else (g,)))
        for hook in list(node.post_hooks.values()):
            new = hook(gave, got)
            if new is not None:
                gave = new if isinstance(new, tuple) else (new,)
        return [self.as_value(x) for x in gave]


def _replaced(new, old):
    return old if new is None else new


def own(g: Tensor) -> Tensor:
    """A gradient that nothing else can write to: the tensor itself if its memory is referenced from here alone."""
    a = g._a
    if getattr(a, "base", None) is None and a.flags.c_contiguous and sys.getrefcount(a) <= 3:
        return g
    return wrap(np.array(a, copy=True, order="C"))


def count_dependencies(roots) -> dict:
    """How many edges lead to each node that can be reached from the roots."""
    waiting = dict.fromkeys(roots, 0)
    stack = [n for n in roots if type(n) is not Leaf]
    while stack:
        for edge in stack.pop().edges:
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


def reach(roots, targets) -> set:
    """The nodes from which a target can be reached (targets are Leaf, Node or (Node, index))."""
    wanted = {t[0] if type(t) is tuple else t for t in targets}
    useful, seen = set(wanted), set()
    stack = [(n, False) for n in roots]
    while stack:
        node, expanded = stack.pop()
        sources = [] if type(node) is Leaf else [e.source if type(e) is Output else e for e in node.edges if e is not None]
        if expanded:
            if any(s in useful for s in sources):
                useful.add(node)
            continue
        if node in seen:
            continue
        seen.add(node)
        stack.append((node, True))
        stack.extend((s, False) for s in sources if s not in seen)
    return useful


def unpack_tensors(node: Node):
    """What a node saved, as tensors that know their own history."""
    out, *args = node.values()
    own_edges = node if node.outs is None else [Output(node, i) for i in range(len(node.outs))]
    if type(out) is tuple:
        unpacked = [tuple(_retie(v, own_edges[i] if aval.dtype.is_inexact else None)
                          for i, (v, aval) in enumerate(zip(out, node.outs)))]
    else:
        unpacked = [_retie(out, own_edges)]
    for i, v in enumerate(args):
        unpacked.append(_retie(v, node.edges[i] if i < len(node.edges) else None))
    return unpacked


def _retie(value, edge):
    """A saved array as a tensor with its history; other saved things as they are."""
    if not isinstance(value, np.ndarray):
        return value
    t = wrap(value)
    if edge is not None:
        hidden_expand = type(edge) is Node and edge.op is expand and edge.params["shape"] != value.shape
        t._node = edge.edges[0] if hidden_expand else edge
    return t


def check_nan(node, grads):
    """Anomaly mode: stops at the first gradient that is not a number."""
    for i, g in enumerate(grads):
        if g is None:
            continue
        a = g._a if isinstance(g, Tensor) else np.asarray(g)
        if aval_of(a).dtype.is_floating_point and np.isnan(a.astype(np.float64)).any():
            line = f" recorded at {node.line[0]}:{node.line[1]}" if getattr(node, "line", None) else ""
            raise AutogradError(f"{node.name}{line} returned nan in gradient {i} (shape {a.shape})")
