"""Membership of this process in a run: joining, groups, ranks, leaving."""

import os
import time
from datetime import timedelta
from multiprocessing import util
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ....ir.error_texts import shown_errors
from ....ir.errors import ArgumentError
from ....ir.lazy import lazy
from ....ir.requirements import install_extra
from ...core.device import as_device
from ...state.mode import tls
from ...state.switches import question
from ..engines import nccl_library
from ..engines.mpi_library import is_installed as is_mpi_available
from ..stores.distributed_errors import DistBackendError, DistError
from ..stores.launch_variables import address, launch, local_rank, number
from ..stores.run_store import store_of_run
from ..stores.store import FileStore, PrefixStore, Store, seconds
from ..stores.store_service import ServedStore
from .choose_engine import chosen_engine, joins_by_mpi, requested_engine
from .process_group import ProcessGroup
from .store_by_messages import StoreByMessages

nccl_engine = lazy(__package__, "..engines.nccl_engine")

__all__ = [
    "SHRINK_ABORT", "SHRINK_DEFAULT", "Backend", "GroupMember", "destroy_process_group", "get_backend",
    "get_default_backend_for_device", "get_global_rank", "get_group_rank", "get_process_group_ranks", "get_rank",
    "get_world_size", "group", "init_process_group", "is_available", "is_backend_available", "is_gloo_available",
    "is_initialized", "is_mpi_available", "is_nccl_available", "is_torchelastic_launched", "is_ucc_available",
    "is_xccl_available", "new_group", "new_subgroups", "rendezvous", "shrink_group",
]

default_pg_timeout = timedelta(minutes=30)
_NOTICING = 2.0         # seconds to learn that a rank has failed
_AT_THE_END = -150      # of what a process does when it ends: before it waits for clients of its store


class Backend(str):
    """Name of a backend: 'gloo' chooses an engine for CPU tensors (`group.WORLD.engine.name`), 'mpi' and 'tcp' are engines.
    'nccl' is 'gloo' with another engine for tensors on GPUs; 'cpu:mpi,cuda:nccl' names both."""

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    MPI = "mpi"
    UCC = "ucc"
    TCP = "tcp"

    def __new__(cls, name):
        if not isinstance(name, str):
            raise ArgumentError(f"a backend is named by a string, got {name!r}")
        return super().__new__(cls, name.lower())


class _Run:
    """State of this process in a run."""

    engine: Any = None
    devices: Any = None         # the engine of GPUs, if there is one
    world: Any = None
    store: Any = None
    end: Any = None             # leaves the run if the process ends before
    groups: list = []
    group_count = 0            # numbers of groups: equal on all ranks, as groups are made in one order


NON_MEMBER = object()


class GroupMember:
    """Special groups: the whole run, and a group without this process."""

    WORLD: Any = None
    NON_GROUP_MEMBER = NON_MEMBER


class _WorldMeta(type):
    @property
    def WORLD(cls):
        """Group of all ranks."""
        return _Run.world


class group(metaclass=_WorldMeta):
    """Namespace: `group.WORLD` is the group of all ranks."""


def is_available() -> bool:
    """Return True: processes can communicate here."""
    return True


@question
def is_initialized() -> bool:
    """Return whether init_process_group was called."""
    return _Run.world is not None


def is_backend_available(backend: str) -> bool:
    """Return whether a backend exists under that name."""
    name = backend.lower()
    return (name in (Backend.GLOO, Backend.TCP) or (name == Backend.MPI and is_mpi_available())
            or (name == Backend.NCCL and is_nccl_available()))


def is_gloo_available() -> bool:
    """Return True: 'gloo' names the backend for CPU tensors."""
    return True


def is_nccl_available() -> bool:
    """Return whether the library of NCCL is here, by which tensors on GPUs travel."""
    return not nccl_library.why_not()


def is_ucc_available() -> bool:
    """Return False: 'gloo' and 'nccl' do its work."""
    return False


is_xccl_available = is_ucc_available


