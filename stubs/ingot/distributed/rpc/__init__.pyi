"""`ingot.distributed.rpc`: unavailable. Processes that compute together send tensors by `ingot.distributed`."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t

def init_rpc(*args: _t.Any, **kwargs: _t.Any) -> _t.Any:
    """Refused, with what to use instead."""
def is_available() -> _b.bool:
    """Return False."""
def remote(*args: _t.Any, **kwargs: _t.Any) -> _t.Any:
    """Refused, with what to use instead."""
def rpc_async(*args: _t.Any, **kwargs: _t.Any) -> _t.Any:
    """Refused, with what to use instead."""
def rpc_sync(*args: _t.Any, **kwargs: _t.Any) -> _t.Any:
    """Refused, with what to use instead."""
def shutdown(*args: _t.Any, **kwargs: _t.Any) -> _t.Any:
    """Refused, with what to use instead."""
