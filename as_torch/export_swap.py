"""`ingot.export._swap`: a program as modules of which some are others."""

from ..jit.exporting.program.module_call_graph import swap_modules as _swap_modules

__all__ = ["_swap_modules"]
