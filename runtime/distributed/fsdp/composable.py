"""What wraps modules in place: not there, as its parameters would be tensors that are shared out themselves. Programs may ask
whether a module is wrapped so, and make the settings that it would be given."""

from ..errors import refused

__all__ = ["FSDPModule", "UnshardHandle", "fully_shard", "register_fsdp_forward_method"]

_INSTEAD = ("parameters that it leaves in a module are DTensors, which are not there; wrap the module in "
            "fsdp.FullyShardedDataParallel(module, use_orig_params=True), with an auto_wrap_policy for the modules inside")


class FSDPModule:
    """What no module is an instance of."""


class UnshardHandle:
    """What would wait for whole parameters."""


fully_shard = refused("fsdp.fully_shard", _INSTEAD)
register_fsdp_forward_method = refused("fsdp.register_fsdp_forward_method", _INSTEAD)
