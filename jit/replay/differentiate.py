"""Gradients through a replayed trace: the backward graph, recorded once with the forward and run in backward."""

from dataclasses import dataclass
from functools import cache
from operator import is_
from typing import Any

import numpy as np

from ...ir.errors import AutogradError
from ...ir.graph.graph import Value
from ...ir.symbols.substitute import bound_values, has_symbols
from ...runtime.core.backend import HOST
from ...runtime.core.device_array import DeviceArray, zeros_on_device_of
from ...runtime.core.node import Leaf, Node, Output, aval_of, new_number, next_functions
from ...runtime.core.tensor import wrap
from ...runtime.core.writes import rewrite_history
from ..recorder.recording import Gradient
from .compile_segment import Job, Region, Result
from .restore_tape import SavedView, restored
from .symbolic_job import job_of


@dataclass
class Differential:
    """The backward of one path.

    wanted     input positions whose gradients are computed, in order
    results    indices of the outputs that require grad
    residuals  (slot in the forward's environment, slot in the backward's)
    memories   what outlives a call of the memory that eager nodes save (`SharedMemory`)
    shared     (kind, position, slot) of residuals that are all of such memory at the end of a call
    tape       eager nodes behind the results, over the backward's slots
    rewritten  indices of outputs that are inputs whose history goes on
    starts     {number of a wanted gradient that is a sum: slot of the gradient that arrived at its input before}
    job_after  returns a job that begins these sums (by number) with what arrived before, in eager code's order
    seeds      slots of the incoming gradients
    grads      each wanted `Gradient` over positions among the job's results, None where there is no path
    sharing    for each incoming gradient, the numbers of the incoming ones that share a saved value with it, and its own
    reach      for each wanted gradient, the numbers of the incoming ones that lead to it; none if it is always there
    passing    {number of a result from which others are computed: (position in the results of `whole`, the job that also
               gives these gradients; the numbers of the incoming ones that lead to it)}
    """

    wanted: list
    results: list
    residuals: list
    seeds: list
    grads: list
    reach: list
    sharing: list
    job: Job
    passing: dict
    whole: Job
    memories: list
    shared: list
    tape: Any
    rewritten: frozenset
    starts: dict
    job_after: Any
    error: Exception | None = None      # what backward raises, once leaves have the gradients that came before

    @staticmethod
    def of(recording, slots) -> "Differential | None":
        """Return the backward of a recording; None if no result needs it."""
        back = recording.backward
        if back is None:
            return None
        results = [i for i, o in enumerate(recording.outputs) if o.has_history]
        return Differential._cut(recording, back, slots, results)

    @staticmethod
    def _cut(recording, back, slots, results):
        """Build the jobs of the backward's nodes; what they read of the forward are the residuals."""
        found = list(back.gradients.values())
        there = [v for g in found if g is not None for v in g.values]
        everything = [*there, *back.passing.values()]
        nodes = _needed(back.nodes, everything)
        memories = [m for m in back.memories if m is not None]
        views = _views_of_shared(nodes, everything, memories)
        nodes = [*dict.fromkeys([n for steps in views.values() for n in steps]), *nodes]
        own = {v for n in nodes for v in n.outputs}
        outside = dict.fromkeys([x for n in nodes for x in n.inputs if type(x) is Value and x not in own]
                                + [v for v in everything if v not in own])
        values = {v: i for i, v in enumerate([*outside, *[s for s in back.seeds if s not in outside], *own])}
        starts = _Starts(back, nodes, values)
        numbers = starts.numbers(())
        residuals = [(slots[v], numbers[v]) for v in outside if v in slots]
        roots = {m.whole: m for m in memories if m.whole is not None and (m.kind != "input" or m.whole.node is not None)}
        shared = [(m.kind, m.position, slots[v]) for v, m in roots.items() if v in numbers and v in slots]
        grads = [None if g is None else g.over({v: i for i, v in enumerate(there)}) for g in found]
        name = recording.builder.name + "_backward"
        backend, scope = next(iter(recording.devices.values()), HOST), recording.scope

        def job_for(name, nodes, wanted, after=()):
            numbers = starts.numbers(after)
            region = Region(name, starts.nodes(nodes, after), numbers, scope=scope, backend=backend)
            return job_of(region, [Result(numbers[v], owned=True) for v in wanted])

        whole = job_for(name, nodes, everything)
        leads, _ = _paths(nodes, back.seeds, [Gradient((v,)) for v in back.passing.values()])
        passing = {i: (len(there) + n, lead) for n, (i, lead) in enumerate(zip(back.passing, leads))}
        nodes = _needed(nodes, there)
        job = job_for(name, nodes, there) if back.passing else whole
        reach, sharing = _paths(nodes, back.seeds, found)
        return Differential(list(back.gradients), results, residuals, [numbers[s] for s in back.seeds], grads, reach, sharing,
                            job, passing, whole, [m and m._replace(whole=None, values=()) for m in back.memories], shared,
                            back.tape.over(lambda v: _saved_in(v, numbers, views)),
                            frozenset([i for i in results if recording.outputs[i].rewritten]), starts.several,
                            cache(lambda after: job_for(name + "_after", nodes, there, after)), back.error)

    def positions_for(self, slots) -> list:
        """Return positions as in `grads`, None for those that none of the incoming gradients (a gap is None) leads to."""
        there = {i for i, g in enumerate(slots) if g is not None}
        return [at if not reach or not reach.isdisjoint(there) else None for at, reach in zip(self.grads, self.reach)]


