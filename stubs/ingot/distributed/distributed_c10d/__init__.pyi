"""`ingot.distributed`: processes that compute together, by shared memory on one machine, by MPI, or over TCP."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
from datetime import timedelta as _timedelta
from ingot.distributed import Backend as Backend
from ingot.distributed import DeviceMesh as DeviceMesh
from ingot.distributed import DistBackendError as DistBackendError
from ingot.distributed import DistError as DistError
from ingot.distributed import DistNetworkError as DistNetworkError
from ingot.distributed import DistStoreError as DistStoreError
from ingot.distributed import DistTimeoutError as DistTimeoutError
from ingot.distributed import FileStore as FileStore
from ingot.distributed import GradBucket as GradBucket
from ingot.distributed import GroupMember as GroupMember
from ingot.distributed import HashStore as HashStore
from ingot.distributed import P2POp as P2POp
from ingot.distributed import PrefixStore as PrefixStore
from ingot.distributed import ProcessGroup as ProcessGroup
from ingot.distributed import ReduceOp as ReduceOp
from ingot.distributed import Store as Store
from ingot.distributed import TCPStore as TCPStore
from ingot.distributed import Work as Work
from ingot.distributed import all_gather as all_gather
from ingot.distributed import all_gather_into_tensor as all_gather_into_tensor
from ingot.distributed import all_gather_object as all_gather_object
from ingot.distributed import all_reduce as all_reduce
from ingot.distributed import all_reduce_coalesced as all_reduce_coalesced
from ingot.distributed import all_to_all as all_to_all
from ingot.distributed import all_to_all_single as all_to_all_single
from ingot.distributed import barrier as barrier
from ingot.distributed import batch_isend_irecv as batch_isend_irecv
from ingot.distributed import broadcast as broadcast
from ingot.distributed import broadcast_object_list as broadcast_object_list
from ingot.distributed import destroy_process_group as destroy_process_group
from ingot.distributed import gather as gather
from ingot.distributed import gather_object as gather_object
from ingot.distributed import get_backend as get_backend
from ingot.distributed import get_default_backend_for_device as get_default_backend_for_device
from ingot.distributed import get_global_rank as get_global_rank
from ingot.distributed import get_group_rank as get_group_rank
from ingot.distributed import get_node_local_rank as get_node_local_rank
from ingot.distributed import get_process_group_ranks as get_process_group_ranks
from ingot.distributed import get_rank as get_rank
from ingot.distributed import get_world_size as get_world_size
from ingot.distributed import group as group
from ingot.distributed import init_device_mesh as init_device_mesh
from ingot.distributed import init_process_group as init_process_group
from ingot.distributed import irecv as irecv
from ingot.distributed import is_available as is_available
from ingot.distributed import is_backend_available as is_backend_available
from ingot.distributed import is_gloo_available as is_gloo_available
from ingot.distributed import is_initialized as is_initialized
from ingot.distributed import is_mpi_available as is_mpi_available
from ingot.distributed import is_nccl_available as is_nccl_available
from ingot.distributed import is_torchelastic_launched as is_torchelastic_launched
from ingot.distributed import is_ucc_available as _is_ucc_available
from ingot.distributed import is_ucc_available as is_ucc_available
from ingot.distributed import isend as isend
from ingot.distributed import monitored_barrier as monitored_barrier
from ingot.distributed import new_group as new_group
from ingot.distributed import new_subgroups as new_subgroups
from ingot.distributed import recv as recv
from ingot.distributed import recv_object_list as recv_object_list
from ingot.distributed import reduce as reduce
from ingot.distributed import reduce_scatter as reduce_scatter
from ingot.distributed import reduce_scatter_tensor as reduce_scatter_tensor
from ingot.distributed import rendezvous as rendezvous
from ingot.distributed import rpc as rpc
from ingot.distributed import scatter as scatter
from ingot.distributed import scatter_object_list as scatter_object_list
from ingot.distributed import send as send
from ingot.distributed import send_object_list as send_object_list
from ingot.distributed import shrink_group as shrink_group
from ingot.distributed.distributed_c10d import fsdp as fsdp
from ingot.distributed.distributed_c10d import tensor as tensor

SHRINK_ABORT: _b.int
SHRINK_DEFAULT: _b.int
default_pg_timeout: _timedelta
is_xccl_available = _is_ucc_available