@question
def is_torchelastic_launched() -> bool:
    """Return whether an elastic launcher has started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def _backend(name) -> Backend:
    """Return the backend for tensors on the CPU; names like 'cpu:gloo,cuda:nccl' say one for each device."""
    if name is None:
        return Backend(Backend.GLOO)
    parts = dict(part.rpartition(":")[::2] for part in str(name).lower().split(","))
    if Backend.NCCL in parts.values() and not is_nccl_available():
        raise ArgumentError(f"backend {name!r} is not available: {nccl_library.why_not()}")
    found = Backend(parts.get("cpu", parts.get("", next(iter(parts.values())))))
    if found == Backend.NCCL:
        found = Backend(Backend.GLOO)
    if found == Backend.MPI and not is_mpi_available():
        raise ArgumentError(f"backend='mpi' needs mpi4py and an MPI library: {install_extra('mpi')}")
    if not is_backend_available(found):
        raise ArgumentError(f"backend {name!r} is not available: backend='gloo' sends tensors in CPU memory, by "
                            "shared memory, MPI or TCP")
    return found


def _uses_nccl(name) -> bool:
    """Return whether a backend's name asks for NCCL, for tensors on GPUs."""
    return name is not None and Backend.NCCL in [part.rpartition(":")[2] for part in str(name).lower().split(",")]


def _given(name) -> Backend:
    """Return the backend of a group as it was asked for if that includes NCCL, else the one for tensors on the CPU."""
    return Backend(name) if _uses_nccl(name) else _backend(name)


# Joining.


def _places(rank: int, world_size: int) -> tuple:
    """Return the rank and the number of ranks, from arguments or else from what the launcher has set."""
    found = None if "RANK" in os.environ or "WORLD_SIZE" in os.environ else launch()
    if found is not None:
        return rank if rank >= 0 else found.rank, world_size if world_size >= 0 else found.size
    return _from_environment("RANK", rank), _from_environment("WORLD_SIZE", world_size)


def _from_environment(name: str, argument: int) -> int:
    if argument >= 0:
        return argument
    value = number(name)
    if value is None:
        raise ArgumentError(f"init_process_group needs the environment variable {name} (a launcher sets MASTER_ADDR, "
                            "MASTER_PORT, RANK and WORLD_SIZE), or the arguments rank= and world_size=")
    return value


def _store_of(init_method: str, rank: int, world_size: int, timeout) -> tuple:
    url = urlsplit(init_method)
    host: str | None
    port: int | None
    options = {k: int(v[-1]) for k, v in parse_qs(url.query).items() if k in ("rank", "world_size")}
    rank, world_size = max(rank, options.get("rank", -1)), max(world_size, options.get("world_size", -1))
    if url.scheme == "env":
        rank, world_size = _places(rank, world_size)
        host, port = address()
    elif url.scheme in ("tcp", "file"):
        if rank < 0 or world_size < 1:
            raise ArgumentError(f"init_process_group with {init_method!r} needs rank= and world_size=")
        host, port = url.hostname, url.port
    else:
        raise ArgumentError(f"init_method must start with env://, tcp:// or file://, got {init_method!r}")
    _check_rank(rank, world_size)
    if url.scheme == "file":
        return FileStore(url.netloc + url.path, world_size, timeout), rank, world_size
    if host is None or port is None:
        raise ArgumentError(f"init_method {init_method!r} does not say host and port")
    return store_of_run(host, port, rank, world_size, timeout), rank, world_size


def _check_rank(rank: int, world_size: int):
    """Raise unless a rank is one of a run: it would wait for a store, or for ranks that do not come."""
    if not 0 <= rank < world_size:
        raise ArgumentError(f"rank must be within 0 and world_size - 1, got rank {rank} and world_size {world_size}; by "
                            "default they are the environment variables RANK and WORLD_SIZE")


def rendezvous(url, rank=-1, world_size=-1, timeout=default_pg_timeout):
    """Yield (store, rank, world size) for an init_method."""
    yield _store_of(url, rank, world_size, timeout)


def init_process_group(backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, store=None, group_name="",
                       pg_options=None, device_id=None):
    """Join a run: meet the other processes and connect to each. Every process calls it, with ranks 0 to world_size - 1. They
    meet by a store, or by an init_method: env://, tcp://host:port, file:///path. Under `mpiexec` they need no address.
    Tensors on GPUs travel by host memory, or with 'nccl' by the library of NCCL. With a `device_id` their ranks connect at
    once, and groups are split from that. `pg_options` is ignored: it tunes PyTorch's own backends."""
    if is_initialized():
        raise ArgumentError("init_process_group was called twice; call destroy_process_group() first")
    name = _backend(backend)
    asked = requested_engine(name)
    timeout = default_pg_timeout if timeout is None else timeout
    by_mpi = store is None and (init_method or "env://") == "env://" and joins_by_mpi(asked)
    if by_mpi:
        rank, world_size = _places(rank, world_size)
    elif store is None:
        store, rank, world_size = _store_of(init_method or "env://", rank, world_size, timeout)
    elif init_method is not None:
        raise ArgumentError("init_process_group takes a store or an init_method, not both")
    if not by_mpi and not isinstance(store, Store):
        raise ArgumentError(f"store must be a Store, got {type(store).__name__}")
    _check_rank(rank, world_size)
    if by_mpi:
        _Run.engine = chosen_engine(rank, world_size, None, timeout, Backend.MPI)
        _Run.store = StoreByMessages(_Run.engine, timeout)
    else:
        _Run.engine = chosen_engine(rank, world_size, PrefixStore(f"run{_Run.group_count}", store), timeout, asked)
        _Run.store = store
    _Run.end = util.Finalize(None, _Run.engine.end, exitpriority=_AT_THE_END)
    if _uses_nccl(backend):
        _Run.devices = nccl_engine.NCCLEngine(_Run.engine, PrefixStore(f"run{_Run.group_count}", _Run.store), device_id)
    _Run.world = _enter(range(world_size), timeout, _given(backend), group_name or "default")
    GroupMember.WORLD = _Run.world
    shown_errors.name_lines(f"[rank{rank}]: " if world_size > 1 else "")


