"""`ingot.fx.passes`: passes over whole graphs: shape propagation, split into modules, and a manager of passes.

Way in: `shape_prop.ShapeProp`, `split_module.split_module`, `pass_manager.PassManager`. A pass is a function or a `PassBase` on
a GraphModule. The manager and the search of `jit/fx/matching.py` are public as `infra` and `utils`.
"""

from . import shape_prop, split_module

__all__ = ["infra", "shape_prop", "split_module", "utils"]
