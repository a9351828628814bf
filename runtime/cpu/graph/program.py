"""Compiled graphs: plans (`passes/schedule/plan_memory.py`) prepared once, then run with little Python between the steps.

    p = CompiledGraph(graph, kernel_of, owned={0})
    outputs = p.run(arrays)              # arrays in the order of the graph's inputs

Consecutive native steps are one native call, for most graphs the only one (`plan_runner.py`). Operators without native code are
called between, by their eager kernels. Any number of threads may run one compiled graph at the same time.
"""

from collections import Counter
from functools import partial
from itertools import starmap
from operator import setitem
from typing import Any

import numpy as np

from ....ir.graph.graph import Graph, Value
from ....ir.ops.core.host_call import host_call, named
from ....passes.fusion.rematerialize import rematerialize
from ....passes.layout.materialize_transposes import materialize_transposes
from ....passes.layout.plain_operands import materialize_operands
from ....passes.schedule.inplace_updates import hoist_index_checks
from ....passes.schedule.plan_memory import arrange, place
from ....passes.schedule.plan_steps import Plan, Run, shallow
from ...core.backend import HOST
from ...core.dispatch import kernel_of
from ...core.journal import Progress, resume
from ...core.specialized_calls import has_row_major_results
from ...state.mode import tls
from ..calls import pool
from ..loops import copies
from ..loops.copies import dense
from . import prepared_steps
from .plan_runner import NativeRun, call_kernel, kernel_text

__all__ = ["CalledNode", "CompiledGraph", "NativeRun", "arrange_for_cpu", "kernel_of", "kernel_text"]


def arrange_for_cpu(graph: Graph, owned=frozenset(), targets=None) -> Plan:
    """Return the steps of a graph for this backend, without places in memory; arguments as for `CompiledGraph`."""
    graph = hoist_index_checks(graph) if targets else graph
    graph = materialize_transposes(materialize_operands(graph, prepared_steps.reads), copies.is_worth_transposing)
    return arrange(rematerialize(graph), owned, targets)


