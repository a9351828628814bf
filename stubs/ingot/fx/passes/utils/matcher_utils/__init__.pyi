"""Search for a pattern graph in larger graphs (`fx.passes.utils.matcher_utils`)."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.fx.passes.utils import InternalMatch as InternalMatch
from ingot.fx.passes.utils import SubgraphMatcher as SubgraphMatcher
