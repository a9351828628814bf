"""`ingot.distributed.tensor`: tensors sharded over the processes of a mesh.

    mesh = init_device_mesh("cpu", (4,))
    x = distribute_tensor(x, mesh, [Shard(0)])         # each process has a quarter of the rows
    y = (x @ w).relu()                                 # w a DTensor as well; computed on the parts
    y.full_tensor()                                    # all of it, everywhere

Operators, gradients, writes in place and optimizers work as with plain tensors, and communicate where needed.
"""

from ..collectives.device_mesh import DeviceMesh, init_device_mesh
from .dtensor import DTensor, DTensorSpec, TensorMeta, implicit_replication
from .dtensor_factories import distribute_module, distribute_tensor, empty, full, ones, rand, randn, zeros
from .local_map import local_map
from .placements import Partial, Placement, Replicate, Shard, _StridedShard
from .sharded_layout import compute_local_shape_and_global_offset

__all__ = ["DTensor", "DTensorSpec", "DeviceMesh", "Partial", "Placement", "Replicate", "Shard", "TensorMeta", "_StridedShard",
           "compute_local_shape_and_global_offset", "distribute_module", "distribute_tensor", "empty", "full",
           "implicit_replication", "init_device_mesh", "local_map", "ones", "rand", "randn", "zeros"]
