"""`ingot.distributed.fsdp`: modules whose parameters are shared out over processes are not there. Programs may ask whether a
module is one."""

from ..nn.module import Module
from .errors import refused

__all__ = ["FSDPModule", "FullyShardedDataParallel", "fully_shard"]

_INSTEAD = ("ingot keeps parameters whole in each process; share out the data with nn.parallel.DistributedDataParallel, and "
            "save memory with utils.checkpoint or offloaded activations (autograd.graph.save_on_cpu)")


class FullyShardedDataParallel(Module):
    """A module whose parameters are shared out. Refused, with what to use instead."""

    __init__ = refused("fsdp.FullyShardedDataParallel", _INSTEAD)


class FSDPModule:
    """What no module is an instance of."""


fully_shard = refused("fsdp.fully_shard", _INSTEAD)
