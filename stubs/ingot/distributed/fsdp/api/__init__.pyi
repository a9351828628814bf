"""Settings of `distributed.fsdp`: sharding, dtypes, and forms of states."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.distributed.fsdp import BackwardPrefetch as BackwardPrefetch
from ingot.distributed.fsdp import CPUOffload as CPUOffload
from ingot.distributed.fsdp import CPUOffloadPolicy as CPUOffloadPolicy
from ingot.distributed.fsdp import FullOptimStateDictConfig as FullOptimStateDictConfig
from ingot.distributed.fsdp import FullStateDictConfig as FullStateDictConfig
from ingot.distributed.fsdp import LocalOptimStateDictConfig as LocalOptimStateDictConfig
from ingot.distributed.fsdp import LocalStateDictConfig as LocalStateDictConfig
from ingot.distributed.fsdp import MixedPrecision as MixedPrecision
from ingot.distributed.fsdp import MixedPrecisionPolicy as MixedPrecisionPolicy
from ingot.distributed.fsdp import OffloadPolicy as OffloadPolicy
from ingot.distributed.fsdp import OptimStateDictConfig as OptimStateDictConfig
from ingot.distributed.fsdp import OptimStateKeyType as OptimStateKeyType
from ingot.distributed.fsdp import ShardedOptimStateDictConfig as ShardedOptimStateDictConfig
from ingot.distributed.fsdp import ShardedStateDictConfig as ShardedStateDictConfig
from ingot.distributed.fsdp import ShardingStrategy as ShardingStrategy
from ingot.distributed.fsdp import StateDictConfig as StateDictConfig
from ingot.distributed.fsdp import StateDictSettings as StateDictSettings
from ingot.distributed.fsdp import StateDictType as StateDictType