class _Starts:
    """The sums of gradients in a recorded backward, and the additions with which they begin."""

    def __init__(self, back, nodes, values):
        wanted = {position: i for i, position in enumerate(back.gradients)}
        self._values, live = values, set(nodes)
        self._first = {wanted[p]: total for p, (_, total, _) in back.starts.items() if total.node in live}
        self.several = {wanted[p]: values[start] for p, (start, total, count) in back.starts.items()
                        if count > 1 and total.node in live}

    def numbers(self, after) -> dict:
        """Return the number of each value; sums that are not in `after` begin with their first gradient."""
        alike = {total: self._values[total.node.inputs[1]] for i, total in self._first.items() if i not in after}
        return {**self._values, **alike}

    def nodes(self, nodes, after) -> list:
        left_out = {total.node for i, total in self._first.items() if i not in after}
        return [n for n in nodes if n not in left_out]


def _paths(nodes, seeds, gradients) -> tuple:
    """Return for each gradient the numbers of the seeds that it depends on, and for each seed the numbers of the seeds that
    need a forward value which it needs."""
    known: dict = {}
    for i, seed in enumerate(seeds):
        known[seed] = known.get(seed, frozenset()) | {i}
    for n in nodes:
        reach = frozenset().union(*[known.get(x, ()) for x in n.inputs if type(x) is Value])
        known.update(dict.fromkeys(n.outputs, reach))
    needs: dict = {}
    for n in reversed(nodes):
        mine = known[n.outputs[0]] or frozenset().union(*[needs.get(v, ()) for v in n.outputs])
        for x in n.inputs:
            if type(x) is Value and not known.get(x):
                needs[x] = needs.get(x, frozenset()) | mine
    own = {v for n in nodes for v in n.outputs}
    shared = [need for v, need in needs.items() if v not in own and not v.is_input]
    sharing = [frozenset((i,)).union(*[need for need in shared if i in need]) for i in range(len(seeds))]
    return [frozenset() if g is None else known.get(g.values[-1], frozenset()) for g in gradients], sharing


def _views_of_shared(nodes, values, memories) -> dict:
    """Return {saved value that a backward reads: the forward's view operators that lead to it from all of its memory}. The
    backward runs these itself: so the values are not copied, and follow the memory as eager code's do."""
    own = {v for n in nodes for v in n.outputs}
    read = {x for x in [*[x for n in nodes for x in n.inputs], *values] if type(x) is Value and x not in own}
    found = {}
    for memory in memories:
        for value in read.intersection(memory.values):
            steps: list = []
            v = value
            while v is not memory.whole and v.node is not None and v.node.op.is_view:
                steps.append(v.node)
                v = v.node.inputs[0]
            if v is memory.whole and steps:
                found[value] = steps[::-1]
    return found


def _saved_in(value, numbers, views):
    """Return a saved value as a number, as a view of a number, or as its aval if no rule reads it."""
    steps = views.get(value)
    if steps is None:
        return numbers.get(value, value.aval)
    chain = tuple([(n.op.name, tuple(sorted(n.params.items()))) for n in steps])
    return SavedView(numbers[steps[0].inputs[0]], chain)


def _needed(nodes, values):
    """Return the nodes that the values of gradients depend on."""
    live, needed = set(values), []
    for n in reversed(nodes):
        if any(v in live for v in n.outputs):
            needed.append(n)
            live.update(x for x in n.inputs if type(x) is Value)
    return needed[::-1]