def _enter(ranks, timeout, backend, name):
    """Return a new group; every rank counts it, members get it."""
    number, _Run.group_count = _Run.group_count, _Run.group_count + 1
    devices = _Run.devices if _uses_nccl(backend) else None
    if _Run.engine.rank not in ranks:
        if devices is not None:
            devices.stay_out(number, timeout)
        return NON_MEMBER
    group = ProcessGroup(_Run.engine, number, ranks, timeout, backend, name, _Run.store, devices)
    _Run.groups.append(group)
    return group


SHRINK_DEFAULT, SHRINK_ABORT = 0, 1


def shrink_group(ranks_to_exclude=None, group=None, shrink_flags=SHRINK_DEFAULT, pg_options=None):
    """Go on without ranks that have failed; return the group of the others, which takes the place of the run's group.

    All ranks that are left call it after the error of one that has gone. They keep their order and are numbered from 0. Other
    groups and pending operations end; make groups and `DistributedDataParallel` again. `ranks_to_exclude` are those that have
    failed; by default they are found. A rank that runs cannot be excluded. With both `shrink_flags` pending operations end with
    an error. `pg_options` is ignored: it tunes PyTorch's own backends. Needs the engine 'mpi' and an MPI with ULFM."""
    old = member_of(group, "shrink_group")
    if old is not _Run.world:
        raise ArgumentError("shrink_group takes the group of the whole run; make groups of some of the ranks left by new_group")
    if shrink_flags not in (SHRINK_DEFAULT, SHRINK_ABORT):
        raise ArgumentError(f"shrink_flags is SHRINK_DEFAULT or SHRINK_ABORT, got {shrink_flags!r}")
    if _Run.devices is not None:
        raise DistBackendError("shrink_group: NCCL does not go on without ranks that have failed; start all ranks again from "
                               "the last checkpoint (ingot.distributed.run --max-restarts)")
    _check_gone(old, ranks_to_exclude)
    _Run.engine.revoke()
    for each in _Run.groups:
        each.close()

    def prepare(engine):
        return ProcessGroup(engine, 0, range(engine.size), old.timeout, old.backend, old.group_name,
                            StoreByMessages(engine, old.timeout))

    world = _Run.engine.survivors(seconds(old.timeout), prepare)
    _Run.end.cancel()
    _Run.engine, _Run.store, _Run.groups, _Run.group_count = world.engine, world.store, [world], 1
    _Run.world = GroupMember.WORLD = world
    _Run.end = util.Finalize(None, _Run.engine.end, exitpriority=_AT_THE_END)
    return world


def _check_gone(world, ranks):
    """Raise an error unless ranks have failed, which this rank may learn a moment later."""
    deadline = time.monotonic() + _NOTICING
    for rank in () if ranks is None else ranks:
        world.position_of(rank, "shrink_group")
        while rank not in world.engine.inbox.gone:
            if time.monotonic() > deadline:
                raise ArgumentError(f"shrink_group goes on without ranks that have failed, and rank {rank} has not; new_group "
                                    "makes a group without it")
            world.engine.inbox.take_in(0.01)


