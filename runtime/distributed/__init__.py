"""`ingot.distributed`: processes that compute together, by shared memory on one machine, by MPI, or over TCP.

Each process calls `init_process_group` with its rank. Then collectives work on tensors in place. `nn.parallel`'s
DistributedDataParallel builds on it.
"""

from . import fsdp, tensor
from .collectives import group_methods as group_methods
from .collectives.collectives import *
from .collectives.device_mesh import DeviceMesh, init_device_mesh
from .collectives.object_collectives import *
from .collectives.point_to_point import P2POp, batch_isend_irecv, irecv, isend, recv, send
from .engines.reduce_op import ReduceOp
from .groups.process_group import ProcessGroup, Work
from .groups.world import *
from .groups.world import default_pg_timeout, get_node_local_rank
from .launchers import error_files as error_files
from .launchers import rpc
from .stores.distributed_errors import DistBackendError, DistError, DistNetworkError, DistStoreError, DistTimeoutError
from .stores.store import FileStore, HashStore, PrefixStore, Store
from .stores.tcp_store import TCPStore
from .training.grad_bucket import GradBucket

__all__ = [
    "SHRINK_ABORT", "SHRINK_DEFAULT", "Backend", "DeviceMesh", "DistBackendError", "DistError", "DistNetworkError",
    "DistStoreError", "DistTimeoutError", "FileStore", "GradBucket", "GroupMember", "HashStore", "P2POp",
    "PrefixStore", "ProcessGroup", "ReduceOp", "Store", "TCPStore", "Work", "all_gather", "all_gather_into_tensor",
    "all_gather_object", "all_reduce", "all_reduce_coalesced", "all_to_all", "all_to_all_single", "barrier",
    "batch_isend_irecv", "broadcast", "broadcast_object_list", "default_pg_timeout", "destroy_process_group", "fsdp",
    "gather", "gather_object", "get_backend", "get_default_backend_for_device", "get_global_rank", "get_group_rank",
    "get_node_local_rank", "get_process_group_ranks", "get_rank", "get_world_size", "group", "init_device_mesh",
    "init_process_group", "irecv", "is_available", "is_backend_available", "is_gloo_available", "is_initialized",
    "is_mpi_available", "is_nccl_available", "is_torchelastic_launched", "is_ucc_available", "is_xccl_available",
    "isend", "monitored_barrier", "new_group", "new_subgroups", "recv", "recv_object_list", "reduce",
    "reduce_scatter", "reduce_scatter_tensor", "rendezvous", "rpc", "scatter", "scatter_object_list", "send",
    "send_object_list", "shrink_group", "tensor",
]
