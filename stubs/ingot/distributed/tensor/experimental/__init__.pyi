"""`ingot.distributed.tensor`: tensors sharded over the processes of a mesh."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.distributed import DeviceMesh as DeviceMesh
from ingot.distributed import init_device_mesh as init_device_mesh
from ingot.distributed.tensor import DTensor as DTensor
from ingot.distributed.tensor import DTensorSpec as DTensorSpec
from ingot.distributed.tensor import Partial as Partial
from ingot.distributed.tensor import Placement as Placement
from ingot.distributed.tensor import Replicate as Replicate
from ingot.distributed.tensor import Shard as Shard
from ingot.distributed.tensor import TensorMeta as TensorMeta
from ingot.distributed.tensor import _StridedShard as _StridedShard
from ingot.distributed.tensor import compute_local_shape_and_global_offset as compute_local_shape_and_global_offset
from ingot.distributed.tensor import distribute_module as distribute_module
from ingot.distributed.tensor import distribute_tensor as distribute_tensor
from ingot.distributed.tensor import empty as empty
from ingot.distributed.tensor import full as full
from ingot.distributed.tensor import implicit_replication as implicit_replication
from ingot.distributed.tensor import local_map as local_map
from ingot.distributed.tensor import ones as ones
from ingot.distributed.tensor import rand as rand
from ingot.distributed.tensor import randn as randn
from ingot.distributed.tensor import zeros as zeros
