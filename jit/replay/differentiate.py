"""Gradients through a replayed trace: the backward graph, recorded once with the forward and run in backward."""

from dataclasses import dataclass
from functools import reduce
from operator import is_, or_
from typing import Any

import numpy as np

from ...ir.cached_property import cached_property
from ...ir.errors import AutogradError
from ...ir.graph.graph import Builder, Value
from ...ir.ops.core.shape import full
from ...ir.source_location import place_text
from ...ir.symbols.substitute import bound_values, has_symbols
from ...runtime.autograd.engine import replaced
from ...runtime.core.backend import HOST
from ...runtime.core.device_array import DeviceArray
from ...runtime.core.node import Leaf, Node, Output, aval_of, hooks_of, new_number, next_functions, source_of
from ...runtime.core.tensor import wrap
from ...runtime.core.writes import chain_history, rewrite_history
from ...runtime.state.structure import add_hook
from ..guards.expectation import is_expectation
from ..guards.snapshot import looks_like, snapshot
from ..recorder.backward import key_of
from ..recorder.outputs import parts_of
from ..recorder.tape import input_end, result_end
from .compile_segment import Region, Result
from .restore_tape import SavedView, reads_of_call, restored, values_for_users
from .symbolic_job import job_of


class _Jobs:
    """Jobs of a backward, one for each set of results whose gradients come in. As in eager code, rules of other results do not
    run: these could make nan of zeros."""

    def __init__(self, recording, nodes, numbers, wanted):
        back = recording.backward
        self._name, self._scope = recording.builder.name + "_backward", recording.scope
        self._backend = next(iter(recording.devices.values()), HOST)
        self._nodes, self._numbers, self._rules, self._seeds = nodes, numbers, back.rules, back.seeds
        self._starts = {i: back.starts[p][0] for i, p in enumerate(back.gradients) if p in back.starts}
        self._wanted, self._passing = wanted, [*back.passing.values()]
        self._made: dict = {}

    def of(self, going: frozenset, wholly=False, after=(), picked: frozenset | None = None) -> tuple:
        """Return (job, position of each wanted value among its results, or None) for the gradients of the results `going`. The
        job also gives the gradients of results from which others are computed, if `wholly`. The sums of the gradients numbered
        `after` begin with what arrived before, in eager code's order. `picked` are the places of the values that the caller
        needs, if not all."""
        key = going, wholly, after, picked
        if key not in self._made:
            self._made[key] = self._job_of(*key)
        return self._made[key]

    def made(self) -> list:
        """Return the jobs so far; before the first backward, that for gradients of all results."""
        if not self._made:
            self.of(frozenset(range(len(self._seeds))))
        return [job for job, _ in self._made.values()]

    def _job_of(self, going, wholly, after, picked):
        missing = {s for i, s in enumerate(self._seeds) if i not in going}
        missing.update([start for i, start in self._starts.items() if i not in after])
        nodes, numbers = self._without(missing, going)
        everything = [*self._wanted, *(self._passing if wholly else ())]
        if picked is not None:
            missing.update({*everything} - {v for i, v in enumerate(everything) if i in picked})
        wanted = [v for v in everything if v not in missing]
        positions = [None if v in missing else wanted.index(v) for v in everything]
        nodes = _needed(nodes, [numbers[v] for v in wanted], numbers)
        region = Region(self._name, nodes, numbers, scope=self._scope, backend=self._backend)
        return job_of(region, [Result(numbers[v], owned=True) for v in wanted]), positions

    def _without(self, missing, going) -> tuple:
        """Return the nodes that run where some values are missing, and the numbers of all values. Further missing values are
        added. A sum with one of them is its other part; a rule gets zeros."""
        nodes, zeros, numbers = [], {}, dict(self._numbers)
        for n in self._nodes:
            rule = self._rules.get(n)
            gone = [x for x in n.inputs if type(x) is Value and x in missing]
            there = [x for x in n.inputs if type(x) is Value and x not in missing]
            if not rule.isdisjoint(going) if rule is not None else not gone:
                zeros.update(dict.fromkeys(gone))
                nodes.append(n)
            elif rule is not None or not there:
                missing.update(n.outputs)
            else:
                numbers[n.outputs[0]] = numbers[there[0]]
        builder = Builder(self._name)
        for x in zeros:
            zero = builder.call(full, None, shape=x.aval.shape, value=0, dtype=x.aval.dtype)
            numbers[zero] = numbers[x]
        return [*builder.nodes, *nodes], numbers


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
    bare       indices of new views of these, made under no_grad() after the last write
    behind     [(index, index of the result or None, position of the input, views)] of views of these whose history goes on
               from another such view
    still      positions of inputs that get other memory, perhaps that of a rewritten one, and keep their history
    starts     {number of a wanted gradient that is a sum: slot of the gradient that arrived at its input before}
    seeds      slots of the incoming gradients
    grads      each wanted `Gradient` over positions among the job's results, None where there is no path
    reach      for each wanted gradient, the numbers of the incoming ones that lead to it; none if it is always there
    jobs       the jobs that compute them
    passing    {number of a result from which others are computed: (position in what jobs give `wholly`, the numbers of the
               incoming ones that lead to it)}
    """

    wanted: list
    results: list
    residuals: list
    seeds: list
    grads: list
    reach: list
    jobs: _Jobs
    passing: dict
    memories: list
    shared: list
    tape: Any
    rewritten: frozenset
    bare: list
    behind: list
    still: list
    starts: dict
    errors: list                        # `RecordedError`s: leaves get the gradients that came before
    read: list                          # guards on what user code in the backward reads

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
        memories = [m for m in back.memories if m is not None and not m.is_apart]
        views = _views_of_shared(nodes, everything, memories)
        nodes = [*dict.fromkeys([n for steps in views.values() for n in steps]), *nodes]
        own = {*views, *[v for n in nodes for v in n.outputs]}
        outside = dict.fromkeys([x for n in nodes for x in n.inputs if type(x) is Value and x not in own]
                                + [v for v in (*everything, *values_for_users(back.tape)) if v not in own])
        numbers = {v: i for i, v in enumerate([*outside, *[s for s in back.seeds if s not in outside], *own])}
        numbers.update([(v, numbers[steps[-1].outputs[0]]) for v, steps in views.items()])
        residuals = [(slots[v], numbers[v]) for v in outside if v in slots]
        roots = {m.whole: m for m in memories if m.whole is not None and (m.kind != "input" or m.whole.node is not None)}
        shared = [(m.kind, m.position, slots[v]) for v, m in roots.items() if v in numbers and v in slots]
        grads = [None if g is None else g.over({v: i for i, v in enumerate(there)}) for g in found]
        jobs = _Jobs(recording, nodes, numbers, there)
        leads = _reach(nodes, back.seeds)
        passing = {i: (len(there) + n, leads.get(v, frozenset())) for n, (i, v) in enumerate(back.passing.items())}
        starts = {i: numbers[start] for i, p in enumerate(back.gradients) if p in back.starts
                  for start, _, count in [back.starts[p]] if count > 1 and start in numbers}
        outputs = recording.outputs
        rewritten = frozenset([i for i in results if outputs[i].rewritten])
        sources = {outputs[i].source for i in rewritten}
        bare = [i for i, o in enumerate(outputs) if not o.requires_grad and (
            (o.source in sources and o.itself is None and not (o.same or o.detached))
            or (o.part is not None and o.part.is_view and o.part.of in rewritten))]
        behind = _behind(recording, outputs) if rewritten else []
        still = [position for position, o in recording.rebinds if not o.rewritten] if rewritten else []
        return Differential(list(back.gradients), results, residuals, [numbers[s] for s in back.seeds], grads,
                            [back.reach[p] for p in back.gradients], jobs, passing,
                            [m and m._replace(whole=None, values={}) for m in back.memories], shared,
                            back.tape.over(lambda v: _saved_in(v, numbers, views)),
                            rewritten, bare, behind, still, starts, back.errors, back.read)

    def errors_of(self, going, ends) -> list:
        """Return the errors that a backward from some results to some ends (None: to all) raises."""
        found = []
        for error in self.errors:
            uses = [node.use for node in self.tape.nodes if node.error == str(error.exception)]
            if not error.results.isdisjoint(going) and (not uses or any(use.is_in(going, ends) for use in uses)):
                found.append(error)
        return found

    @cached_property
    def all_results(self) -> tuple:
        """The results and ends of a backward from all results to all ends, as in `Use`."""
        return frozenset(range(len(self.seeds))), None

    @cached_property
    def is_plain(self) -> bool:
        """Whether a backward from all results to all ends does no more than to run its job."""
        return not (self.errors or self.starts or self.read or self.passing)

    @cached_property
    def freed_by_all(self) -> tuple:
        """The `Use` of each node that such a backward uses up, and whether nothing of what was saved is left then."""
        freed = frozenset([use for use in self.tape.used_up if use.is_in(*self.all_results)])
        return freed, bool(self.tape.reading) and all(_is_freed(i, self.tape.used_up, freed) for i in self.tape.reading)

    @cached_property
    def endless(self) -> frozenset:
        """The numbers of the wanted gradients that do not exist."""
        return frozenset([i for i, (p, g) in enumerate(zip(self.wanted, self.grads))
                          if (g is None if not self.errors else p not in self.tape.ends)])

    @cached_property
    def guarded(self) -> list:
        """For each memory (its kind, the number of the input or result), with None if nothing there is read."""
        return [("", None) if m is None or not m.results else ("result" if m.kind == "whole" else m.kind, m.position)
                for m in self.memories]

    def positions_for(self, slots) -> list:
        """Return positions as in `grads`, None for those that none of the incoming gradients (a gap is None) leads to."""
        there = {i for i, g in enumerate(slots) if g is not None}
        return [at if not reach or not reach.isdisjoint(there) else None for at, reach in zip(self.grads, self.reach)]


def _behind(recording, outputs) -> list:
    """Return `Differential.behind`, each result behind the one from which its history goes on."""
    joined = {part for parts in recording.joined.values() for part in parts}
    views = [(i, o) for i, o in enumerate(outputs) if o.requires_grad and not (o.same or o.has_history)]
    of_inputs = [(i, None, o.source, o.chain) for i, o in views if o.source in joined and o.part is None]
    return of_inputs + [(i, o.part.of, None, o.part.chain) for i, o in parts_of(outputs)
                        if (i, o) in views and o.source is not None and o.part.requires_grad]


def _reach(nodes, seeds) -> dict:
    """Return for each value of a backward the numbers of the seeds that it depends on."""
    known: dict = {seed: frozenset((i,)) for i, seed in enumerate(seeds)}
    for n in nodes:
        known.update(dict.fromkeys(n.outputs, frozenset().union(*[known.get(x, ()) for x in n.inputs if type(x) is Value])))
    return known


def _views_of_shared(nodes, values, memories) -> dict:
    """Return {saved value that a backward reads: the forward's view operators that lead to it from all of its memory}. The
    backward runs these itself: so the values are not copied, and follow the memory as eager code's do."""
    own = {v for n in nodes for v in n.outputs}
    read = {x for x in [*[x for n in nodes for x in n.inputs], *values] if type(x) is Value and x not in own}
    found = {}
    for memory in memories:
        for value in read.intersection(memory.values):
            steps: list = []
            v = memory.values[value]
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


def _needed(nodes, values, numbers=None):
    """Return the nodes that some values depend on; values that have the same number are one."""
    name_of = numbers.__getitem__ if numbers is not None else lambda v: v
    live, needed = set(values), []
    for n in reversed(nodes):
        if any(name_of(v) in live for v in n.outputs):
            needed.append(n)
            live.update([name_of(x) for x in n.inputs if type(x) is Value])
    return needed[::-1]


class TraceNode:
    """The node on the tape for one replay of a trace."""

    op = None

    def __init__(self, differential, edges, residuals, guards, outs, symbols=(), ends=(), name=""):
        self.differential = differential        # None: a backward inside of the trace has used up the history
        self._name = name            # of the eager node, then
        self.symbols = symbols       # the values of symbolic sizes
        self.edges = edges
        self.ends = ends             # the histories of the inputs, to which gradients of higher order may lead
        self.residuals = residuals
        self.guards = guards         # for each of the differential's memories (storage, version), or None
        self.outs = outs
        self.number = new_number()
        self.pre_hooks = self.post_hooks = self.line = None
        self.precomputed: tuple = ((), None)      # gradients that come next, and what a job gave for them
        self.freed: frozenset = frozenset()     # the `Use` of each node that a backward has used up
        self.going: tuple = ((), None)          # the numbers of the results from which the last one goes, and its ends
        self.rules: Any = None                  # the eager nodes, once they are restored,
        self.kept: dict = {}                    # and the results, by number, that these hold
        self.read: dict = {}            # {guard on what user code in the backward reads, and calls look up: what was there}

    @property
    def label(self) -> str:
        """The name of the eager node of all results; one of its own, if there are several such names."""
        if self.differential is None:
            return self._name
        labels = {*self.differential.tape.labels}
        return labels.pop() if len(labels) == 1 else "TraceBackward"

    def label_at(self, index) -> str:
        return self.label if self.differential is None else self.differential.tape.labels[index]

    @property
    def next_functions(self):
        return next_functions(self.edges)

    name = Node.name
    __repr__ = Node.__repr__
    _sequence_nr = Node._sequence_nr

    def release(self):
        """Free the nodes through which a backward went; what other results or ends need stays."""
        if self.differential is None:
            self.residuals, self.kept = None, {}
            return
        tape = self.differential.tape
        if self.going is self.differential.all_results and not self.freed:
            self.freed, is_done = self.differential.freed_by_all
        else:
            self.freed |= {use for use in tape.used_up if use.is_in(*self.going)}
            is_done = bool(tape.reading) and all(_is_freed(i, tape.used_up, self.freed) for i in tape.reading)
        if is_done:
            self.residuals, self.kept = None, {}

    def _is_used_up(self, going, ends) -> bool:
        """Return whether a backward has used up a node between some results and some ends (None: all)."""
        return any(use.is_in(going, ends) for use in self.freed)

    def run(self, engine, slots):
        """Return gradients of the inputs, given those of the results (a gap is zero)."""
        if self.rules is not None:
            return slots
        d = self.differential
        if d is not None and d.is_plain and engine.targets is None and not (self.freed or engine.on_tensors) and all(
                [g is not None for g in slots]):  # noqa: C419  (quicker than a generator)
            made = self._run_whole(slots)
            return [None if edge is None or g is None else self._gradient(g, made) for g, edge in zip(d.grads, self.edges)]
        ends = self._ends(engine)
        (given, made), self.precomputed = self.precomputed, ((), None)
        if made is None or not all(map(is_, slots, given)):
            earlier = self._earlier(engine, slots, ends) if d is not None and d.starts else {}
            made = self._computed(engine, slots, ends, earlier=earlier)
        grads = [None if g is None or not _is_in(p, ends) else self._gradient(g, made)
                 for g, p in zip(d.positions_for(slots), d.wanted)]
        for error in [] if d is None else d.errors_of(*self.going):
            for g, edge, position in zip(grads, self.edges, d.wanted):
                if g is not None and type(edge) is Leaf and position in error.complete:
                    engine.deliver(edge, g)
                    engine.finish_leaf(edge)
            raise error.exception
        return [None if edge is None else g for g, edge in zip(grads, self.edges)]

    def _run_whole(self, slots) -> list:
        """Return what the job gives for gradients of all results."""
        d = self.differential
        self.going = d.all_results
        self._check_memories(*self.going)
        return self._run(d.jobs.of(self.going[0]), slots)

    def _run(self, job_and_positions, slots, earlier=()) -> list:
        """Return what a job gives for gradients of the results (None: there is none)."""
        d, (job, positions) = self.differential, job_and_positions
        env = {number: value for (_, number), value in zip(d.residuals, self.residuals or ())}
        env.update([(number, g) for number, g in zip(d.seeds, slots) if g is not None])
        env.update([(d.starts[i], g) for i, g in dict(earlier).items()])
        made = job.run(env, self.symbols)
        return [None if at is None else made[at] for at in positions]

    def looks_inside(self, engine, slots):
        """Show the gradients of results to hooks and the caller. Gradients of results from which others are computed are inside
        of the job, so the job runs where something looks at them, behind the hooks of the other results. Restored nodes show
        their gradients themselves."""
        d = self.differential
        if self.rules is not None:
            return slots
        ends = self._ends(engine)
        if ends is None:
            return self._shown(engine, slots, None)
        leading = frozenset().union(*[d.reach[i] or range(len(slots)) for i, p in enumerate(d.wanted) if ends & input_end(p)],
                                    *[d.passing[i][1] for i in d.passing if ends & result_end(i)],
                                    *[error.results for error in d.errors_of(range(len(slots)), ends)])
        asked = [g if i in leading or (self, i) in engine.targets else None for i, g in enumerate(slots)]
        return [g if i in leading else None for i, g in enumerate(self._shown(engine, asked, ends))]

    def _ends(self, engine) -> int | None:
        """Return to which ends of the tape a backward goes, as in `Use`; None for all. Only rules on the way there run."""
        d = self.differential
        if d is None or engine.targets is None:
            return None
        ends = 0
        for p, edge in zip(d.wanted, self.edges):
            source = edge.source if type(edge) is Output else edge
            if source is not None and (source in engine.wanted or source in engine.needed):
                ends |= input_end(p)
        for i in d.passing:
            ends |= result_end(i) if (self, i) in engine.targets else 0
        return ends

    def _shown(self, engine, slots, ends):
        """Show the gradients of results; return them as hooks leave them."""
        d = self.differential
        if not self._looked_at(engine):
            return engine.show(self, slots)
        hooks = list((self.pre_hooks or {}).values()) if engine.hooked else []
        slots = engine.run_tensor_hooks(self, list(slots), [h for h in hooks if h[0] != "retain" and h[0] not in d.passing])
        on_the_way = {i for i in d.passing if ends is None or ends & result_end(i) or any(
            i in reach and ends & input_end(p) for p, reach in zip(d.wanted, d.reach))}
        made = self._computed(engine, slots, ends, on_the_way)
        there = {i for i, g in enumerate(slots) if g is not None}
        whole = [made[d.passing[i][0]] if i in on_the_way and not d.passing[i][1].isdisjoint(there) else g
                 for i, g in enumerate(slots)]
        shown = engine.run_tensor_hooks(self, list(whole), [h for h in hooks if h[0] == "retain" or h[0] in d.passing])
        if engine.targets is not None:
            engine.capture(self, shown)
        if not all(map(is_, shown, whole)):
            raise AutogradError("a hook gave another gradient for a result of a traced function from which the function "
                                "computed other results; register it inside of the function")
        if engine.needed is None or self in engine.needed:
            self.precomputed = slots, made
        elif not engine.retain:         # it does not run
            self.release()
        return slots

    def _looked_at(self, engine) -> bool:
        """Return whether something looks at the gradient of a result from which others are computed."""
        d = self.differential
        if d is None or not d.passing:
            return False
        hooks = {which for which, _ in (self.pre_hooks or {}).values()} if engine.hooked else ()
        return "retain" in hooks or any(i in hooks or (self, i) in (engine.targets or ()) for i in d.passing)

    def _earlier(self, engine, slots, ends) -> dict:
        """Take the gradients that arrived before at inputs to whose gradient this call adds several; return them by number."""
        there, found = {i for i, g in enumerate(slots) if g is not None}, {}
        for i in self.differential.starts:
            edge = self.edges[i]
            g = engine.pending.get(edge) if edge is not None and type(edge) is not Output else None
            is_wanted = _is_in(self.differential.wanted[i], ends)
            if is_wanted and isinstance(g, (np.ndarray, DeviceArray)) and not self.differential.reach[i].isdisjoint(there):
                found[i] = engine.pending.pop(edge)
        return found

    def _computed(self, engine, slots, ends, passing=None, earlier=()) -> list:
        """Return what a job gives for gradients of the results, up to some ends, and those of the results `passing`, from which
        others are computed; `earlier` ones begin sums."""
        d = self.differential
        going = frozenset([i for i, g in enumerate(slots) if g is not None])
        self.going = going, ends
        if d is None or self._is_used_up(going, ends):
            raise AutogradError("backward went through a traced function a second time, but what it had saved is freed after "
                                "the first; call the first backward with retain_graph=True")
        if engine.on_tensors:
            raise AutogradError("a traced function's backward cannot itself be differentiated or traced here, since "
                                f"{self._kept()}; put the derivative inside the traced function")
        for guard in d.read:
            if not (guard.holds() if guard not in self.read else looks_like(guard.value(), self.read[guard])):
                raise AutogradError(f"{guard.chain}, which a backward through a traced function reads, has changed since the "
                                    "call: call backward() before, or inside of the traced function")
        self._check_memories(going, ends)
        picked = None
        if ends is not None:
            places = [at for p, g in zip(d.wanted, d.grads) if g is not None and _is_in(p, ends) for at in g.values]
            picked = frozenset([*places, *[d.passing[i][0] for i in passing or ()]])
        return self._run(d.jobs.of(going, passing is not None, tuple(earlier), picked), slots, earlier)

    def _check_memories(self, going, ends):
        for guard, memory in zip(self.guards, self.differential.memories):
            if guard is not None and guard[0].version != guard[1] and memory.is_read(going, ends):
                self._check(memory, *guard)

    def _check(self, memory, storage, version):
        """Raise if saved memory was overwritten."""
        what = "a result" if memory.kind in ("result", "whole") else "an input"
        saved = f"a traced function saved {what} for its gradient"
        if storage.was_overwritten(version):
            by = f" by {storage.writer[0]} at {place_text(storage.writer[1:])}" if storage.writer else ""
            raise AutogradError(f"{saved}, overwritten since{by}: it is at version {storage.version}, expected {version}. Use "
                                "the out-of-place form there, or clone() before writing.")
        if memory.is_apart:
            raise AutogradError(f"{saved}, and the same values in other memory, and one of the two was overwritten by .data "
                                "since: call backward() before, or write to a clone()")
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
        if d is None:
            return "a backward inside of it has used up what it had saved"
        if not {str(e.exception) for e in d.errors} <= {n.error for n in d.tape.nodes}:
            return "its backward raises"
        if self.residuals is None and reads_of_call(d.tape):
            return "what it had saved is freed"
        return d.tape.refusal

    def expand(self):
        """Restore the eager nodes, which from now on are behind this one. Those that a backward has used up have no arrays."""
        d = self.differential
        if self.rules is None and not self._kept():
            arrays = {number: a for (_, number), a in zip(d.residuals, self.residuals or ())}
            self.rules, self.edges = restored(self, None if self.residuals is None else arrays)
            self.residuals = None
            for i, edge in enumerate(self.edges):
                root, index = source_of(edge)
                _show_at(root, index, i, hooks_of(self, "pre_hooks"), len(self.outs))

    def own_edge(self, index):
        """Return the edge to the eager node of a result, with its attributes, hooks and edges; to this node, which refuses
        these, if eager nodes cannot be restored."""
        self.expand()
        if self.rules is not None and self.edges[index] is not None:
            return self.edges[index]
        if not isinstance(self, WholeNode):
            self.__class__ = WholeNode
        return Output(self, index)

    def hooking(self, index):
        """A hook is about to look at a result. If others are computed from it, its gradient arrives at its eager node."""
        if self.differential is not None and index in self.differential.passing:
            self.expand()

    def restored_behind(self, index, only_shown) -> list | None:
        """Return the eager nodes if other results are computed from one, else None."""
        if self.differential is None or index not in self.differential.passing:
            return None
        self.expand()
        if self.rules is None and not only_shown:
            raise AutogradError("the gradient of a view that a traced function has written cannot be told from that of its "
                                f"base, since {self._kept()}; take it inside of the function")
        return self.rules

    def edge_past(self, edge):
        """Return the edge to the restored node of a result, or the edge itself."""
        return edge if self.rules is None else self.edges[edge.index]

    def hand_over_targets(self, engine):
        """Let the caller look at gradients of results at the eager nodes: gradients of gradients also come there by saved
        results, past this node."""
        targets = engine.targets
        for i in () if self.rules is None else [i for i in range(len(self.outs)) if (self, i) in targets]:
            key = key_of(self.edges[i])
            targets.setdefault(key)
            engine.wanted.add(source_of(self.edges[i])[0])
            engine.endings.append(lambda i=i, key=key: targets.update({(self, i): targets[key]}))

    def _gradient(self, g, results):
        """Return a gradient as an array, or as a sparse tensor."""
        if g.make is None:
            return results[g.values[0]]
        make = bound_values(g.make, self.symbols) if has_symbols(g.make) else g.make
        return make(*[wrap(results[at]) for at in g.values])


class WholeNode(TraceNode):
    """The node for one replay in the hands of a user, where eager nodes cannot be restored. It is that of all results, so it
    takes no attributes and no hooks, which belong to the node of one."""

    def _refusal(self, what) -> str:
        return (f"{what} of the grad_fn of a result of a traced function cannot be used, since {self._kept()}; do so inside of "
                "the function")

    def __setattr__(self, name, value):
        if name not in self.__dict__ and not hasattr(TraceNode, name):
            raise AutogradError(self._refusal(f"the attribute {name}"))
        object.__setattr__(self, name, value)

    def __getattr__(self, name):
        raise AttributeError(self._refusal(f"the attribute {name}"))

    @property
    def metadata(self) -> dict:
        raise AutogradError(self._refusal("the metadata"))

    def register_hook(self, hook):
        """Raise. `hook` is ignored: it is not registered."""
        raise AutogradError(self._refusal("a hook"))

    register_prehook = register_hook


def _is_freed(i, used_up, freed) -> bool:
    """Return whether every backward from a result meets a node that is freed; `used_up` are those that backwards free."""
    known, gone = [[use.ends for use in uses if i in use.results] for uses in (used_up, freed)]
    return bool(gone) and (len(gone) == len(known) or reduce(or_, gone) == reduce(or_, known))


def _is_in(position, ends) -> bool:
    """Return whether a backward goes to an input; None stands for all ends."""
    return ends is None or ends & input_end(position) != 0


def _show_at(root, index, i, table, count):
    """Let the hooks on result number `i` of a replay, which are or will be in the `table` of its node, look at its gradient
    where a restored node gets it."""
    def shown(g):
        for _, hook in [h for h in table.values() if h[0] == i]:
            g = replaced(hook(g), g)
        return g

    def retained(run, g):
        slots = [None] * count
        slots[i] = g if root.outs is None else g[index]
        for _, hook in [h for h in table.values() if h[0] == "retain"]:
            hook(run, slots)

    add_hook(hooks_of(root, "pre_hooks"), (index, shown))
    add_hook(hooks_of(root, "pre_hooks"), ("retain", retained))


def used_up(a, name) -> Output:
    """Return the history of a result that a backward inside of the trace has used up; `name` is its eager node's."""
    return Output(TraceNode(None, (), None, (), (aval_of(a),), name=name), 0)


def ends_of(differential, replay) -> tuple:
    """Return the histories of the inputs of a replay, of which `attach` may change some."""
    return tuple([t._former_leaf if t._node is None else t._node for t in [replay.tensors[i] for i in differential.wanted]])


def before_rebinding(differential, tensors, results) -> tuple:
    """Return the storage of each memory that the node of a replay saves, and the histories that stay, while inputs have the
    memory that came in. None stands for memory that inputs get."""
    found: list = []
    for kind, at in differential.guarded:
        storage = None if at is None or kind == "rebound" else (results if kind == "result" else tensors)[at]._storage
        if storage is not None:
            storage.guarded = True
        found.append(storage)
    return found, [tensors[at]._node for at in differential.still]


def attach(differential, replay, results, ends, before):
    """Put a replay on the tape, which may end at leaves that the function has made. Inputs have their final memory."""
    env, tensors = replay.env, replay.tensors
    storages, histories = before
    edges = ends
    if differential.endless:
        edges = tuple([None if i in differential.endless else e for i, e in enumerate(ends)])
    outs = tuple([aval_of(results[i]._a) for i in differential.results])
    for kind, at, slot in differential.shared:
        if kind != "whole":         # which is there already
            env[slot] = (results if kind == "result" else tensors)[at]._a
    residuals = [env[slot] for slot, _ in differential.residuals]
    guards = [None if at is None else (storage or tensors[at]._storage).guard()
              for storage, (_, at) in zip(storages, differential.guarded)]
    node = TraceNode(differential, edges, residuals, tuple(guards), outs, replay.symbols, ends)
    if differential.read:
        node.read = {g: snapshot(g.value()) for g in differential.read if is_expectation(g.expected)}
    if differential.tape.kept:
        node.kept = {k: results[differential.results[k]] for k in differential.tape.kept}
    for k, i in enumerate(differential.results):
        if i in differential.rewritten:
            new = wrap(results[i]._a)
            new._node = Output(node, k)
            rewrite_history(results[i], new, "a traced function")
        else:
            results[i]._node = Output(node, k)
    for i in differential.bare:
        results[i]._node = None
    for i, number, position, chain in differential.behind:
        below = tensors[position] if number is None else results[number]
        results[i]._node = chain_history(below, replay.plain(chain))
    for at, history in zip(differential.still, histories):
        tensors[at]._node = history