class CompiledGraph:
    """A graph, ready to run.

    graph      the graph after all passes; or its arrangement, made by `arrange_for_cpu`
    owned      positions of results that own their memory
    targets    {position of a result: number of the input that it replaces}; `in_place` has those that the run itself writes
    kernel_of  gives the eager kernel of an operator
    prepare    gives the native call of a step, or None; `SharedCalls.prepare` where arrangements have common steps
    """

    def __init__(self, graph: Graph | Plan, kernel_of, owned=frozenset(), targets=None, prepare=prepared_steps.prepare):
        self._schedule = graph if isinstance(graph, Plan) else arrange_for_cpu(graph, owned, targets)
        self._kernel_of, self._native_call = kernel_of, prepare
        graph = self.graph = self._schedule.graph
        self.in_place = frozenset(i for i, v in enumerate(graph.outputs) if v in self._schedule.in_place)
        self._prepare()

    @property
    def whole(self) -> "CompiledGraph":
        """Itself; see `SizedGraph` in `incremental_bind.py`."""
        return self

    def _prepare(self):
        """Make plan and steps for the current number of threads. If the number changes meanwhile, some operators may be planned
        for fewer, so one thread does everything."""
        changes, threads, prepared = pool.changes(), pool.get_num_threads(), {}

        def scratch_of(step):
            made = prepared[step] = self._native_call(step)
            return None if made is None else made.call.scratch_bytes

        def over_of(step):
            made = prepared[step]
            return {} if made is None else made.over_values

        self.plan = place(self._schedule, scratch_of, over_of)
        most = threads if pool.changes() == changes else 1
        number = EnvironmentSlots(zip(self.graph.inputs, range(len(self.graph.inputs))))
        self.steps: tuple = tuple([self._step(s, prepared, number, most) for s in self.plan.steps])
        free_outcomes(self.steps)
        self.outputs = tuple([number[v] for v in self.graph.outputs])
        counts, inputs = Counter(self.outputs), len(self.graph.inputs)
        self.are_computed = tuple([counts[i] == 1 and i >= inputs for i in self.outputs])    # neither inputs nor returned twice
        self.room = [None] * (len(number) - len(self.graph.inputs))
        self.is_native = all(type(s) is NativeRun for s in self.steps)     # no step calls Python
        self.threads = threads if any(p is not None for p in prepared.values()) else 0
        self._run_prepared = self._run_journaled if self.in_place else self._run_steps
        if len(self.steps) == 1 and self.is_native:
            self._run_prepared = self.steps[0].alone(len(self.graph.inputs), self.outputs) or self._run_prepared
        self.run = self._run_for_threads if self.threads else self._run_prepared

    def _run_for_threads(self, arrays):
        """Run; native calls are cut for a number of threads, and are made again when it changes."""
        if pool.get_num_threads() != self.threads:
            self._prepare()
        return self._run_prepared(arrays)

    def run_into(self, arrays, into) -> list:
        """Return the results, the first ones in given arrays, if need be by a copy."""
        if self.threads and pool.get_num_threads() != self.threads:
            self._prepare()
        places = [(i, a) for i, a, is_made in zip(self.outputs, into, self.are_computed) if is_made]
        found = self._run_journaled(arrays, places) if self.in_place else self._run_steps(arrays, places)
        for n, array in enumerate(into):
            if found[n] is not array:
                np.copyto(array, found[n])
                found[n] = array
        return found

    def _step(self, step, prepared, number, threads):
        if type(step) is Run:
            return NativeRun(step, prepared, number, self._kernel_of, threads)
        return CalledNode(step, number, self._kernel_of, self.plan.in_place)

    def _run_steps(self, arrays, into=()) -> list:
        """Return the results, as arrays, in order; those of some places of the environment go `into` arrays."""
        env = _environment(arrays, self, into)
        for step in self.steps:
            step.run(env)
        return [env[i] for i in self.outputs]

    def _run_journaled(self, arrays, into=()) -> list:
        """Return the results of a graph that writes over its inputs. While a replay keeps a journal, a run that an interrupt
        stopped goes on from there when it is called again, and writes nothing twice."""
        journal = tls.m.journal
        if journal is None:
            return self._run_steps(arrays, into)
        return run_journaled(self, journal, arrays, self, self.steps, into)


def run_journaled(graph, journal: dict, arrays, plan, steps, into=()) -> list:
    """Run the steps of a plan from where the journal says that a run of the graph stopped; return its results."""
    progress = journal.get(graph)
    if progress is None:
        progress = journal[graph] = Progress(_environment(arrays, plan, into), steps)
    resume(progress)
    env = progress.env
    return [env[i] for i in plan.outputs]


def _environment(arrays, plan, into) -> list:
    """Return the environment of a run, with arrays for the results of some places."""
    env = [*arrays, *plan.room]
    for i, array in into:
        env[i] = array
    return env


def free_outcomes(steps):
    """Let ingot's own host calls behind the last step that may fail free the outcomes of host calls. A run in place of the
    replay would ask for them. They may be large, as the parameters that a layer gathers are."""
    for step in reversed(steps):
        if step.can_fail if type(step) is NativeRun else step.may_fail:
            break
        if type(step) is CalledNode and step.node.op is host_call:
            step.free_outcomes()


def _freeing_outcomes(kernel, *arguments, **params):
    result, outcomes = kernel(*arguments, **params), tls.m.results_of_hosts
    if outcomes is not None and outcomes.are_final:
        outcomes.free()
    return result


class EnvironmentSlots(dict):
    """{value: its place in the environment}; inputs come first, others on demand."""

    def __missing__(self, value):
        number = self[value] = len(self)
        return number


def traced(graph: Graph, owned=frozenset(), targets=None, brief=frozenset()) -> CompiledGraph:
    """Return a traced graph, ready to run. The memory of gradients (`brief`) is that of other
    results."""
    return CompiledGraph(graph, kernel_of, owned, targets)


