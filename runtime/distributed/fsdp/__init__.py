"""`ingot.distributed.fsdp`: modules with parameters, gradients and optimizer states sharded over ranks.

Way in: `FullyShardedDataParallel`, or `fully_shard` for DTensor parameters. Saved values in gathered parameters are replaced
by a way to gather them again (`saved_parameters.py`).
"""

from . import wrap_policies as wrap  # noqa: F401 (public)
from .composable_fsdp import FSDPModule, UnshardHandle, fully_shard, register_fsdp_forward_method
from .flat_parameter import FlatParameter
from .fully_sharded_data_parallel import FullyShardedDataParallel
from .settings import *

__all__ = ["BackwardPrefetch", "CPUOffload", "CPUOffloadPolicy", "FSDPModule", "FlatParameter", "FullOptimStateDictConfig",
           "FullStateDictConfig", "FullyShardedDataParallel", "LocalOptimStateDictConfig", "LocalStateDictConfig",
           "MixedPrecision", "MixedPrecisionPolicy", "OffloadPolicy", "OptimStateDictConfig", "OptimStateKeyType",
           "ShardedOptimStateDictConfig", "ShardedStateDictConfig", "ShardingStrategy", "StateDictConfig",
           "StateDictSettings", "StateDictType", "UnshardHandle", "fully_shard", "register_fsdp_forward_method"]
