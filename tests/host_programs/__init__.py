"""Programs whose host steps change Python state, and which read it behind them, before them, or not at all.

Each is a function of (wrap, changes): it gives the results of some calls of the wrapped function, and what they have left.
`changes(v)` says whether a host step changes anything, of which it is told a number.
"""

from . import beside, containers, given, tensors, variables, written  # noqa: F401  (they enter their programs)
from .common import BEHIND, BESIDE, GIVEN, WRITTEN

__all__ = ["BEHIND", "BESIDE", "GIVEN", "WRITTEN"]
