"""`ingot.fx.passes`: passes over whole graphs: shape propagation, split into modules.

Way in: `shape_prop.ShapeProp`, `split_module.split_module`. Rooms `infra` and `utils` lie below it.
"""

from . import infra, shape_prop, split_module, utils

__all__ = ["infra", "shape_prop", "split_module", "utils"]
