"""A graph of symbolic sizes that runs operator by operator, by eager kernels.

Binding sizes to a plan takes as long as dozens of operators of few elements. A segment of such operators that meets new sizes
at each call, as the layers of a mixture of experts do, is quicker without a plan. It computes what eager code computes, and
needs nothing for other sizes but their numbers. The end of the graph that no size reaches, such as an optimizer, is one
compiled graph.
"""

from ....ir.graph.graph import Graph, Value
from ....ir.symbols.substitute import data_evaluator, evaluator, has_symbols
from ....passes.rewrite import pass_manager
from ....passes.schedule.plan_steps import Call
from ....passes.schedule.split_sizes import split_sizes
from ....passes.simplify.cse import cse
from ....passes.simplify.dce import dce
from ...core.dispatch import kernel_of
from ...state.mode import tls
from .machine_passes import PASSES
from .program import CalledNode, EnvironmentSlots, traced

ELEMENTS = 1 << 11      # that are stored and read again in the time of one small operator


class StepwiseResults(list):
    """Results; those at the positions `in_place` were written over the inputs that they replace."""

    in_place: frozenset = frozenset()


class Computed(list):
    """Results in a journal, of a part that writes over nothing."""

    writes = has_written = False


class Stepwise:
    """A recorded graph, ready to run for all sizes.

    names    of the sizes and numbers, in order
    owned    positions of results that own their memory
    targets  {position of a result: number of the input that it replaces}
    """

    def __init__(self, graph: Graph, names, owned=frozenset(), targets=None):
        targets = targets or {}
        self._cut = cut = split_sizes(dce(cse(graph)), owned, frozenset(targets.values()))
        number = EnvironmentSlots(zip(cut.sized.inputs, range(len(cut.sized.inputs))))
        self._called = [CalledNode(Call(n, dead=dead), number, kernel_of, {}) for n, dead in _with_dead(cut.sized)]
        self._outputs = tuple([number[v] for v in cut.sized.outputs])
        self._room = [None] * (len(number) - len(cut.sized.inputs))
        data = [(tuple(c.params.values()), tuple([x for i, x in c.sources if i < 0])) for c in self._called]
        self._sized = [i for i, x in enumerate(data) if has_symbols(x)]         # numbers of those with sizes among their data
        self._data = data_evaluator(tuple([data[i] for i in self._sized]), names)
        self._elements = evaluator([sum([v.aval.size for c in self._called for v in c.node.outputs])], names)
        self._end, self.in_place = None, frozenset()
        if cut.rest.nodes:
            place = {i: n for n, i in enumerate(cut.inputs)}
            own = frozenset([n for n, i in enumerate(cut.rest_results) if i in owned])
            over = {n: place[targets[i]] for n, i in enumerate(cut.rest_results) if i in targets}
            self._end = traced(pass_manager.run(cut.rest, PASSES), own, over)
            self.in_place = frozenset([cut.rest_results[n] for n in self._end.in_place])

    def work(self, symbols) -> float:
        """Return about how many small operators take as long as a run for these values of the names, without the end."""
        return len(self._called) + self._elements(*symbols)[0] / ELEMENTS

    def run(self, arrays, symbols) -> StepwiseResults:
        """Return the results for values of the names."""
        cut, journal = self._cut, tls.m.journal if self.in_place else None
        found = None if journal is None else journal.get(self)
        if found is None:
            found = self._computed(arrays, symbols)
            if journal is not None:
                found = journal[self] = Computed(found)         # the end may write over what that was computed from
        results = StepwiseResults([None] * (len(cut.results) + len(cut.rest_results)))
        results.in_place = self.in_place
        for i, a in zip(cut.results, found[cut.given:]):
            results[i] = a
        if self._end is not None:
            for i, a in zip(cut.rest_results, self._end.run([*[arrays[i] for i in cut.inputs], *found[:cut.given]])):
                results[i] = a
        return results

    def _computed(self, arrays, symbols) -> list:
        """Return the results without those of the end, and before them what the end takes."""
        cut = self._cut
        env = [*[arrays[i] for i in cut.sources], *self._room]
        steps = self._called.copy()
        for i, (params, constants) in zip(self._sized, self._data(*symbols)):
            steps[i] = steps[i].with_numbers(dict(zip(steps[i].params, params)), constants)
        for step in steps:
            step.run(env)
        return [env[i] for i in self._outputs]


def _with_dead(graph: Graph):
    """Yield the nodes, each with the values that no later one reads."""
    last = {v: n for n in graph.nodes for v in (*n.outputs, *n.inputs) if type(v) is Value}
    kept = set(graph.outputs)
    dead: dict = {}
    for v, n in last.items():
        if v not in kept:
            dead.setdefault(n, []).append(v)
    for n in graph.nodes:
        yield n, tuple(dead.get(n, ()))
