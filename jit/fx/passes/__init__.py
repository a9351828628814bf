"""`ingot.fx.passes`: what goes over whole graphs."""

from . import shape_prop, split_module

__all__ = ["shape_prop", "split_module"]