class TraceNode:
    """The node on the tape for one replay of a trace."""

    label = "TraceBackward"
    op = None

    def __init__(self, differential, edges, residuals, guards, outs, symbols=()):
        self.differential = differential
        self.symbols = symbols       # the values of symbolic sizes
        self.edges = edges
        self.residuals = residuals
        self.guards = guards         # for each of the differential's memories (storage, version), or None
        self.outs = outs
        self.number = new_number()
        self.pre_hooks = self.post_hooks = self.line = None
        self.precomputed: list | None = None           # what `whole` gave for the gradients that come next
        self.freed: frozenset = frozenset()     # numbers of the results through which no backward goes any more,
        self.going: frozenset = frozenset()     # and of those through which the last one goes
        self.rules: Any = None                  # the eager nodes, once they are restored

    def name(self) -> str:
        return self.label

    @property
    def next_functions(self):
        return next_functions(self.edges)

    _sequence_nr = Node._sequence_nr
    register_hook = Node.register_hook
    register_prehook = Node.register_prehook

    def release(self):
        """Free saved values of the results through which a backward went; values that other results need stay."""
        self.freed = self.freed.union(*[self.differential.sharing[i] for i in self.going])
        if self.differential is None or len(self.freed) == len(self.differential.seeds):
            self.residuals = None

    def run(self, engine, slots):
        """Return gradients of the inputs, given those of the results (a gap is zero)."""
        if self.rules is not None:
            return slots
        d = self.differential
        earlier = self._earlier(engine, slots) if d is not None and d.starts and self.precomputed is None else {}
        made, self.precomputed = self.precomputed or self._computed(engine, slots, earlier=earlier), None
        grads = [None if g is None else self._gradient(g, made) for g in d.positions_for(slots)]
        if d.error is not None:
            for g, edge in zip(grads, self.edges):
                if g is not None and type(edge) is Leaf:
                    engine.deliver(edge, g)
                    engine.finish_leaf(edge)
            raise d.error
        return [None if edge is None else g for g, edge in zip(grads, self.edges)]

    def looks_inside(self, engine, slots):
        """Show the gradients of results to hooks and the caller. Gradients of results from which others are computed are inside
        of the job, so the job runs first where something looks at them."""
        d = self.differential
        looked_at = self._looked_at(engine)
        if not looked_at or self.residuals is None:
            return engine.show(self, slots)
        made = self._computed(engine, slots, wholly=True)
        there = {i for i, g in enumerate(slots) if g is not None}
        whole = [made[d.passing[i][0]] if i in d.passing and not d.passing[i][1].isdisjoint(there) else g
                 for i, g in enumerate(slots)]
        shown = engine.show(self, list(whole))
        if all(map(is_, shown, whole)):
            self.precomputed = made
            return slots
        if any(shown[i] is not whole[i] for i in d.passing):
            raise AutogradError("a hook gave another gradient for a result of a traced function from which the function "
                                "computed other results; register it inside of the function")
        return [g if i in d.passing else shown[i] for i, g in enumerate(slots)]

    def _looked_at(self, engine) -> bool:
        """Return whether something looks at the gradient of a result from which others are computed."""
        d = self.differential
        if d is None or not d.passing:
            return False
        hooks = {which for which, _ in (self.pre_hooks or {}).values()} if engine.hooked else ()
        return "retain" in hooks or any(i in hooks or (self, i) in (engine.targets or ()) for i in d.passing)

    def _earlier(self, engine, slots) -> dict:
        """Take the gradients that arrived before at inputs to whose gradient this call adds several; return them by number."""
        there, found = {i for i, g in enumerate(slots) if g is not None}, {}
        for i in self.differential.starts:
            edge = self.edges[i]
            g = engine.pending.get(edge) if edge is not None and type(edge) is not Output else None
            if isinstance(g, (np.ndarray, DeviceArray)) and not self.differential.reach[i].isdisjoint(there):
                found[i] = engine.pending.pop(edge)
        return found

    def _computed(self, engine, slots, wholly=False, earlier=()) -> list:
        """Return the results of the job, or of the `whole` job, for gradients of the results; `earlier` ones begin sums."""
        d = self.differential
        self.going = frozenset([i for i, g in enumerate(slots) if g is not None])
        if self.residuals is None or not self.freed.isdisjoint(self.going):
            raise AutogradError("backward went through a traced function a second time, but what it had saved is freed after "
                                "the first; call the first backward with retain_graph=True")
        if engine.on_tensors:
            raise AutogradError("a traced function's backward cannot itself be differentiated or traced here, since "
                                f"{self._kept()}; put the derivative inside the traced function")
        for guard, memory in zip(self.guards, d.memories):
            if guard is not None and guard[0].version != guard[1] and not memory.results.isdisjoint(self.going):
                self._check(memory.kind, *guard)
        env = {}
        for (_, number), value in zip(d.residuals, self.residuals):
            env[number] = value
        example = next(g for g in slots if g is not None)
        for number, g, aval in zip(d.seeds, slots, self.outs):
            env[number] = zeros_on_device_of(example, aval.shape, aval.dtype.np) if g is None else g
        for i in earlier:
            env[d.starts[i]] = earlier[i]
        job = d.whole if wholly else d.job_after(tuple(earlier)) if earlier else d.job
        return job.run(env, self.symbols)

    def _check(self, kind, storage, version):
        """Raise if saved memory was overwritten."""
        saved = f"a traced function saved {'an input' if kind == 'input' else 'a result'} for its gradient"
        if storage.was_overwritten(version):
            by = f" by {storage.writer[0]} at {storage.writer[1]}:{storage.writer[2]}" if storage.writer else ""
            raise AutogradError(f"{saved}, overwritten since{by}: it is at version {storage.version}, expected {version}. Use "
                                "the out-of-place form there, or clone() before writing.")
        swaps = storage.data_swaps or ()
        if any(left() is residual and at > version for _, left, _, at in swaps for residual in self.residuals):
            raise AutogradError(f"{saved}, whose .data was set since: set it after backward(), or write the new values in "
                                "place (t.data.copy_(new))")

    def rescue_result(self, storage):
        """Save copies of a result that is about to be overwritten, if eager code would."""
        d = self.differential
        if d is None or self.residuals is None:
            return
        for n, (guard, memory) in enumerate(zip(self.guards, d.memories)):
            if guard is not None and memory.rescued and guard == (storage, storage.version):
                self.guards = (*self.guards[:n], None, *self.guards[n + 1:])
                kept = {slot for kind, at, slot in d.shared if (kind, at) == (memory.kind, memory.position)}
                self.residuals = [a.copy() if slot in kept else a for (slot, _), a in zip(d.residuals, self.residuals)]

    def _kept(self) -> str:
        """Return what keeps the eager nodes from being restored, or an empty text."""
        d = self.differential
        if d.error is not None:
            return "its backward raises"
        if d.passing and self.pre_hooks:
            return "a hook looks at a result of it from which it computes others"
        return d.tape.refusal

    def expand(self, engine):
        """Restore the eager nodes, which from now on are behind this one."""
        d = self.differential
        if self.rules is not None or d is None or self.residuals is None or self._kept():
            return
        if d.passing and any((self, i) in (engine.targets or ()) for i in d.passing):
            return
        arrays = {number: a for (_, number), a in zip(d.residuals, self.residuals)}
        self.rules, self.edges = restored(self, arrays)
        self.residuals = None

    def _gradient(self, g, results):
        """Return a gradient as an array, or as a sparse tensor."""
        if g.make is None:
            return results[g.values[0]]
        make = bound_values(g.make, self.symbols) if has_symbols(g.make) else g.make
        return make(*[wrap(results[at]) for at in g.values])


