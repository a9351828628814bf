"""`ingot.fx.passes.utils`: tools for passes.

Way in: `matcher_utils.SubgraphMatcher`, which finds a pattern in graphs.
"""

from . import matcher_utils

__all__ = ["matcher_utils"]
