"""Symbolic graphs, compiled as far as can be without knowing their sizes."""

from typing import Any

from ...ir.lazy import lazy
from ...ir.symbols.scope import Scope
from ...ir.symbols.substitute import condition_check, evaluator, names_in
from ...ir.symbols.symbolic import names_of
from ...passes.schedule.specialize_shapes import Binder
from ...passes.simplify.lift_numbers import lift_numbers, number_array

program = lazy(__package__, "...runtime.cpu.graph.program")
incremental_bind = lazy(__package__, "...runtime.cpu.graph.incremental_bind")


class ForSizes:
    """A graph after its passes, arranged for all sizes that meet the conditions of its scope, which is closed.

    binder    what puts sizes into its arrangement, and numbers that are parameters of what stays whole
    names     of the sizes and numbers that are put in: what it is bound for
    early     (symbolic number, dtype) of inputs that were added before the passes: numbers that arguments give
    late      the same of the last inputs: sizes that are operands
    """

    def __init__(self, scope: Scope, graph, early: tuple, owned, targets=None, brief=frozenset(), backend=None):
        lifted = lift_numbers(graph)
        self.scope, self.early, self.late = scope, early, lifted.numbers
        self.names = frozenset().union(*map(names_of, lifted.graph.symbols.values()))
        self.is_elsewhere = backend is not None
        self.binder: Any = (Binder(program.arranged(lifted.graph, owned, targets), shares=True) if backend is None
                            else backend.sized(lifted.graph, owned, targets, brief))
        self.calls: Any = None if self.is_elsewhere else program.SharedCalls(self.binder.steps)
        self.outline: Any = None        # made with the first copy
        self.conditions = dict(scope.conditions)
        self.holds = condition_check(self.conditions, scope.hints)
        self.evaluate = evaluator([x for x, _ in (*self.early, *self.late)], scope.hints)
        self.is_fixed = all(names_of(x) <= self.names for x, _ in (*self.early, *self.late))
        self.is_sure = names_in(self.conditions, scope.hints) <= self.names     # once bound, for all calls with these numbers
        scope.close()

    def copy(self, values: dict):
        """The compiled graph for `values` of the names: the first as a whole, later ones by what they have in common."""
        if self.is_elsewhere:
            return self.binder.bind(values)
        if self.outline is None:
            self.outline = incremental_bind.Outline(self.binder, self.calls, program.kernel_of)
            return self.outline.whole(values)
        return self.outline.copy(values)

    def numbers(self, symbols) -> tuple:
        """The arrays of the numbers: early ones, late ones."""
        kinds = (*self.early, *self.late)
        made = [number_array(n, kind) for n, (_, kind) in zip(self.evaluate(*symbols), kinds)]
        return made[: len(self.early)], made[len(self.early):]