def used_up(a) -> Output:
    """Return the history of a result that a backward inside of the trace has used up."""
    return Output(TraceNode(None, (), None, (), (aval_of(a),)), 0)


def attach(differential, replay, results):
    """Put a replay on the tape, if anything that it used requires a gradient, and return its node."""
    inputs = [replay.tensors[i] for i in differential.wanted]
    edges = tuple([t._former_leaf if t._node is None else t._node for t in inputs])
    if edges and not any(e is not None for e in edges):     # none at all: it all ends at leaves that the function has made
        return None
    outs = tuple([aval_of(results[i]._a) for i in differential.results])
    env, tensors = replay.env, replay.tensors
    for kind, at, slot in differential.shared:
        if kind != "whole":         # which is there already
            env[slot] = (results if kind == "result" else tensors)[at]._a
    residuals = [env[slot] for slot, _ in differential.residuals]
    guards = [None if m is None else (tensors if m.kind == "input" else results)[m.position]._storage.guard()
              for m in differential.memories]
    node = TraceNode(differential, edges, residuals, tuple(guards), outs, replay.symbols)
    for k, i in enumerate(differential.results):
        if i in differential.rewritten:
            new = wrap(results[i]._a)
            new._node = Output(node, k)
            rewrite_history(results[i], new, "a traced function")
        else:
            results[i]._node = Output(node, k)
    return node
