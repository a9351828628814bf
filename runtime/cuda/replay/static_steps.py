"""Static steps of a graph that is bound to new sizes at each call: steps without such sizes.

A decoder whose cache grows is such a graph, so a CUDA graph of it would run only once. Runners of static steps are made once,
and consecutive ones are recorded and repeated like one operator (`launch_cache.py`).
"""

import itertools

from . import launch_cache
from .steps import Step

_number = itertools.count()


class StaticSteps:
    """State shared by all bindings of a graph.

    runs       {step: its runner, or None}
    segments   {consecutive steps: their `Segment`}
    """

    def __init__(self, steps):
        self.runs = dict.fromkeys(steps)
        self.segments: dict = {}

    def joined(self, graph, steps, runs) -> list:
        """Return the runners of steps, with consecutive recordable ones joined."""
        found: list = []
        excluded = {*graph.plan.in_place, *graph.plan.parts, *[part.concat for part in graph.plan.parts.values()]}
        for fits, row in itertools.groupby(zip(steps, runs), lambda pair: self._fits(graph, pair[0], excluded)):
            of_row, runs_of_row = zip(*row)
            found += [self._segment(of_row, runs_of_row)] if fits else runs_of_row
        return found

    def _fits(self, graph, step, excluded) -> bool:
        """Return whether a step writes only new memory (no `excluded` values) and reads no numbers."""
        return (self.runs.get(step) is not None and graph.numbers.isdisjoint(step.reads)
                and excluded.isdisjoint(step.writes))

    def _segment(self, steps, runs):
        found = self.segments.get(steps)
        if found is None:
            found = self.segments[steps] = Segment(steps, runs)
        return found


class Segment(Step):
    """Consecutive steps as one: reads values of others, returns values that live longer."""

    def __init__(self, steps, runs):
        self.runs = runs
        written = dict.fromkeys([v for s in steps for v in s.writes])
        dead = dict.fromkeys([v for s in steps for v in s.dead])
        self.reads = [v for v in dict.fromkeys([v for s in steps for v in s.reads]) if v not in written]
        self.gives = [v for v in written if v not in dead]
        self.dead = tuple([v for v in dead if v not in written])
        self.name = f"segment {next(_number)}"          # without the steps, which lists must not hold

    def compute(self, env, device, destinations=None):
        if destinations:
            for one in self.runs:
                one.run(env, device, destinations)
            return
        written = launch_cache.run(self.name, [env[v] for v in self.reads], {}, device, self._run_uncached)
        env.update(zip(self.gives, written))

    def _run_uncached(self, name, inputs, params, device) -> tuple:
        env = dict(zip(self.reads, inputs))
        for one in self.runs:
            one.run(env, device)
        return tuple([env[v] for v in self.gives])
