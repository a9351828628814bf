"""Membership of this process in a run: joining, groups, ranks, leaving."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
from ingot.distributed import Backend as Backend
from ingot.distributed import GroupMember as GroupMember
from ingot.distributed import destroy_process_group as destroy_process_group
from ingot.distributed import get_backend as get_backend
from ingot.distributed import get_default_backend_for_device as get_default_backend_for_device
from ingot.distributed import get_global_rank as get_global_rank
from ingot.distributed import get_group_rank as get_group_rank
from ingot.distributed import get_process_group_ranks as get_process_group_ranks
from ingot.distributed import get_rank as get_rank
from ingot.distributed import get_world_size as get_world_size
from ingot.distributed import group as group
from ingot.distributed import init_process_group as init_process_group
from ingot.distributed import is_available as is_available
from ingot.distributed import is_backend_available as is_backend_available
from ingot.distributed import is_gloo_available as is_gloo_available
from ingot.distributed import is_initialized as is_initialized
from ingot.distributed import is_mpi_available as is_mpi_available
from ingot.distributed import is_nccl_available as is_nccl_available
from ingot.distributed import is_torchelastic_launched as is_torchelastic_launched
from ingot.distributed import is_ucc_available as _is_ucc_available
from ingot.distributed import is_ucc_available as is_ucc_available
from ingot.distributed import new_group as new_group
from ingot.distributed import new_subgroups as new_subgroups
from ingot.distributed import rendezvous as rendezvous
from ingot.distributed import shrink_group as shrink_group

SHRINK_ABORT: _b.int
SHRINK_DEFAULT: _b.int
is_xccl_available = _is_ucc_available
