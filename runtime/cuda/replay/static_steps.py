"""Steps that no size changes, of a graph that is bound to new sizes at each call. A decoder whose cache grows is such a graph:
no CUDA graph of it would run twice. What runs these steps is made once, and what those in a row ask of the driver is noted and
repeated as if they were one operator (`launch_cache.py`).
"""

import itertools

from . import launch_cache

_number = itertools.count()


class Unchanged:
    """What all graphs have in common that an arrangement is bound to.

    runs       {step: what runs it; None as long as nobody has made it}
    stretches  {steps in a row: what repeats them}
    """

    def __init__(self, steps):
        self.runs = dict.fromkeys(steps)
        self.stretches: dict = {}

    def joined(self, graph, steps, runs) -> list:
        """What runs steps, those in a row that can be noted as one."""
        found: list = []
        kept = {*graph.plan.in_place, *graph.plan.parts, *[part.join for part in graph.plan.parts.values()]}
        for fits, row in itertools.groupby(zip(steps, runs), lambda pair: self._fits(graph, pair[0], kept)):
            of_row, runs_of_row = zip(*row)
            found += [self._stretch(of_row, runs_of_row)] if fits else runs_of_row
        return found

    def _fits(self, graph, step, kept) -> bool:
        """Return whether all that a step writes is new (`kept` is what lies elsewhere), and nothing that it reads is a
        number."""
        return (self.runs.get(step) is not None and graph.numbers.isdisjoint(step.reads)
                and kept.isdisjoint(step.writes))

    def _stretch(self, steps, runs):
        found = self.stretches.get(steps)
        if found is None:
            found = self.stretches[steps] = Stretch(steps, runs)
        return found


class Stretch:
    """Steps in a row as one; it takes what they read of others, and gives what is not dead behind them."""

    def __init__(self, steps, runs):
        self.runs = runs
        made = dict.fromkeys([v for s in steps for v in s.writes])
        dead = dict.fromkeys([v for s in steps for v in s.dead])
        self.reads = [v for v in dict.fromkeys([v for s in steps for v in s.reads]) if v not in made]
        self.gives = [v for v in made if v not in dead]
        self.dead = [v for v in dead if v not in made]
        self.name = f"stretch {next(_number)}"          # (recipes must not keep the steps)

    def run(self, env, device, places=None):
        """Compute; results go into `env`."""
        if places:
            for one in self.runs:
                one.run(env, device, places)
            return
        made = launch_cache.run(self.name, [env[v] for v in self.reads], {}, device, self._made)
        env.update(zip(self.gives, made))
        for v in self.dead:
            env.pop(v, None)

    def _made(self, name, inputs, params, device) -> tuple:
        env = dict(zip(self.reads, inputs))
        for one in self.runs:
            one.run(env, device)
        return tuple([env[v] for v in self.gives])
