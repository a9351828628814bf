"""`ingot.fx.passes`: passes over whole graphs."""

from . import infra, shape_prop, split_module, utils

__all__ = ["infra", "shape_prop", "split_module", "utils"]
