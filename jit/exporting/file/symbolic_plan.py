"""Plan of a file's graph that serves several sizes: passes run once, and their decisions about sizes become conditions."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ....ir.graph.graph import Graph
from ....ir.symbols.scope import Scope
from ....passes.schedule.specialize_shapes import bind_graph
from ....passes.simplify.lift_numbers import lift_numbers
from ...replay.symbolic_job import SymbolicGraph
from ..capture.prepare import prepared

_MOST = 4           # a graph that needs more examples has passes that must know its sizes


class SizedPlans:
    """A graph in a file: `arguments` inputs, then the weights numbered `taken`."""

    def __init__(self, graph: Graph, arguments: int, taken: tuple):
        self._graph, self._arguments, self._taken = graph, arguments, taken
        self._examples: list = []

    def planned(self, sizes: dict) -> "Planned | None":
        """Return the graph compiled for named sizes; None if its passes must know them."""
        values = {name: sizes[name] for name in self._graph.names}
        one = next((x for x in self._examples if x.holds(*values.values())), None)
        if one is None:
            if len(self._examples) == _MOST:
                return None
            one = _Example(self._graph, values, self._arguments, self._taken)
            self._examples.append(one)
        return Planned(one.copy(values), one, one.numbers(tuple(values.values())))


class Planned(NamedTuple):
    """A compiled graph, its example, and its numbers: (inputs of the passes, all others)."""

    compiled: Any
    example: "_Example"
    numbers: tuple

    def arrays(self, of_weights: Callable) -> list:
        """Return the arrays after the arguments; `of_weights` returns the kept weights, then the derived values."""
        one, (early, late) = self.example, self.numbers
        if one.arrays is None:
            one.arrays = of_weights(one.parts)
        count = len(one.parts.weights)
        return [*one.arrays[:count], *early, *one.arrays[count:], *late]


class _Example(SymbolicGraph):
    """The graph after this machine's passes, for all sizes that meet the same conditions."""

    arrays: list | None = None      # weights that it takes, then derived values

    def __init__(self, graph, sizes, arguments, taken):
        scope = Scope()
        scope.is_inner = True
        symbols = {name: scope.size(name, n) for name, n in sizes.items()}
        lifted = lift_numbers(bind_graph(graph, symbols))
        self.parts = prepared(lifted.graph, arguments, taken, len(lifted.numbers))
        super().__init__(scope, self.parts.main, lifted.numbers, frozenset(range(len(graph.outputs))))
