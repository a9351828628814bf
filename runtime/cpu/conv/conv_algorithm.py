"""Algorithms of convolutions, by their names in graphs. None is the direct kernel.

An algorithm has the size of a transformed weight (`filter_bytes`), adds the steps that transform one (`add_weight`) and those
of the convolution (`add`), and says whether it reads x as planes.
"""

from . import winograd, winograd_rows
from .conv_plan import Geometry

Algorithm = winograd.Algorithm | winograd_rows.Rows
ALGORITHMS: dict[str, Algorithm | None] = {
    "direct": None, "winograd2": winograd.F2, "winograd2_half": winograd.HALF, "winograd2x4": winograd.F2X4,
    "winograd2x4_half": winograd.HALF2X4, "winograd4": winograd.F4, "winograd_strided": winograd.STRIDED,
    **{f"winograd_rows{phases}": winograd_rows.Rows(phases) for phases in range(1, winograd_rows.MOST_PHASES + 1)}}
NAMES = {algorithm: name for name, algorithm in ALGORITHMS.items()}


def choose(g: Geometry, prepared: bool = False) -> Algorithm | None:
    """Return the algorithm that pays; `prepared` weights are transformed already."""
    return winograd_rows.choose(g) or winograd.choose(g, prepared)
