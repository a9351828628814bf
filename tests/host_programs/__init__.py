"""Programs whose host steps change Python state, which the programs read after them, before them, or not at all.

A program is a function of (wrap, changes). It returns the results of some calls of the wrapped function, and the state after
them. `changes(v)` tells a host step whether to change anything; `v` is the number that the step got.
"""

from . import arguments, containers, read_by_host, tensors, unread, variables  # noqa: F401  (they enter their programs)
from .common import ARGUMENTS, READ_AFTER, READ_BY_HOST, UNREAD

__all__ = ["ARGUMENTS", "READ_AFTER", "READ_BY_HOST", "UNREAD"]
