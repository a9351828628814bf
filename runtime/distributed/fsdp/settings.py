"""Settings of `distributed.fsdp`: sharding, dtypes, and forms of states."""

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from ...nn.layers.norm import _BatchNorm

__all__ = ["BackwardPrefetch", "CPUOffload", "CPUOffloadPolicy", "FullOptimStateDictConfig", "FullStateDictConfig",
           "LocalOptimStateDictConfig", "LocalStateDictConfig", "MixedPrecision", "MixedPrecisionPolicy", "OffloadPolicy",
           "OptimStateDictConfig", "OptimStateKeyType", "ShardedOptimStateDictConfig", "ShardedStateDictConfig",
           "ShardingStrategy", "StateDictConfig", "StateDictSettings", "StateDictType"]


class ShardingStrategy(Enum):
    """Extent of sharding.

    FULL_SHARD: parameters, gradients and optimizer states; whole parameters exist only while they are used. SHARD_GRAD_OP: the
    same, but whole parameters stay from forward to backward. NO_SHARD: nothing; gradients are averaged. HYBRID_SHARD: all
    within the rows of a mesh; gradients are averaged between rows.
    """

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


class BackwardPrefetch(Enum):
    """Time of gathering parameters in backward; accepted without effect."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


class StateDictType(Enum):
    """Form of state dicts: whole values by module names, this rank's flat parameters, or its part of each value."""

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


@dataclass
class MixedPrecision:
    """Dtypes of parameters in use, of gradient sums (None: that of the parameters), and of buffers. If a policy wraps modules,
    those of ignored classes are units of their own, in full precision."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Any = (_BatchNorm,)


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """Dtypes of parameters in use, of gradient sums, and of results (None: unchanged); whether arguments are cast, too."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class CPUOffload:
    """Whether this rank's part of parameters and gradients is kept in CPU memory."""

    offload_params: bool = False


@dataclass(frozen=True)
class OffloadPolicy:
    """Policy that keeps parameters on their device."""


@dataclass(frozen=True)
class CPUOffloadPolicy(OffloadPolicy):
    """Policy that keeps this rank's parts of parameters and gradients in CPU memory. `pin_memory` is ignored: parts are copied
    one after the other, and pinned memory is for copies beside other work."""

    pin_memory: bool = True


@dataclass
class StateDictConfig:
    """Options for saving parameters."""

    offload_to_cpu: bool = False


class LocalStateDictConfig(StateDictConfig):
    """Options for saving the parts of this process."""


@dataclass
class FullStateDictConfig(StateDictConfig):
    """Options for saving whole parameters."""

    rank0_only: bool = False


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """Options for saving parts."""

    _use_dtensor: bool = False


@dataclass
class OptimStateDictConfig:
    """Options for saving an optimizer's state."""

    offload_to_cpu: bool = True


class LocalOptimStateDictConfig(OptimStateDictConfig):
    """Options for saving the parts of this process."""


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """Options for saving whole states."""

    rank0_only: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Options for saving parts."""

    _use_dtensor: bool = False


class OptimStateKeyType(Enum):
    """Keys of parameters in optimizer states."""

    PARAM_NAME = auto()
    PARAM_ID = auto()


@dataclass
class StateDictSettings:
    """Form of a module's state and of its optimizer's."""

    state_dict_type: StateDictType = StateDictType.FULL_STATE_DICT
    state_dict_config: StateDictConfig = field(default_factory=FullStateDictConfig)
    optim_state_dict_config: OptimStateDictConfig = field(default_factory=FullOptimStateDictConfig)
