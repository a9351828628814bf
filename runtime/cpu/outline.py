"""Copies of an arrangement for sizes that were never met, made in little time.

A decoder whose cache grows meets new sizes at every call. Which steps are native code, what the arena holds and from when to
when, where everything stands in the environment and in the list of words: this is found once, over the arrangement itself,
whose sizes are symbolic. For given sizes there are left the native calls of the steps that sizes change, each kind of them
once, however many layers have it, and the places in the arena.
"""

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from ...ir.graph import Value
from ...ir.params import param_key, params_key
from ...ir.substitute import evaluator
from ...passes.bind import Binder, Copies
from ...passes.kernel_body import is_free, source_of
from ...passes.plan_memory import lay_out, place, room_for, room_of
from ...passes.plan_steps import Call, Fused, Product, Run
from . import native, pool
from .native_run import NativeRun
from .program import CalledNode, CompiledGraph, Numbers, SharedCalls
from .step_list import OPERANDS, Template

_MOST_PLANS = 8
_MET_AGAIN = 3          # the run by which sizes are no longer new


class Outline:
    """What copies of an arrangement have in common."""

    def __init__(self, binder: Binder, calls: SharedCalls, kernel_of):
        self.binder, self._calls, self._kernel_of = binder, calls, kernel_of
        plan = binder.plan
        self.in_place = frozenset(i for i, v in enumerate(plan.graph.outputs) if v in plan.in_place)
        self._fixed = [s for s in plan.steps if s in binder.steps and type(s) is not Fused]
        self._plans: dict = {}          # what is native, and how -> its plan
        self._prepared: dict = {}       # number of threads -> what is prepared of the steps that no size changes

    @cached_property
    def kinds(self) -> dict:
        """{step that sizes change: the number of its kind}"""
        numbers = _Kinds()
        return {s: numbers[_likeness(s)] for s in self.binder.plan.steps if s not in self.binder.steps}

    @cached_property
    def _called(self) -> list:
        """(step, its kind, where its operands lie) of those that are no fused kernels."""
        return [(s, kind, _places(s)) for s, kind in self.kinds.items() if type(s) is not Fused]

    def copy(self, values: dict) -> "SizedGraph":
        """The arrangement for `values` of the names, ready to run."""
        copies, changes, threads = self.binder.copies(values), pool.changes(), pool.get_num_threads()
        fixed, fixed_form = self._for_threads(threads)
        prepared = dict(fixed)
        made: dict = {}                 # kind -> what is prepared for it
        for step, kind, places in self._called:
            if kind not in made:
                made[kind] = native.prepare(copies.mapped(step))
            prepared[step] = None if made[kind] is None else made[kind].at(places)
        most = threads if pool.changes() == changes else 1
        key = most, fixed_form, tuple(map(_form, made.values()))
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) > _MOST_PLANS:
                self._plans.clear()
            plan = self._plans[key] = _SharedPlan(self, prepared, copies, tuple(values), most)
        steps = plan.steps(prepared, copies, tuple(values.values()), self._kernel_of)
        return SizedGraph(self, values, plan, steps, threads)

    def _for_threads(self, threads: int) -> tuple:
        """(what is prepared of the steps that no size changes, its form)."""
        found = self._prepared.get(threads)
        if found is None:
            changes = pool.changes()
            made = {s: self._calls.prepare(s) for s in self._fixed}
            found = made, tuple(map(_form, made.values()))
            if pool.changes() == changes:
                self._prepared[threads] = found
        return found

    def whole(self, values: dict) -> CompiledGraph:
        """The compiled graph of a copy of everything."""
        return CompiledGraph(self.binder.bind(values), self._kernel_of, prepare=self._calls.prepare)


def _form(prepared):
    """What a plan depends on of a step: whether it is native, has scratch memory, and what its results may be written over."""
    return None if prepared is None else (prepared.call.scratch_bytes > 0, prepared.over)


