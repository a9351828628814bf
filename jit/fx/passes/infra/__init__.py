"""`ingot.fx.passes.infra`: base class and manager of passes."""

from . import pass_base, pass_manager

__all__ = ["pass_base", "pass_manager"]
