"""`ingot.distributed.rpc`: unavailable. Processes that compute together send tensors by `ingot.distributed`."""

from ..stores.distributed_errors import refused

__all__ = ["init_rpc", "is_available", "remote", "rpc_async", "rpc_sync", "shutdown"]


def is_available() -> bool:
    """Return False."""
    return False


_INSTEAD = ("ingot runs no functions in other processes; send what they need with distributed.send and recv, or start them "
            "with multiprocessing")
init_rpc, remote, rpc_async, rpc_sync, shutdown = [refused(f"rpc.{name}", _INSTEAD) for name in __all__[:1] + __all__[2:]]
