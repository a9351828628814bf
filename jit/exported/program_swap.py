"""`ingot.export._swap`: a program as modules of which some are others."""

from .program_modules import swap_modules as _swap_modules

__all__ = ["_swap_modules"]
