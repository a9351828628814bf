"""`ingot.fx.passes.infra`: base class and manager of passes.

Way in: `pass_manager.PassManager`. A pass is a function or a `PassBase` on a GraphModule.
"""

from . import pass_base, pass_manager

__all__ = ["pass_base", "pass_manager"]
