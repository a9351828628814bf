"""`ingot.fx.passes.utils`: tools for passes."""

from . import matcher_utils

__all__ = ["matcher_utils"]