class SharedCalls:
    """The native calls of `steps`, which are the same in each copy of an arrangement; those of others are made each time."""

    def __init__(self, steps: frozenset):
        self._steps = steps
        self._prepared_calls: dict = {}       # (step, number of threads) -> its call

    def prepare(self, step):
        if step not in self._steps:
            return prepared_steps.prepare(step)
        changes, key = pool.changes(), (step, pool.get_num_threads())
        if key in self._prepared_calls:
            return self._prepared_calls[key]
        made = prepared_steps.prepare(step)
        if pool.changes() == changes:
            self._prepared_calls[key] = made
        return made


class CalledNode:
    """One operator, called on arrays by its eager kernel; `in_place` has the inputs that results are written over."""

    def __init__(self, step, number: dict, kernel_of, in_place):
        node = step.node
        self.node, self.source = node, step
        self.kernel = kernel_of(node.op)
        self.params = node.params
        self.is_by_rows = has_row_major_results(node.op)
        is_of_user = node.op is host_call and not getattr(named(node.params["function"]), "makes_results", False)
        self.may_fail = is_of_user or node.op.may_refuse(node.inputs)
        self.frees_outcomes = False
        self.sources = tuple([(number[x], None) if type(x) is Value else (-1, x) for x in node.inputs])
        self.outs = tuple([number[v] for v in node.outputs])
        self.dead = tuple([number[v] for v in step.dead])
        home = in_place.get(node.outputs[0])
        self.home = None if home is None else number[home]
        self.write: Any = None if home is None else HOST.writer_for(node.op)

    def free_outcomes(self):
        """Let this host call free the outcomes of host calls so far, as soon as nothing can ask for them."""
        if not self.frees_outcomes:
            self.kernel, self.frees_outcomes = partial(_freeing_outcomes, self.kernel), True

    def run(self, env):
        arguments = [env[i] if i >= 0 else x for i, x in self.sources]
        if self.home is not None:
            env[self.outs[0]] = self._update(env[self.home], arguments)
        else:
            result = self._call(self.kernel, arguments)
            for i, r in zip(self.outs, result if self.node.multi else (result,)):
                env[i] = self._in_eager_order(r if type(r) is np.ndarray else np.asarray(r))
        for i in self.dead:
            env[i] = None

    def run_once(self, env, progress):
        """Run, as a step of a journaled run. An update that must not be made twice is noted in the same instruction."""
        if any([env[i] is None for i in self.outs]):  # noqa: C419
            if self._adds:
                arguments = [env[i] if i >= 0 else x for i, x in self.sources]
                made = self._call(self.kernel, arguments)
                progress.done += starmap(setitem, ((env[self.home], ..., made),))
                self.settle(env, progress)
                return
            self.run(env)
        progress.done.append(None)
        self.settle(env, progress)

    @property
    def _adds(self) -> bool:
        """Whether an update depends on what was there."""
        params = self.node.params
        return self.home is not None and (params.get("accumulate", False) or params.get("mode", "set") != "set")

    @property
    def writes_inputs(self) -> bool:
        return self.home is not None

    def settle(self, env, progress):
        """Hand on what was computed, and drop what no later step reads; the same again after an interrupt."""
        if self.home is not None and env[self.outs[0]] is None:
            env[self.outs[0]] = env[self.home]
        for i in self.dead:
            env[i] = None

    def _in_eager_order(self, a):
        """Return a result in the memory order that eager mode gives it."""
        return a if not self.is_by_rows or a.flags.c_contiguous else dense(a)

    def _update(self, home, arguments):
        if not self._call(partial(self.write, home), arguments):
            np.copyto(home, self._call(self.kernel, arguments))
        return home

    def _call(self, kernel, arguments):
        return call_kernel(self.node, kernel, arguments, self.params)

    def with_numbers(self, params: dict, constants) -> "CalledNode":
        """Return the same with other parameters, and other operands that are no arrays, in order."""
        made, others = shallow(self), iter(constants)
        made.params = params
        made.sources = tuple([(i, None) if i >= 0 else (i, next(others)) for i, _ in self.sources])
        return made