def new_group(ranks=None, timeout=None, backend=None, pg_options=None, use_local_synchronization=False, group_desc=None,
              device_id=None):
    """Return a group of some ranks (by default all). All ranks of the run must make all groups, in one order. `pg_options`
    is ignored: it tunes PyTorch's own backends. `device_id` is ignored: GPUs are those of the run."""
    if use_local_synchronization:
        raise ArgumentError("new_group is called by all ranks of the run; leave use_local_synchronization out, and call it on "
                            "the others, too")
    world = the_group(None)
    ranks, backend = sorted(world.ranks if ranks is None else ranks), backend or world.backend
    _backend(backend)
    if _uses_nccl(backend) and _Run.devices is None:
        raise ArgumentError("a group for NCCL needs a run for NCCL: init_process_group('cpu:gloo,cuda:nccl')")
    if len(set(ranks)) != len(ranks) or not set(ranks) <= set(world.ranks):
        raise ArgumentError(f"new_group takes different ranks of the run (0 to {world.size() - 1}), got {ranks}")
    return _enter(ranks, world.timeout if timeout is None else timeout, _given(backend),
                  group_desc or f"group{_Run.group_count}")


def new_subgroups(group_size=None, group=None, timeout=None, backend=None, pg_options=None, group_desc=None):
    """Return (this rank's group, all groups), with the ranks split into groups of `group_size`. `pg_options` is
    ignored: it tunes PyTorch's own backends."""
    world = the_group(group)
    if not group_size or world.size() % group_size:
        raise ArgumentError(f"new_subgroups needs a group_size that divides the {world.size()} ranks, got {group_size}")
    groups = [new_group(world.ranks[i: i + group_size], timeout, backend, group_desc=group_desc)
              for i in range(0, world.size(), group_size)]
    return next(g for g in groups if g is not NON_MEMBER), groups


def destroy_process_group(group=None):
    """Leave the run (or forget one group). Messages sent before still arrive."""
    if group is NON_MEMBER:
        return
    found = the_group(group)
    found.close()
    _Run.groups.remove(found)
    if found is not _Run.world:
        return
    for other in _Run.groups:
        other.close()
    if _Run.devices is not None:
        _Run.devices.close()
    _Run.end.cancel()
    _Run.engine.close()
    if isinstance(_Run.store, ServedStore):
        _Run.store.close()
    _Run.engine = _Run.devices = _Run.world = _Run.store = _Run.end = GroupMember.WORLD = None
    _Run.groups = []
    shown_errors.name_lines("")


# Queries.


def the_group(group) -> ProcessGroup:
    """Return the group of an argument; None is the whole run."""
    if _Run.world is None:
        raise ArgumentError("there is no process group; call init_process_group() first")
    if group is None:
        return _Run.world
    if not isinstance(group, ProcessGroup):
        raise ArgumentError(f"group must be a process group that this rank is in, got {group!r}")
    if group not in _Run.groups:
        raise DistError(f"the group {group.group_name!r} was destroyed")
    return group


def member_of(group, what: str):
    """Return the group of an operation, or None if this rank is not in it; refused while a function is traced."""
    if tls.m.recorder is not None:
        tls.m.recorder.refuse(f"it calls {what}, which talks to other processes", "call that outside of the function")
    return None if group is NON_MEMBER else the_group(group)


@question
def get_rank(group=None) -> int:
    """Return this process's number in the run or in a group (-1 if it is not in it)."""
    return -1 if group is NON_MEMBER else the_group(group).rank()


@question
def get_world_size(group=None) -> int:
    """Return the number of processes in the run or in a group (-1 if this one is not in it)."""
    return -1 if group is NON_MEMBER else the_group(group).size()


@question
def get_backend(group=None) -> str:
    """Return the backend's name, as it was given."""
    return the_group(group).backend


def get_default_backend_for_device(device) -> str:
    """Return the backend for tensors of a device: 'nccl' for those on GPUs, where its library is; 'gloo' sends all."""
    is_on_gpu = as_device(device).type == "cuda"
    return str(Backend.NCCL if is_on_gpu and is_nccl_available() else Backend.GLOO)


@question
def get_process_group_ranks(group) -> list:
    """Return the ranks in a group."""
    return list(the_group(group).ranks)


@question
def get_global_rank(group, group_rank: int) -> int:
    """Return a group position as a rank of the run."""
    ranks = the_group(group).ranks
    if not 0 <= group_rank < len(ranks):
        raise ArgumentError(f"group rank {group_rank} is not within the {len(ranks)} ranks of the group")
    return ranks[group_rank]


@question
def get_group_rank(group, global_rank: int) -> int:
    """Return a rank of the run as a group position."""
    return the_group(group).position_of(global_rank, "get_group_rank")


@question
def get_node_local_rank(fallback_rank=None) -> int:
    """Return this process's number on its machine, from the launcher's LOCAL_RANK or a variable of MPI or Slurm."""
    found = local_rank()
    if found is None and fallback_rank is None:
        raise DistBackendError("the environment variable LOCAL_RANK is not set; a launcher sets it")
    return int(fallback_rank) if found is None else found
