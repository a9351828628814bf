"""`ingot.fx.passes.utils`: what passes share."""

from . import matcher_utils

__all__ = ["matcher_utils"]
