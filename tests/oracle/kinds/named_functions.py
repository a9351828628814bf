"""Python functions that rows of layers and losses name."""

from ..row import function


@function("city block")
def _city_block(library):
    return lambda a, b: (a - b).abs().sum(-1)