class _SharedPlan:
    """The plan of an arrangement whose sizes are symbolic, given which steps are native and what they may be written over."""

    def __init__(self, outline: Outline, prepared: dict, copies: Copies, names: tuple, threads: int):
        self.outline, self.threads = outline, threads
        plan = self.plan = place(outline.binder.plan,
                                 lambda s: None if prepared[s] is None else prepared[s].call.scratch_bytes,
                                 lambda s: {} if prepared[s] is None else prepared[s].over_values,
                                 lambda v: room_of(copies.value(v)))
        graph = plan.graph
        self.number = number = Numbers(zip(graph.inputs, range(len(graph.inputs))))
        for s in plan.steps:
            for v in (*s.reads, *s.writes, *s.over_inputs) if type(s) is Run else (*_arrays(s.node), *s.node.outputs):
                number[v]           # (asked for, it gets a number)
        self.outputs = tuple([number[v] for v in graph.outputs])
        self.room = [None] * (len(number) - len(graph.inputs))
        self.is_native = all([type(s) is Run for s in plan.steps])  # noqa: C419
        self._runs: dict = {}           # run -> its outline
        self._laid_out: dict = {}       # run -> the sizes in its arena, and one that was laid out for these
        self._rooms = {s: _rooms(s, names) for s in plan.steps if type(s) is Run}

    def steps(self, prepared: dict, copies: Copies, numbers: tuple, kernel_of) -> tuple:
        """The steps for some sizes; `numbers` are the values of the names."""
        found: list[Any] = []
        for s in self.plan.steps:
            if type(s) is not Run:
                found.append(CalledNode(s, self.number, kernel_of, self.plan.in_place, copies))
                continue
            run = replace(s)
            self._lay_out(s, run, {x: prepared[x].call.scratch_bytes for x in s.scratch}, numbers)
            made = self._runs[s].resized(run, prepared, copies) if s in self._runs else None
            if made is None:
                made = NativeRun(run, prepared, self.number, kernel_of, self.threads, copies)
                self._runs[s] = _RunOutline(made, self.outline.kinds)
            made.forget()
            found.append(made)
        return tuple(found)

    def _lay_out(self, shared: Run, run: Run, scratch: dict, numbers: tuple):
        """Gives what lives in the arena its place: the one that it had for the last sizes, where these are no other there."""
        values, bytes_of = self._rooms[shared]
        room = bytes_of(*numbers)
        sizes, last = (scratch, room), self._laid_out.get(shared)
        if last is None or last[0] != sizes:
            lay_out(run, scratch, dict(zip(values, map(room_for, room))).__getitem__)
            self._laid_out[shared] = sizes, run
        else:
            run.scratch, run.arena, run.arena_bytes = last[1].scratch, last[1].arena, last[1].arena_bytes


def _rooms(run: Run, names: tuple) -> tuple:
    """(the values that live in a run's arena, a function of the names' values that gives their bytes)."""
    values = [x for x, *_ in run.lives if type(x) is Value]
    return values, evaluator([v.aval.size * v.dtype.itemsize for v in values], names)


class _RunOutline:
    """What is the same in a run for all sizes, taken from one that was made for some."""

    def __init__(self, sample: NativeRun, kinds: dict):
        run, made = sample.source, sample.list
        self._sample, self._template, self._slots = sample, Template(made), made.slots
        self._alive = [x for x, *_ in run.lives]            # what has a place of its own in the arena
        place = {x: i for i, x in enumerate(self._alive, 1)}
        for v, read in run.shared.items():
            place[v] = place[read]
        self._varying: list = []        # (step, its number, its kind, the numbers of its operands' bases)
        places, within = [], []         # of each base: what it is a place of, 0 for an argument; the bytes from there
        for number, step in enumerate(run.steps):
            operands, first = sample.operands_of(step), len(places) + OPERANDS
            if step in kinds:
                self._varying.append((step, number, kinds[step], slice(first, first + len(operands))))
            places += [place.get(step, 0), 0, 0, *[place.get(v, 0) for v, _ in operands]]
            within += [*[0] * OPERANDS, *[offset for _, offset in operands]]
        self._places, self._within = np.array(places, np.intp), np.array(within, np.int64)
        self._work = sum([sample.work_of(s) for s in run.steps if s not in kinds])

    def resized(self, run: Run, prepared: dict, copies: Copies) -> NativeRun | None:
        """The run for other sizes; None where a step has words of another form for them."""
        made = self._sample.resized(run, prepared, copies)
        offsets, calls, instead = self._offsets(made), self._sample.list.calls, []
        known: dict = {}                # kind -> what is written of it, wherever its operands are
        works: dict = {}                # by what is written
        for step, number, kind, bases in self._varying:
            written = known.get(kind)
            if written is None:
                written = made.written(step, lambda i, first=bases.start: (self._slots[first + i], offsets[first + i]))
                if not made.asks_bases(step):
                    known[kind] = written
            if id(written) not in works:
                if not written.is_like(calls[number]):
                    return None
                works[id(written)] = made.work_of(step)
            instead.append((number, written))
        made.take(self._template.filled(offsets, instead), self._work + sum([works[id(written)] for _, written in instead]))
        return made

    def _offsets(self, made: NativeRun):
        """The bytes from each base's slot to where it lies."""
        run, within, kinds = made.source, self._within.copy(), {}
        for step, _, kind, bases in self._varying:
            if kind not in kinds:
                kinds[kind] = [offset for _, offset in made.operands_of(step)]
            within[bases] = kinds[kind]
        starts = np.array([0, *[run.scratch[x] if x in run.scratch else run.arena[x] for x in self._alive]], np.int64)
        return within + starts[self._places]


