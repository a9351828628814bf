"""`ingot.futures`: results that arrive later, perhaps from another thread."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot import Future as Future
from ingot import Future as _Future

def collect_all(futures: _t.Any) -> _Future:
    """Return the future of a list of futures, done when all of them are."""
def wait_all(futures: _t.Any) -> _b.list[_t.Any]:
    """Return the results of all; raise the first exception among them."""
