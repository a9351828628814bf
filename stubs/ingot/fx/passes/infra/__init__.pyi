"""`fx.passes.infra`: the base class of passes, and a manager that runs passes in an order that meets constraints."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot.fx import GraphModule as _GraphModule
from ingot.fx.passes.infra import pass_base as pass_base
from ingot.fx.passes.infra import pass_manager as pass_manager
from ingot.nn import Module as _Module

class PassBase:
    """A pass: `call` does the work; `requires` and `ensures` raise for modules that are wrong before or after it."""
    def __call__(self, graph_module: _GraphModule) -> PassResult | None: ...
    def call(self, graph_module: _GraphModule) -> PassResult | None:
        """Run the pass."""
    def ensures(self, graph_module: _GraphModule) -> None:
        """Raise if the pass left a wrong module."""
    def requires(self, graph_module: _GraphModule) -> None:
        """Raise if the pass cannot process a module."""

class PassManager:
    """A manager that runs all passes up to `steps` times, while one changes something. With `run_checks_after_each_pass`,
    checks run after each pass; with `suppress_check_failures`, a failed check is a warning."""
    checks: _b.list[_t.Any]
    constraints: _b.list[_t.Any]
    passes: _b.list[_t.Any]
    run_checks_after_each_pass: _b.bool
    steps: _t.Any
    suppress_check_failures: _b.bool
    def __call__(self, module: _Module) -> PassResult: ...
    def __init__(self, passes: _t.Any = None, constraints: _t.Any = None, steps: _t.Any = None,
                 run_checks_after_each_pass: _b.bool = False, suppress_check_failures: _b.bool = False) -> None: ...
    def add_checks(self, check: _c.Callable[..., _t.Any]) -> None:
        """Add a check: a function that raises for a wrong module."""
    def add_constraint(self, constraint: _c.Callable[..., _t.Any]) -> None: ...
    def add_pass(self, _pass: _c.Callable[..., _t.Any]) -> None: ...
    def check(self, module: _Module) -> None: ...
    def solve_constraints(self) -> None:
        """Sort the passes to meet the constraints; other passes keep their order."""
    def validate_constraints(self) -> None:
        """Raise if the order of passes breaks a constraint."""

class PassResult(_t.NamedTuple):
    """The module after a pass, and whether it changed."""
    graph_module: _GraphModule
    modified: _b.bool

def pass_result_wrapper(fn: _c.Callable[..., _t.Any] | None) -> _c.Callable[..., _t.Any] | None:
    """Return a pass from a function that changes a module, or returns another one."""
def this_before_that_pass_constraint(this: _c.Callable[..., _t.Any],
                                     that: _c.Callable[..., _t.Any]) -> _c.Callable[..., _t.Any]:
    """Return a constraint for pairs of passes: `this` may not run after `that`."""
