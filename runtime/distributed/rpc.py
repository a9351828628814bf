"""`ingot.distributed.rpc`: not there. Processes that compute together send tensors by `ingot.distributed`."""

from .errors import DistError

__all__ = ["init_rpc", "is_available", "remote", "rpc_async", "rpc_sync", "shutdown"]


def is_available() -> bool:
    """False."""
    return False


def _refused(name):
    def call(*args, **kwargs):
        raise DistError(f"distributed.rpc.{name}: ingot runs no functions in other processes; send what they need with "
                        "distributed.send and recv, or start them with multiprocessing")

    call.__name__ = call.__qualname__ = name
    call.__doc__ = "Refused, with what to use instead."
    return call


init_rpc, remote, rpc_async, rpc_sync, shutdown = map(_refused, __all__[:1] + __all__[2:])
