"""Copies of a plan for new sizes, made quickly.

A decoder with a growing cache meets new sizes at every call. The native steps, the lifetimes of values, and all places in the
environment and in the list of words are found once, for the arrangement with symbolic sizes. For given sizes there remain the
native calls of the steps that sizes change, each kind of them once, however many layers have it, and the places in the arena.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ....ir.cached_property import cached_property
from ....ir.graph.graph import Value
from ....ir.symbols.substitute import data_evaluator, evaluator, has_symbols
from ....passes.schedule.plan_memory import lay_out, place, room_for, room_of
from ....passes.schedule.plan_steps import Fused, Run, shallow, values_of
from ....passes.schedule.specialize_shapes import Binder, Copies
from ...state.mode import tls
from ..calls import pool
from ..calls.step_list import OPERANDS, Template
from .plan_runner import NativeRun, work_of
from .program import (
    CalledNode,
    CompiledGraph,
    EnvironmentSlots,
    SharedCalls,
    arrange_for_cpu,
    free_outcomes,
    kernel_of,
    run_journaled,
)
from .step_cache import Kinds, form_of, locations_of

BASE_WORK, STEP_WORK, CALL_WORK = 35, 3, 16     # of binding sizes: at all, for each step, and for each kind of called steps
_MOST_PLANS = 8
_MOST_LAID_OUT = 64     # cached layouts of arenas
_LARGE = 1 << 20        # bytes of a value
_MET_AGAIN = 3          # runs from which on sizes are no longer new


class Sized:
    """A traced graph of symbolic sizes; `bind` returns it for given ones. Arguments as for `program.traced`."""

    def __init__(self, graph, owned=frozenset(), targets=None, brief=frozenset()):
        self._binder = Binder(arrange_for_cpu(graph, owned, targets), shares=True)
        self._calls = SharedCalls(self._binder.steps)
        self.arrangement: Any = None        # built with the first copy

    @cached_property
    def work(self) -> int:
        """About how many small operators take as long as binding new sizes."""
        steps = [s for s in self._binder.plan.steps if s not in self._binder.steps]
        kinds = Kinds(steps, self._binder.names)
        called = {kinds.of[s] for s in steps if type(s) is not Fused}
        return BASE_WORK + STEP_WORK * len(steps) + CALL_WORK * len(called)

    def bind(self, values: dict):
        """Return the compiled graph for `values` of the names; later ones share what they have in common with the first."""
        if self.arrangement is None:
            self.arrangement = SharedArrangement(self._binder, self._calls, kernel_of)
            return self.arrangement.whole(values)
        return self.arrangement.copy(values)


sized = Sized


class SharedArrangement:
    """The common part of the copies of an arrangement."""

    def __init__(self, binder: Binder, calls: SharedCalls, kernel_of):
        self.binder, self._calls, self._kernel_of = binder, calls, kernel_of
        plan = binder.plan
        self.in_place = frozenset(i for i, v in enumerate(plan.graph.outputs) if v in plan.in_place)
        self._fixed = [s for s in plan.steps if s in binder.steps and type(s) is not Fused]
        self._plans: dict = {}          # what is native, and how -> its plan
        self._prepared: dict = {}       # number of threads -> prepared steps that no size changes

    @cached_property
    def kinds(self) -> Kinds:
        """The kinds of the steps that sizes change."""
        return Kinds([s for s in self.binder.plan.steps if s not in self.binder.steps], self.binder.names)

    @cached_property
    def _called(self) -> list:
        return list(dict.fromkeys([kind for s, kind in self.kinds.of.items() if type(s) is not Fused]))

    def copy(self, values: dict) -> "SizedGraph":
        """Return the arrangement for `values` of the names, ready to run."""
        copies, changes, threads = self.binder.copies(values), pool.changes(), pool.get_num_threads()
        fixed, fixed_form = self._for_threads(threads)
        numbers = tuple([values[name] for name in self.binder.names])
        sized = self.kinds.sized(numbers, copies)
        prepared = _Prepared(fixed, self.kinds.of, sized)
        most = threads if pool.changes() == changes else 1
        key = most, fixed_form, tuple([sized[kind].form for kind in self._called])
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) > _MOST_PLANS:
                self._plans.clear()
            plan = self._plans[key] = _SharedPlan(self, prepared, copies, most)
        steps = plan.steps(prepared, copies, numbers, self._kernel_of)
        return SizedGraph(self, values, plan, steps, threads)

    def _for_threads(self, threads: int) -> tuple:
        """Return (the prepared steps that no size changes, their form)."""
        found = self._prepared.get(threads)
        if found is None:
            changes = pool.changes()
            made = {s: self._calls.prepare(s) for s in self._fixed}
            found = made, tuple(map(form_of, made.values()))
            if pool.changes() == changes:
                self._prepared[threads] = found
        return found

    def whole(self, values: dict) -> CompiledGraph:
        """Return the compiled graph of a full copy."""
        return CompiledGraph(self.binder.bind(values), self._kernel_of, prepare=self._calls.prepare)


class _Prepared(dict):
    """{step: its prepared call}: of those that no size changes, and, on demand, of the others."""

    def __init__(self, fixed: dict, kind_of: dict, sized: list):
        super().__init__(fixed)
        self.kind_of, self.sized = kind_of, sized

    def __missing__(self, step):
        made = self.sized[self.kind_of[step]].prepared
        made = self[step] = None if made is None else made.at(locations_of(step))
        return made


class _SharedPlan:
    """The plan of an arrangement with symbolic sizes, for given native steps and the operands that they may be written over."""

    def __init__(self, arrangement: SharedArrangement, prepared: dict, copies: Copies, threads: int):
        self.arrangement, self.threads = arrangement, threads
        self._names = names = arrangement.binder.names
        plan = self.plan = place(arrangement.binder.plan,
                                 lambda s: None if prepared[s] is None else prepared[s].call.scratch_bytes,
                                 lambda s: {} if prepared[s] is None else prepared[s].over_values,
                                 lambda v: room_of(copies.value(v)))
        graph = plan.graph
        self.number = number = EnvironmentSlots(zip(graph.inputs, range(len(graph.inputs))))
        for s in plan.steps:
            for v in (*s.reads, *s.writes, *s.over_inputs) if type(s) is Run else (*values_of(s.node), *s.node.outputs):
                number[v]           # (a lookup assigns its slot)
        self.outputs = tuple([number[v] for v in graph.outputs])
        self.room = [None] * (len(number) - len(graph.inputs))
        self.is_native = all([type(s) is Run for s in plan.steps])  # noqa: C419
        self._runs: dict = {}           # run -> its `_SharedRun`
        self._called: dict = {}         # called node -> a function that gives it for some sizes
        runs = [s for s in plan.steps if type(s) is Run]
        self._layouts: dict = {s: {} for s in runs}        # run -> sizes in its arena -> one that was laid out for these
        self._rooms = {s: _rooms(s, names) for s in runs}
        self._results = {s: data_evaluator(tuple([v.shape for v in s.writes]), names) for s in runs}

    def steps(self, prepared: "_Prepared", copies: Copies, numbers: tuple, kernel_of) -> tuple:
        """Return the steps for some sizes, the values of the names."""
        found: list[Any] = []
        for s in self.plan.steps:
            if type(s) is not Run:
                if s not in self._called:
                    self._called[s] = _called(CalledNode(s, self.number, kernel_of, self.plan.in_place), self._names)
                found.append(self._called[s](numbers))
                continue
            run = shallow(s)
            self._place_values(s, run, [prepared[x].call.scratch_bytes for x in s.scratch], numbers)
            if s in self._runs:
                made = self._runs[s].resized(run, self._results[s](*numbers), prepared, copies)
            else:
                made = NativeRun(run, prepared, self.number, kernel_of, self.threads, copies)
                self._runs[s] = _SharedRun(made, self.arrangement.kinds.of)
            made.forget()
            found.append(made)
        free_outcomes(found)
        return tuple(found)

    def _place_values(self, shared: Run, run: Run, scratch: list, numbers: tuple):
        """Place the values of the arena: as for other sizes, if these took as much room."""
        values, bytes_of = self._rooms[shared]
        sizes = tuple(map(_with_room, (*bytes_of(*numbers), *scratch)))
        known = self._layouts[shared]
        found = known.get(sizes)
        if found is None:
            if len(known) >= _MOST_LAID_OUT:
                known.clear()
            room = dict(zip((*values, *shared.scratch), map(room_for, sizes)))
            lay_out(run, {x: room[x] for x in shared.scratch}, room.__getitem__)
            known[sizes] = run
        else:
            run.scratch, run.arena, run.arena_bytes = found.scratch, found.arena, found.arena_bytes


def _with_room(size: int) -> int:
    """Return the bytes reserved for a value: a few more than needed if it is small, so that new sizes seldom move it."""
    step = 1 << max(0, size.bit_length() - 4)
    return size if size >= _LARGE else -(-size // step) * step


def _rooms(run: Run, names) -> tuple:
    """Return (the values in a run's arena, a function from the names' values to their bytes)."""
    values = [x for x, *_ in run.lives if type(x) is Value]
    return values, evaluator([v.aval.size * v.dtype.itemsize for v in values], names)


def _called(called: CalledNode, names) -> Callable:
    params, constants = called.params, tuple([x for i, x in called.sources if i < 0])
    data = tuple(params.values()), constants
    if not has_symbols(data):
        return lambda numbers: called
    evaluate = data_evaluator(data, names)

    def of(numbers):
        values, others = evaluate(*numbers)
        return called.with_numbers(dict(zip(params, values)), others)

    return of


class _SharedRun:
    """The common part of a run for all sizes, taken from a run for some."""

    def __init__(self, sample: NativeRun, kind_of: dict):
        run, made = sample.source, sample.list
        self._sample, self._template, self._slots = sample, Template(made), made.slots
        self._alive = [x for x, *_ in run.lives]            # values with a place of their own in the arena
        place = {x: i for i, x in enumerate(self._alive, 1)}
        for v, read in run.shared.items():
            place[v] = place[read]
        self._varying: list = []        # (step, its number, its kind, the number of its first operand's base)
        bases: list = []                # the numbers of the bases of their operands
        slots, within = [], []         # for each base: its slot, 0 for an argument; the bytes from there
        for number, step in enumerate(run.steps):
            operands, first = sample.operands_of(step), len(slots) + OPERANDS
            if step in kind_of:
                self._varying.append((step, number, kind_of[step], first))
                bases += range(first, first + len(operands))
            slots += [place.get(step, 0), 0, 0, *[place.get(v, 0) for v, _ in operands]]
            within += [*[0] * OPERANDS, *[offset for _, offset in operands]]
        self._base_slots, self._bases = np.array(slots, np.intp), np.array(bases, np.intp)
        self._within = np.array(within, np.int64)
        self._work = sum([work_of(s, sample.prepared, sample.copies) for s in run.steps if s not in kind_of])

    def resized(self, run: Run, shapes: tuple, prepared: "_Prepared", copies: Copies) -> NativeRun:
        """Return the run for other sizes, with results of these shapes."""
        made, sized = self._sample.resized(run, shapes, prepared, copies), prepared.sized
        offsets, instead, work = self._offsets(run, sized), [], self._work
        for step, number, kind, first in self._varying:
            found = sized[kind]
            if found.asks:
                written = made.written(step, lambda i, first=first: (self._slots[first + i], offsets[first + i]))
            else:
                written = found.written(made.threads)
            work += found.work
            instead.append((number, written))
        calls = self._sample.list.calls
        if all([written.form == calls[number].form for number, written in instead]):  # noqa: C419
            made.take(self._template.filled(offsets, instead), work)
            return made
        made.list = self._sample.list.with_others(instead)
        made.take(Template(made.list).filled(offsets), work)
        return made

    def _offsets(self, run: Run, sized: list):
        """Return the bytes from each base's slot to its location."""
        within = self._within.copy()
        within[self._bases] = [offset for _, _, kind, _ in self._varying for offset in sized[kind].offsets]
        starts = np.array([0, *[run.scratch[x] if x in run.scratch else run.arena[x] for x in self._alive]], np.int64)
        return within + starts[self._base_slots]


class SizedGraph:
    """A copy of an arrangement, ready to run.

    Everything but `run` goes to the compiled graph for these sizes, the `whole`, which also takes over if they come again.
    """

    def __init__(self, arrangement: SharedArrangement, values: dict, shared: _SharedPlan, steps: tuple, threads: int):
        self._arrangement, self._values, self._shared = arrangement, values, shared
        self._steps, self._threads = steps, threads
        self.in_place, self.is_native = arrangement.in_place, shared.is_native
        self._runs = 0

    @cached_property
    def whole(self) -> CompiledGraph:
        return self._arrangement.whole(self._values)

    def run(self, arrays) -> list:
        journal = tls.m.journal if self.in_place else None
        if journal is None or self not in journal:
            self._runs += 1
            if self._runs >= _MET_AGAIN or pool.get_num_threads() != self._threads:
                return self.whole.run(arrays)
        if journal is not None:
            return run_journaled(self, journal, arrays, self._shared, self._steps)
        env = [*arrays, *self._shared.room]
        for step in self._steps:
            step.run(env)
        return [env[i] for i in self._shared.outputs]

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.whole, name)

