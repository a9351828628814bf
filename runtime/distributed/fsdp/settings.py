"""The settings of `distributed.fsdp`: what is shared out, in which dtypes, and in which form states are given."""

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from ...nn.layers.norm import _BatchNorm

__all__ = ["BackwardPrefetch", "CPUOffload", "CPUOffloadPolicy", "FullOptimStateDictConfig", "FullStateDictConfig",
           "LocalOptimStateDictConfig", "LocalStateDictConfig", "MixedPrecision", "MixedPrecisionPolicy", "OffloadPolicy",
           "OptimStateDictConfig", "OptimStateKeyType", "ShardedOptimStateDictConfig", "ShardedStateDictConfig",
           "ShardingStrategy", "StateDictConfig", "StateDictSettings", "StateDictType"]


class ShardingStrategy(Enum):
    """What is shared out. FULL_SHARD: parameters, gradients and states of optimizers, and whole parameters are there only while
    they are used. SHARD_GRAD_OP: the same, but whole parameters stay from forward to backward. NO_SHARD: nothing, gradients are
    averaged. HYBRID_SHARD: all, within the rows of a mesh, and gradients are averaged between them."""

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


class BackwardPrefetch(Enum):
    """When parameters are fetched on the way back: taken, and nothing depends on it."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


class StateDictType(Enum):
    """The form of state dicts: whole values by the names of the module, this rank's flat parameters, or its part of each
    value."""

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


@dataclass
class MixedPrecision:
    """The dtypes in which parameters are used, gradients are summed over ranks (None: that of the parameters), and buffers
    are kept. Modules of classes to ignore are units of their own, in full precision, where a policy wraps modules."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Any = (_BatchNorm,)


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes in which parameters are used, gradients are summed over ranks, and results of modules come out (None: as they
    are), and whether arguments are cast to the first one."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class CPUOffload:
    """Whether this rank's part of parameters, and of their gradients, is kept in the CPU's memory."""

    offload_params: bool = False


@dataclass(frozen=True)
class OffloadPolicy:
    """Parameters stay on their device."""


@dataclass(frozen=True)
class CPUOffloadPolicy(OffloadPolicy):
    """This rank's parts of parameters, and of their gradients, are kept in the CPU's memory."""

    pin_memory: bool = True


@dataclass
class StateDictConfig:
    """How parameters are saved."""

    offload_to_cpu: bool = False


class LocalStateDictConfig(StateDictConfig):
    """How the parts of this process are saved."""


@dataclass
class FullStateDictConfig(StateDictConfig):
    """How whole parameters are saved."""

    rank0_only: bool = False


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """How parts are saved."""

    _use_dtensor: bool = False


@dataclass
class OptimStateDictConfig:
    """How the state of an optimizer is saved."""

    offload_to_cpu: bool = True


class LocalOptimStateDictConfig(OptimStateDictConfig):
    """How the parts of this process are saved."""


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """How whole states are saved."""

    rank0_only: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """How parts are saved."""

    _use_dtensor: bool = False


class OptimStateKeyType(Enum):
    """By what parameters are called in states of optimizers."""

    PARAM_NAME = auto()
    PARAM_ID = auto()


@dataclass
class StateDictSettings:
    """The form in which a module gives its state and that of its optimizer."""

    state_dict_type: StateDictType = StateDictType.FULL_STATE_DICT
    state_dict_config: StateDictConfig = field(default_factory=FullStateDictConfig)
    optim_state_dict_config: OptimStateDictConfig = field(default_factory=FullOptimStateDictConfig)
