"""`ingot.fx.passes.infra`: passes over graphs, one after the other."""

from . import pass_base, pass_manager

__all__ = ["pass_base", "pass_manager"]
