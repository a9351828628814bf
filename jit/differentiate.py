"""Gradients through a replayed trace: its backward graph, built once from the records' rules, run when backward comes by."""

from dataclasses import dataclass

import numpy as np

from ..ir.errors import AutogradError
from ..ir.gradient import gradients
from ..ir.graph import Builder, Value
from ..runtime.autograd.node import FREED, Leaf, Node, Output, aval_of
from ..runtime.state import tls
from .execute import Job, Piece, Result


@dataclass
class Differential:
    """The backward half of one path.

    wanted     input positions whose gradients are computed, in order
    results    indices of the outputs that require grad
    residuals  (slot in the forward's environment, slot in the backward's)
    seeds      slots of the incoming gradients
    grads      position of each wanted gradient among the job's results, None where there is no path
    """

    wanted: list
    results: list
    residuals: list
    seeds: list
    grads: list
    job: Job

    @staticmethod
    def of(recording, slots) -> "Differential | None":
        """The backward of a recording; None if no result needs it."""
        results = [i for i, o in enumerate(recording.outputs) if o.requires_grad and o.source is None and not o.freed]
        if not results:
            return None
        forward = recording.builder
        b = Builder(forward.name + "_backward")
        env = {v: b.input(v.name, v.aval) for v in forward.inputs}
        for n in forward.nodes:
            env.update(zip(n.outputs, b.copy(n, [env[x] if type(x) is Value else x for x in n.inputs]).outputs))
        count = len(b.nodes)
        outputs = [env[recording.outputs[i].value] for i in results]
        seeds = [b.input(f"grad{i}", v.aval) for i, v in enumerate(outputs)]
        wanted = [i for i, v in enumerate(forward.inputs) if v.dtype.is_inexact
                  and recording.sources[i].kind in ("argument", "captured")]
        found = gradients(b, outputs, seeds, [env[forward.inputs[i]] for i in wanted])
        return Differential._cut(b, count, env, slots, seeds, wanted, results, found)

    @staticmethod
    def _cut(b, count, env, slots, seeds, wanted, results, found):
        """Splits the joint graph: what the later nodes read of the earlier ones are the residuals."""
        nodes = _needed(b.nodes[count:], found)
        own = {v for n in nodes for v in n.outputs}
        outside = dict.fromkeys([x for n in nodes for x in n.inputs if type(x) is Value and x not in own]
                                + [g for g in found if g is not None and g not in own])
        back = {id(new): old for old, new in env.items()}
        numbers = {v: i for i, v in enumerate([*outside, *[s for s in seeds if s not in outside], *own])}
        residuals = [(slots[back[id(v)]], numbers[v]) for v in outside if id(v) in back]
        there = [g for g in found if g is not None]
        at = iter(range(len(there)))
        grads = [None if g is None else next(at) for g in found]
        job = Job(Piece(b.name, nodes, numbers), [Result(numbers[g], owned=True) for g in there])
        return Differential(wanted, results, residuals, [numbers[s] for s in seeds], grads, job)


def _needed(nodes, found):
    """The nodes that the gradients depend on."""
    live, kept = {g for g in found if g is not None}, []
    for n in reversed(nodes):
        if any(v in live for v in n.outputs):
            kept.append(n)
            live.update(x for x in n.inputs if type(x) is Value)
    return kept[::-1]


class TraceNode:
    """The node on the tape that stands for one replay of a trace."""

    name = "TraceBackward"
    op = None

    def __init__(self, differential, edges, residuals, guards, outs):
        self.differential = differential
        self.edges = edges
        self.residuals = residuals
        self.guards = guards         # (storage, version) of the inputs among the residuals
        self.outs = outs
        self.pre_hooks = self.post_hooks = self.line = None

    @property
    def next_functions(self):
        return tuple((e.source, e.index) if type(e) is Output else (e, 0) for e in self.edges)

    register_hook = Node.register_hook
    register_prehook = Node.register_prehook

    def release(self):
        """Frees what was saved."""
        self.residuals = None

    def run(self, engine, slots):
        """Gradients of the inputs, given those of the results (a gap is zero)."""
        d = self.differential
        if self.residuals is None:
            raise AutogradError("backward went through a traced function a second time, but what it had saved is freed after "
                                "the first; call the first backward with retain_graph=True")
        if engine.on_tensors:
            raise AutogradError("a traced function's backward cannot itself be differentiated or traced; put the derivative "
                                "inside the traced function")
        for storage, version in self.guards:
            if storage.version != version:
                by = f" by {storage.writer[0]} at {storage.writer[1]}:{storage.writer[2]}" if storage.writer else ""
                raise AutogradError(f"a traced function saved an input for its gradient, overwritten since{by}: it is "
                                    f"at version {storage.version}, expected {version}. Use the out-of-place form there, or "
                                    "clone() before writing.")
        env = {}
        for (_, number), value in zip(d.residuals, self.residuals):
            env[number] = value
        for number, g, aval in zip(d.seeds, slots, self.outs):
            env[number] = np.zeros(aval.shape, aval.dtype.np) if g is None else g
        made = d.job.run(env)
        return [None if at is None or edge is None else made[at] for at, edge in zip(d.grads, self.edges)]


def used_up(a) -> Output:
    """The history of a result that a backward inside of the trace has gone through already."""
    return Output(TraceNode(None, (), None, (), (aval_of(a),)), 0)


def attach(differential, replay, results, updated=()):
    """Puts a replay on the tape, if gradients are recorded and anything it used requires one. `updated` are the positions of
    inputs that the replay itself has overwritten."""
    if not tls.m.grad:
        return
    edges = tuple([replay.tensors[i]._node for i in differential.wanted])
    if not any(e is not None for e in edges):
        return
    outs = tuple([aval_of(results[i]._a) for i in differential.results])
    residuals = [replay.env[slot] for slot, _ in differential.residuals]
    guards = []
    for slot, _ in differential.residuals:
        t = replay.tensors[-1 - slot] if slot < 0 else None
        if t is not None:
            guards.append((t._storage, t._storage.version - (-1 - slot in updated)))
    node = TraceNode(differential, edges, residuals, tuple(guards), outs)
    for k, i in enumerate(differential.results):
        results[i]._node = Output(node, k)


def is_freed(node) -> bool:
    """Whether a history holds a node whose saved values a backward has freed."""
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