class _Kinds(dict):
    """{what is like each other: its number}"""

    def __missing__(self, likeness):
        number = self[likeness] = len(self)
        return number


class SizedGraph:
    """A copy of an outline, ready to run. What else is asked of it is asked of the compiled graph for these sizes, the `whole`,
    which also takes over where they are met again."""

    def __init__(self, outline: Outline, values: dict, shared: _SharedPlan, steps: tuple, threads: int):
        self._outline, self._values, self._shared, self._steps, self._threads = outline, values, shared, steps, threads
        self.in_place, self.is_native = outline.in_place, shared.is_native
        self._runs = 0

    @cached_property
    def whole(self) -> CompiledGraph:
        """The compiled graph."""
        return self._outline.whole(self._values)

    def run(self, arrays) -> list:
        """The results, as arrays, in order."""
        self._runs += 1
        if self._runs >= _MET_AGAIN or pool.get_num_threads() != self._threads:
            return self.whole.run(arrays)
        env = [*arrays, *self._shared.room]
        for step in self._steps:
            step.run(env)
        return [env[i] for i in self._shared.outputs]

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.whole, name)


def _arrays(node) -> list:
    return [x for x in node.inputs if type(x) is Value]


def _places(step: Call | Product) -> tuple:
    """The values behind what a step reads and makes, in the order of `Prepared.operands`; None for what is no array."""
    read = [source_of(x) if type(x) is Value else None for x in step.node.inputs]
    if type(step) is Product:
        return (*read, step.epilogue.result, *[v for v, *_ in step.epilogue.operands])
    return (*read, *step.node.outputs)


def _likeness(step: Any):
    """What is equal for steps that have the same native call on operands that lie alike, whatever the sizes."""
    if type(step) is Fused:
        kernel = step.lowered
        return (kernel.kernel.name, kernel.strategy, params_key(kernel.symbols),
                tuple([(param_key(offset), v.dtype, written) for v, offset, written in kernel.operands]))
    node = step.node
    outputs = tuple([(param_key(v.shape), v.dtype) for v in node.outputs])
    alike = node.op, params_key(node.params), tuple(map(_look, node.inputs)), outputs
    if type(step) is not Product:
        return alike
    epilogue = step.epilogue
    if epilogue.before != (None, None):
        return step
    operands = tuple([(v.dtype, param_key(tuple(at))) for v, *at in epilogue.operands])
    return *alike, epilogue.fused and epilogue.fused.name, operands


def _look(x):
    """How an operand is seen: views of memory of some shape and dtype."""
    if type(x) is not Value:
        return param_key(x)
    views = []
    while is_free(x):
        node = x.node
        views.append((node.op, params_key(node.params), tuple([param_key(n) for n in node.inputs if type(n) is not Value])))
        if not _arrays(node):
            break
        x = _arrays(node)[0]
    return tuple(views), param_key(x.shape), x.dtype
