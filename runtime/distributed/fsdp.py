"""`ingot.distributed.fsdp`: modules whose parameters are shared out over processes are not there. Programs may ask whether a
module is one, and make the settings that they would be given."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from ..nn.module import Module
from .errors import refused

__all__ = ["BackwardPrefetch", "CPUOffload", "CPUOffloadPolicy", "FSDPModule", "FullOptimStateDictConfig",
           "FullStateDictConfig", "FullyShardedDataParallel", "LocalOptimStateDictConfig", "LocalStateDictConfig",
           "MixedPrecision", "MixedPrecisionPolicy", "ModuleWrapPolicy", "OffloadPolicy", "OptimStateDictConfig",
           "ShardedOptimStateDictConfig", "ShardedStateDictConfig", "ShardingStrategy", "StateDictConfig", "StateDictType",
           "always_wrap_policy", "enable_wrap", "fully_shard", "lambda_auto_wrap_policy", "size_based_auto_wrap_policy",
           "transformer_auto_wrap_policy", "wrap"]

_INSTEAD = ("ingot keeps parameters whole in each process; share out the data with nn.parallel.DistributedDataParallel, and "
            "save memory with utils.checkpoint or offloaded activations (autograd.graph.save_on_cpu)")


class FullyShardedDataParallel(Module):
    """A module whose parameters are shared out. Refused, with what to use instead."""

    __init__ = refused("fsdp.FullyShardedDataParallel", _INSTEAD)


class FSDPModule:
    """What no module is an instance of."""


fully_shard = refused("fsdp.fully_shard", _INSTEAD)
enable_wrap, wrap = refused("fsdp.wrap.enable_wrap", _INSTEAD), refused("fsdp.wrap.wrap", _INSTEAD)


def _policy(name: str) -> Any:
    return refused(f"fsdp.wrap.{name}", _INSTEAD)


always_wrap_policy, lambda_auto_wrap_policy = _policy("always_wrap_policy"), _policy("lambda_auto_wrap_policy")
size_based_auto_wrap_policy = _policy("size_based_auto_wrap_policy")
transformer_auto_wrap_policy = _policy("transformer_auto_wrap_policy")


class ModuleWrapPolicy:
    """The classes of modules that would be shared out each for itself."""

    def __init__(self, module_classes):
        self.module_classes = set(module_classes)


class ShardingStrategy(Enum):
    """What would be shared out."""

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


class BackwardPrefetch(Enum):
    """When parameters would be fetched on the way back."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


class StateDictType(Enum):
    """The form in which parameters would be saved."""

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


@dataclass
class MixedPrecision:
    """The dtypes in which parameters would be used, and gradients added."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Any = ()


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes in which parameters would be used, gradients added, and results given."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class CPUOffload:
    """Whether parameters would be kept in the CPU's memory."""

    offload_params: bool = False


@dataclass(frozen=True)
class OffloadPolicy:
    """Parameters would stay on the device."""


@dataclass(frozen=True)
class CPUOffloadPolicy(OffloadPolicy):
    """Parameters would be kept in the CPU's memory."""

    pin_memory: bool = True


@dataclass
class StateDictConfig:
    """How parameters would be saved."""

    offload_to_cpu: bool = False


class LocalStateDictConfig(StateDictConfig):
    """How the parts of this process would be saved."""


@dataclass
class FullStateDictConfig(StateDictConfig):
    """How whole parameters would be saved."""

    rank0_only: bool = False


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """How parts would be saved."""

    _use_dtensor: bool = False


@dataclass
class OptimStateDictConfig:
    """How the state of an optimizer would be saved."""

    offload_to_cpu: bool = True


class LocalOptimStateDictConfig(OptimStateDictConfig):
    """How the parts of this process would be saved."""


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """How whole states would be saved."""

    rank0_only: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """How parts would be saved."""

    _use_dtensor: bool = False
