"""`fx.passes.infra`: the base class of passes, and a manager that runs passes in an order that meets constraints."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.fx.passes.infra import PassBase as PassBase
from ingot.fx.passes.infra import PassManager as PassManager
from ingot.fx.passes.infra import PassResult as PassResult
from ingot.fx.passes.infra import pass_result_wrapper as pass_result_wrapper
from ingot.fx.passes.infra import this_before_that_pass_constraint as this_before_that_pass_constraint
