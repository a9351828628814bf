"""Timed runs of compiled graphs: when each step of the plan began, and how long it took.

A native call times its own steps, in the processor's ticks; they are placed between the two moments at which Python saw the
call begin and end.
"""

import ctypes
import time
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ....ir.target import host
from ....passes.codegen.llvm.loops import programs
from ..calls import call
from ..compiler import compile
from ..memory import alloc
from .plan_runner import NativeRun


class Moment(NamedTuple):
    """A step of the plan (Fused, Product or Call), when it began, and how long it took, in nanoseconds of `perf_counter`."""

    step: Any
    began: int
    took: int


def run_timed(compiled, arrays) -> tuple:
    """Return (the results of `compiled.run`, the moments of its steps in order)."""
    env, moments = [*arrays, *compiled.room], []
    for step in compiled.steps:
        if type(step) is NativeRun:
            moments += _run_native(step, env)
        else:
            began = time.perf_counter_ns()
            step.run(env)
            moments.append(Moment(step.source, began, time.perf_counter_ns() - began))
    return [env[i] for i in compiled.outputs], moments


def _run_native(run, env) -> list:
    """Run a `NativeRun` by the runner that takes the time."""
    for i, shape, dtype in run.writes:
        env[i] = alloc.empty(shape, dtype)
    given = [env[i] for i in (*run.reads, *[i for i, *_ in run.writes], *run.updates)]
    plain = [a if type(a) is np.ndarray and a.flags.carray else np.array(a, order="C", subok=False) for a in given]
    ticks = np.zeros(len(run.list.sources) + 1, np.int64)
    arena = run.arenas.take()
    arena[programs.CLOCK:programs.CLOCK + 8].view(np.int64)[0] = ticks.ctypes.data
    block = np.array([run.address, *[call.address_of(a) for a in (arena, *plain)]], np.int64)
    began = time.perf_counter_ns()
    _runner()(block.ctypes.data)
    ended = time.perf_counter_ns()
    run.check(arena, plain)
    run.arenas.give(arena)
    for a, b in zip(given[len(run.reads):], plain[len(run.reads):]):
        if a is not b:
            np.copyto(a, b)
    for i, home in run.over_inputs:
        env[i] = env[home]
    for i in run.dead:
        env[i] = None
    return _moments(run.list.sources, ticks, began, ended)


def _moments(sources, ticks, began, ended):
    """Return the moments of a native call; adjacent native steps of one step of the plan are one."""
    scale = (ended - began) / max(int(ticks[-1] - ticks[0]), 1)
    found: list = []
    for source, (first, last) in zip(sources, pairwise(ticks.tolist())):
        took = round(scale * (last - first))
        if found and found[-1].step is source:
            found[-1] = found[-1]._replace(took=found[-1].took + took)
        else:
            found.append(Moment(source, began + round(scale * (first - int(ticks[0]))), took))
    return found


@cache
def _runner():
    name = programs.TIMED_RUNNER
    address = compile.compile_module(programs.runner_text(host(), timed=True), [name])[name]
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)
