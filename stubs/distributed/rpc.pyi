"""The names of `ingot.distributed.rpc`, and functions that factories build.

Made by `make stubs` from the live package; not edited by hand.
"""

from typing import Any

from ..runtime.distributed.launchers.rpc import is_available as is_available

def init_rpc(*args, **kwargs) -> Any:
    """Refused, with what to use instead."""
def remote(*args, **kwargs) -> Any:
    """Refused, with what to use instead."""
def rpc_async(*args, **kwargs) -> Any:
    """Refused, with what to use instead."""
def rpc_sync(*args, **kwargs) -> Any:
    """Refused, with what to use instead."""
def shutdown(*args, **kwargs) -> Any:
    """Refused, with what to use instead."""
