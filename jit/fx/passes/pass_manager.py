"""`fx.passes.infra`: the base class of passes, and a manager that runs passes in an order that meets constraints."""

import functools
import inspect
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

from ....ir.errors import ArgumentError
from ....ir.tracebacks import user_level as _user_level
from ....runtime.nn import Module
from ..graph_module import GraphModule

__all__ = ["PassBase", "PassManager", "PassResult", "pass_result_wrapper", "this_before_that_pass_constraint"]


class PassResult(NamedTuple):
    """The module after a pass, and whether it changed."""

    graph_module: GraphModule
    modified: bool


class PassBase(ABC):
    """A pass: `call` does the work; `requires` and `ensures` raise for modules that are wrong before or after it."""

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abstractmethod
    def call(self, graph_module: GraphModule) -> PassResult | None:
        """Run the pass."""

    def requires(self, graph_module: GraphModule) -> None:  # noqa: B027  (most require nothing)
        """Raise if the pass cannot process a module."""

    def ensures(self, graph_module: GraphModule) -> None:  # noqa: B027
        """Raise if the pass left a wrong module."""


def pass_result_wrapper(fn: Callable | None) -> Callable | None:
    """Return a pass from a function that changes a module, or returns another one."""
    if fn is None:
        return None

    @functools.wraps(fn)
    def run(module):
        result = fn(module)
        return result if isinstance(result, PassResult) else PassResult(module if result is None else result, True)

    run.__name__ = _name(fn)
    return run


def this_before_that_pass_constraint(this: Callable, that: Callable) -> Callable:
    """Return a constraint for pairs of passes: `this` may not run after `that`."""
    return lambda first, second: first != that or second != this


def _name(fn) -> str:
    return getattr(fn, "__name__", type(fn).__name__)


class PassManager:
    """A manager that runs all passes up to `steps` times, while one changes something. With `run_checks_after_each_pass`,
    checks run after each pass; with `suppress_check_failures`, a failed check is a warning."""

    def __init__(self, passes=None, constraints=None, steps=None, run_checks_after_each_pass: bool = False,
                 suppress_check_failures: bool = False):
        self.passes: list = list(passes or ())
        self.constraints: list = list(constraints or ())
        self.checks: list = []
        self.steps = steps or 1
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures

    def add_pass(self, _pass: Callable):
        self.passes.append(_pass)

    def add_constraint(self, constraint: Callable):
        self.constraints.append(constraint)

    def add_checks(self, check: Callable):
        """Add a check: a function that raises for a wrong module."""
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError("a check of a PassManager takes one argument, the module")
        self.checks.append(check)

    def validate_constraints(self):
        """Raise if the order of passes breaks a constraint."""
        for at, second in enumerate(self.passes):
            for first in self.passes[:at]:
                if not all(allows(first, second) for allows in self.constraints):
                    raise ArgumentError(f"{_name(first)} runs before {_name(second)}, which a constraint does not allow")

    def solve_constraints(self):
        """Sort the passes to meet the constraints; other passes keep their order."""
        before = {b: [a for a in range(len(self.passes)) if a != b and not self._may(b, a)] for b in range(len(self.passes))}
        sorter = TopologicalSorter(before)
        try:
            sorter.prepare()
        except CycleError as error:
            names = [_name(self.passes[i]) for i in error.args[1]]
            raise ArgumentError(f"no order of the passes meets the constraints: {' before '.join(names)}") from None
        ordered, ready = [], []
        while sorter.is_active():
            ready = sorted([*ready, *sorter.get_ready()])
            ordered.append(ready.pop(0))
            sorter.done(ordered[-1])
        self.passes = [self.passes[i] for i in ordered]

    def _may(self, first: int, second: int) -> bool:
        return all(allows(self.passes[first], self.passes[second]) for allows in self.constraints)

    def check(self, module: Module):
        for check in self.checks:
            try:
                check(module)
            except Exception as error:
                if not self.suppress_check_failures:
                    raise
                warnings.warn(f"the check {_name(check)} failed: {error}", stacklevel=_user_level())

    def __call__(self, module: Module) -> PassResult:
        self.solve_constraints()
        self.check(module)
        changed_any = False
        for _ in range(self.steps):
            changed = False
            for at, fn in enumerate(self.passes):
                module, has_changed = self._run(fn, module, at)
                changed = changed or has_changed
            changed_any = changed_any or changed
            if not changed:
                break
        return PassResult(module, changed_any)      # type: ignore[arg-type]

    def _run(self, fn, module, at) -> PassResult:
        try:
            result = fn(module)
            if not isinstance(result, PassResult):
                raise TypeError(f"the pass {_name(fn)} gives {type(result).__name__}, and has to give a PassResult; "
                                "pass_result_wrapper makes one of what it gives")
            if isinstance(result.graph_module, GraphModule):
                result.graph_module.recompile()
            if self.run_checks_after_each_pass:
                self.check(result.graph_module)
        except Exception as error:
            error.add_note(f"while the pass {_name(fn)} ran, after {[_name(p) for p in self.passes[:at]]}")
            raise
        return result
