"""A file's graph on this machine for sizes that come one after the other: its passes run once, for an example, and what they
have decided by it is a condition, as in traced functions."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ....ir.graph.graph import Graph
from ....ir.symbols.scope import Scope
from ....passes.schedule.specialize_shapes import bind_graph
from ....passes.simplify.lift_numbers import lift_numbers
from ...replay.for_sizes import ForSizes
from ..capture.prepare import prepared

_MOST = 4           # examples; a graph that asks for more is one whose passes have to know its sizes


class OfSizes:
    """A graph in a file, whose inputs are so many arguments, then the weights of the numbers `taken`."""

    def __init__(self, graph: Graph, arguments: int, taken: tuple):
        self._graph, self._arguments, self._taken = graph, arguments, taken
        self._found: list = []

    def planned(self, sizes: dict) -> "Planned | None":
        """The graph compiled for sizes by name; None where its passes have to know them."""
        values = {name: sizes[name] for name in self._graph.names}
        one = next((x for x in self._found if x.holds(*values.values())), None)
        if one is None:
            if len(self._found) == _MOST:
                return None
            one = _Example(self._graph, values, self._arguments, self._taken)
            self._found.append(one)
        return Planned(one.copy(values), one, one.numbers(tuple(values.values())))


class Planned(NamedTuple):
    """A compiled graph, what it was made from, and its numbers: those that were inputs of the passes, and all others."""

    compiled: Any
    example: "_Example"
    numbers: tuple

    def arrays(self, of_weights: Callable) -> list:
        """What it takes after the arguments. `of_weights` gives the weights that a prepared graph takes, then what it makes of
        weights."""
        one, (early, late) = self.example, self.numbers
        if one.arrays is None:
            one.arrays = of_weights(one.parts)
        kept = len(one.parts.kept)
        return [*one.arrays[:kept], *early, *one.arrays[kept:], *late]


class _Example(ForSizes):
    """The graph with the passes of this machine, for all sizes of which the same holds as of some."""

    arrays: list | None = None      # the weights that it takes, then what is made of weights

    def __init__(self, graph, sizes, arguments, taken):
        scope = Scope()
        scope.is_inner = True
        symbols = {name: scope.size(name, n) for name, n in sizes.items()}
        lifted = lift_numbers(bind_graph(graph, symbols))
        self.parts = prepared(lifted.graph, arguments, taken, len(lifted.numbers))
        super().__init__(scope, self.parts.main, lifted.numbers, frozenset(range(len(graph.outputs))))
