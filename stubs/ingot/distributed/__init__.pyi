"""`ingot.distributed`: processes that compute together, by shared memory on one machine, by MPI, or over TCP."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
import numpy as _np
from concurrent.futures._base import Future as _Future
from datetime import timedelta as _timedelta
from ingot import Future as _Future_
from ingot import IngotError as _IngotError
from ingot import Tensor as _Tensor
from ingot import device as _device
from ingot import dtype as _dtype
from ingot.distributed import algorithms as algorithms
from ingot.distributed import checkpoint as checkpoint
from ingot.distributed import constants as constants
from ingot.distributed import device_mesh as device_mesh
from ingot.distributed import distributed_c10d as distributed_c10d
from ingot.distributed import elastic as elastic
from ingot.distributed import fsdp as fsdp
from ingot.distributed import launch as launch
from ingot.distributed import nn as nn
from ingot.distributed import optim as optim
from ingot.distributed import rpc as rpc
from ingot.distributed import run as run
from ingot.distributed import tensor as tensor
from socket import socket as _socket
import enum as _enum

SHRINK_ABORT: _b.int
SHRINK_DEFAULT: _b.int
default_pg_timeout: _timedelta

class Backend(_b.str):
    """Name of a backend: 'gloo' chooses an engine for CPU tensors (`group.WORLD.engine.name`), 'mpi' and 'tcp' are
    engines."""
    GLOO: _b.str
    MPI: _b.str
    NCCL: _b.str
    TCP: _b.str
    UCC: _b.str
    UNDEFINED: _b.str

class DeviceMesh:
    """Array of ranks. Every rank of the run makes all meshes, in one order."""
    device_type: _t.Any
    mesh_dim_names: _t.Any
    def __enter__(self) -> _t.Self: ...
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    def __exit__(self, *error: _t.Any) -> None: ...
    def __getitem__(self, mesh_dim_names: _t.Any) -> _t.Any:
        """Return the part of the mesh along some dimensions that contains this rank."""
    def __hash__(self) -> _b.int: ...
    def __init__(self, device_type: _t.Any, mesh: _t.Any, *, mesh_dim_names: _t.Any = None) -> None: ...
    @_b.staticmethod
    def current() -> DeviceMesh | None:
        """Return the mesh of the innermost `with mesh:`."""
    @_b.classmethod
    def from_group(cls, group: _t.Any, device_type: _t.Any, mesh: _t.Any = None, *, mesh_dim_names: _t.Any = None) -> _t.Any:
        """Return the mesh of a group's ranks, or of existing groups, one for each dimension of `mesh`."""
    def get_all_groups(self) -> _b.list[_t.Any]:
        """Return this rank's groups along all dimensions."""
    def get_coordinate(self) -> _b.list[_t.Any] | None:
        """Return this rank's index along each dimension, or None if it is not in the mesh."""
    def get_group(self, mesh_dim: _t.Any = None) -> ProcessGroup:
        """Return this rank's group along a dimension."""
    def get_local_rank(self, mesh_dim: _t.Any = None) -> _b.int:
        """Return this rank's index along a dimension."""
    def get_rank(self) -> _b.int:
        """Return this process's rank in the run."""
    @_b.property
    def mesh(self) -> _Tensor:
        """Ranks as a tensor."""
    @_b.property
    def ndim(self) -> _b.int:
        """Number of dimensions."""
    @_b.property
    def shape(self) -> _b.tuple[_t.Any, ...]:
        """Number of ranks along each dimension."""
    def size(self, mesh_dim: _t.Any = None) -> _b.int:
        """Return the number of ranks, in all or along a dimension."""

class DistBackendError(DistError):
    """A collective is impossible: ranks disagree, or one has gone."""

class DistError(_IngotError, _b.RuntimeError):
    """Base of the errors of `ingot.distributed`."""

class DistNetworkError(DistError):
    """A connection cannot be made, or has broken."""

class DistStoreError(DistError):
    """A store does not answer, or a key was never set."""

class DistTimeoutError(DistBackendError, DistStoreError, _b.TimeoutError):
    """Other ranks did not arrive within the timeout."""

class FileStore(Store):
    """Store in a file of this user that all processes reach. Use a new file for every run. `world_size` is kept for
    callers."""
    path: _t.Any
    table: _t.Any
    world_size: _t.Any
    def __init__(self, file_name: _t.Any, world_size: _t.Any = -1, timeout: _t.Any = ...) -> None: ...

class GradBucket:
    """Bucket of a communication hook: joined gradients in one buffer."""
    def __init__(self, number: _t.Any, count: _t.Any, params: _t.Any, flat: _t.Any) -> None: ...
    def buffer(self) -> _Tensor:
        """Return all gradients, joined."""
    def gradients(self) -> _b.list[_t.Any]:
        """Return the gradient of each parameter, as views of the buffer."""
    def index(self) -> _b.int:
        """Return the bucket's number, in the order of sending."""
    def is_last(self) -> _b.bool:
        """Return whether it is the last bucket."""
    def parameters(self) -> _b.list[_t.Any]:
        """Return the parameters."""
    def set_buffer(self, buffer: _t.Any) -> None:
        """Replace the values of the buffer."""

class GroupMember:
    """Special groups: the whole run, and a group without this process."""
    WORLD: _t.Any
    NON_GROUP_MEMBER: _t.Any

class HashStore(Store):
    """Store among the threads of one process."""
    table: _t.Any
    def __init__(self, timeout: _t.Any = ...) -> None: ...

class P2POp:
    """Message for batch_isend_irecv: `op` is isend or irecv."""
    group: _t.Any
    group_peer: _t.Any
    op: _t.Any
    peer: _t.Any
    tag: _t.Any
    tensor: _t.Any
    def __init__(self, op: _t.Any, tensor: _t.Any, peer: _t.Any = None, group: _t.Any = None, tag: _t.Any = 0,
                 group_peer: _t.Any = None) -> None: ...

class PrefixStore(Store):
    """Store that prefixes every key of another one."""
    prefix: _b.str
    table: _t.Any
    underlying_store: Store
    def __init__(self, prefix: _b.str, store: Store) -> None: ...

class ProcessGroup:
    """Ranks of a run (numbered 0, 1, ... in the group), and this process's position among them."""
    allgather: _c.Callable[..., Work]
    allreduce: _c.Callable[..., Work]
    alltoall: _c.Callable[..., Work]
    alltoall_base: _c.Callable[..., Work]
    backend: _b.str
    barrier: _c.Callable[..., Work]
    broadcast: _c.Callable[..., Work]
    channel: _t.Any
    devices: _t.Any
    engine: _Engine
    gather: _c.Callable[..., Work]
    group_name: _b.str
    is_closed: _b.bool
    number: _b.int
    position: _t.Any
    ranks: _b.tuple[_t.Any, ...]
    recv: _c.Callable[..., Work]
    recv_anysource: _c.Callable[..., Work]
    reduce: _c.Callable[..., Work]
    reduce_scatter: _c.Callable[..., Work]
    scatter: _c.Callable[..., Work]
    send: _c.Callable[..., Work]
    store: _t.Any
    timeout: _t.Any
    def __init__(self, engine: _Engine, number: _b.int, ranks: _t.Any, timeout: _t.Any, backend: _b.str, name: _b.str,
                 store: _t.Any, devices: _t.Any = None) -> None: ...
    def channel_of(self, *arrays: _t.Any) -> _t.Any:
        """Return the collectives for arrays: those on GPUs where all of them are there, else those of the host."""
    def close(self) -> None:
        """Wait for pending operations, and free the channel."""
    def inside(self, a: _t.Any, work: _c.Callable[..., _t.Any]) -> _t.Any:
        """Return `work(the collectives for an array)`, as a step of the operation that runs now."""
    def is_on_devices(self, *arrays: _t.Any) -> _b.bool:
        """Return whether collectives of arrays only enter work into streams of GPUs."""
    def name(self) -> _b.str:
        """Return the backend's name."""
    def position_of(self, rank: _b.int, what: _b.str) -> _b.int:
        """Return the position of a rank of the run in the group."""
    def rank(self) -> _b.int:
        """Return this process's position in the group."""
    def run(self, work: _t.Any, async_op: _b.bool, channel: _t.Any = None) -> _t.Any:
        """Run a collective after those before it, at once or asynchronously (returns a Work). `channel` is the one that it
        uses."""
    def size(self) -> _b.int:
        """Return the number of processes in the group."""

class ReduceOp(_enum.Enum):
    """Reductions SUM, AVG, PRODUCT, MIN, MAX, and BAND, BOR, BXOR of integers. Every rank gets the same bits. Floats of 16
    bits and fewer are combined in float32 and rounded once."""
    SUM = 'sum'
    AVG = 'avg'
    PRODUCT = 'product'
    MIN = 'min'
    MAX = 'max'
    BAND = 'band'
    BOR = 'bor'
    BXOR = 'bxor'
    RedOpType: _t.Any

class Store:
    """Base of stores. `table` does the work; reads wait up to `timeout` for a key to be set."""
    table: _t.Any
    timeout: _t.Any
    def __init__(self, timeout: _t.Any = ...) -> None: ...
    def add(self, key: _t.Any, amount: _t.Any) -> _b.int:
        """Add to the number at `key` (initially 0) and return the sum."""
    def append(self, key: _t.Any, value: _t.Any) -> None: ...
    def check(self, keys: _t.Any) -> _b.bool: ...
    def compare_set(self, key: _t.Any, expected_value: _t.Any, desired_value: _t.Any) -> _b.bytes: ...
    def delete_key(self, key: _t.Any) -> _b.bool:
        """Remove a key; return whether it was set."""
    def get(self, key: _t.Any) -> _b.bytes:
        """Return the value; wait until it is set."""
    def multi_get(self, keys: _t.Any) -> _b.list[_t.Any]:
        """Return several values."""
    def multi_set(self, keys: _t.Any, values: _t.Any) -> None: ...
    def num_keys(self) -> _b.int: ...
    def set(self, key: _t.Any, value: _t.Any) -> None:
        """Set a value (a string or bytes)."""
    def set_timeout(self, timeout: _t.Any) -> None:
        """Set the timeout of get and wait."""
    def wait(self, keys: _t.Any, timeout: _t.Any = None) -> None: ...

class TCPStore(Store):
    """Store at host_name:port, served by the process with is_master (port 0 takes a free one, see `.port`)."""
    host: _t.Any
    port: _t.Any
    table: _StoreClient
    world_size: _t.Any
    def __del__(self) -> None: ...
    def __init__(self, host_name: _t.Any, port: _t.Any = 0, world_size: _t.Any = None, is_master: _b.bool = False,
                 timeout: _t.Any = ..., wait_for_workers: _b.bool = True, multi_tenant: _b.bool = False,
                 use_libuv: _b.bool = True) -> None: ...
    def close(self) -> None:
        """Drop the connection, and stop serving."""
    @_b.property
    def served(self) -> _Table | None:
        """Table that this process serves, if it does; its use takes no request."""

class Work:
    """Operation in progress."""
    def __init__(self, future: _Future) -> None: ...
    def exception(self) -> _t.Any:
        """Return its exception, or None."""
    def get_future(self) -> _Future_:
        """Return the operation as a future of the list of written tensors."""
    def is_completed(self) -> _b.bool:
        """Return whether it is done, successfully or not."""
    def is_success(self) -> _b.bool:
        """Return whether it is done without an exception."""
    def result(self) -> _t.Any:
        """Return its result: a list of the written tensors."""
    def wait(self, timeout: _t.Any = None) -> _b.bool:
        """Wait until it is done; raise its exception."""

def all_gather(tensor_list: _t.Any, tensor: _t.Any, group: _t.Any = None, async_op: _b.bool = False) -> _t.Any:
    """Fill the list with every rank's tensor."""
def all_gather_into_tensor(output_tensor: _t.Any, input_tensor: _t.Any, group: _t.Any = None,
                           async_op: _b.bool = False) -> _t.Any:
    """Fill a tensor with every rank's tensor, one after the other."""
def all_gather_object(object_list: _t.Any, obj: _t.Any, group: _t.Any = None) -> None:
    """Fill the list with every rank's object."""
def all_reduce(tensor: _t.Any, op: _t.Any = ..., group: _t.Any = None, async_op: _b.bool = False) -> _t.Any:
    """Replace the tensor on every rank by the combination of all of them."""
def all_reduce_coalesced(tensors: _t.Any, op: _t.Any = ..., group: _t.Any = None, async_op: _b.bool = False) -> _t.Any:
    """Run all_reduce on several tensors."""
def all_to_all(output_tensor_list: _t.Any, input_tensor_list: _t.Any, group: _t.Any = None,
               async_op: _b.bool = False) -> _t.Any:
    """Send the i-th tensor to rank i, and receive one from each; sizes may differ from rank to rank."""
def all_to_all_single(output: _t.Any, input: _t.Any, output_split_sizes: _t.Any = None,
                      input_split_sizes: _t.Any = None, group: _t.Any = None, async_op: _b.bool = False) -> _t.Any:
    """Run all_to_all on one tensor, split along its first dimension (evenly, or by the given sizes)."""
def barrier(group: _t.Any = None, async_op: _b.bool = False, device_ids: _t.Any = None) -> _t.Any:
    """Return when all ranks have arrived. `device_ids` are ignored: processes meet, not devices."""
def batch_isend_irecv(p2p_op_list: _t.Any) -> _b.list[_t.Any]:
    """Start several messages at once; call wait() on each of the results."""
def broadcast(tensor: _t.Any, src: _t.Any = None, group: _t.Any = None, async_op: _b.bool = False,
              group_src: _t.Any = None) -> _t.Any:
    """Replace the tensor on every rank by that of rank `src`."""
def broadcast_object_list(object_list: _t.Any, src: _t.Any = None, group: _t.Any = None,
                          device: _device | _b.str | _b.int | None = None, group_src: _t.Any = None) -> None:
    """Replace the objects in the list on every rank by those of rank `src`. `device` is ignored: objects travel by host
    memory."""
def destroy_process_group(group: _t.Any = None) -> None:
    """Leave the run (or forget one group). Messages sent before still arrive."""
def gather(tensor: _t.Any, gather_list: _t.Any = None, dst: _t.Any = None, group: _t.Any = None,
           async_op: _b.bool = False, group_dst: _t.Any = None) -> _t.Any:
    """Fill the list on rank `dst` with every rank's tensor."""
def gather_object(obj: _t.Any, object_gather_list: _t.Any = None, dst: _t.Any = None, group: _t.Any = None,
                  group_dst: _t.Any = None) -> None:
    """Fill the list on rank `dst` with every rank's object."""
def get_backend(group: _t.Any = None) -> _b.str:
    """Return the backend's name, as it was given."""
def get_default_backend_for_device(device: _device | _b.str | _b.int) -> _b.str:
    """Return the backend for tensors of a device: 'nccl' for those on GPUs, where its library is; 'gloo' sends all."""
def get_global_rank(group: _t.Any, group_rank: _b.int) -> _b.int:
    """Return a group position as a rank of the run."""
def get_group_rank(group: _t.Any, global_rank: _b.int) -> _b.int:
    """Return a rank of the run as a group position."""
def get_node_local_rank(fallback_rank: _t.Any = None) -> _b.int:
    """Return this process's number on its machine, from the launcher's LOCAL_RANK or a variable of MPI or Slurm."""
def get_process_group_ranks(group: _t.Any) -> _b.list[_t.Any]:
    """Return the ranks in a group."""
def get_rank(group: _t.Any = None) -> _b.int:
    """Return this process's number in the run or in a group (-1 if it is not in it)."""
def get_world_size(group: _t.Any = None) -> _b.int:
    """Return the number of processes in the run or in a group (-1 if this one is not in it)."""

class group:
    """Namespace: `group.WORLD` is the group of all ranks."""

def init_device_mesh(device_type: _t.Any, mesh_shape: _t.Any, *, mesh_dim_names: _t.Any = None,
                     backend_override: _t.Any = None) -> DeviceMesh:
    """Return all ranks of the run in an array of a shape, row by row."""
def init_process_group(backend: _t.Any = None, init_method: _t.Any = None, timeout: _t.Any = None,
                       world_size: _t.Any = -1, rank: _t.Any = -1, store: _t.Any = None, group_name: _b.str = '',
                       pg_options: _t.Any = None, device_id: _t.Any = None) -> None:
    """Join a run: meet the other processes and connect to each. Every process calls it, with ranks 0 to world_size - 1.
    They meet by a store, or by an init_method: env://, tcp://host:port, file:///path."""
def irecv(tensor: _t.Any, src: _t.Any = None, group: _t.Any = None, tag: _t.Any = 0, group_src: _t.Any = None) -> _t.Any:
    """Start to receive a tensor; call wait() on the result before using it."""
def is_available() -> _b.bool:
    """Return True: processes can communicate here."""
def is_backend_available(backend: _b.str) -> _b.bool:
    """Return whether a backend exists under that name."""
def is_gloo_available() -> _b.bool:
    """Return True: 'gloo' names the backend for CPU tensors."""
def is_initialized() -> _b.bool:
    """Return whether init_process_group was called."""
def is_mpi_available() -> _b.bool:
    """Return whether mpi4py can be imported."""
def is_nccl_available() -> _b.bool:
    """Return whether the library of NCCL is here, by which tensors on GPUs travel."""
def is_torchelastic_launched() -> _b.bool:
    """Return whether an elastic launcher has started this process."""
def is_ucc_available() -> _b.bool:
    """Return False: 'gloo' and 'nccl' do its work."""
def isend(tensor: _t.Any, dst: _t.Any = None, group: _t.Any = None, tag: _t.Any = 0, group_dst: _t.Any = None) -> _t.Any:
    """Send a tensor. Later writes to one on the host are not sent; one on a device is written after `wait()` only."""
def monitored_barrier(group: _t.Any = None, timeout: _t.Any = None, wait_all_ranks: _b.bool = False) -> None:
    """Wait for all ranks; raise an error that names a rank missing after the timeout, or with `wait_all_ranks` all of
    them."""
def new_group(ranks: _t.Any = None, timeout: _t.Any = None, backend: _t.Any = None, pg_options: _t.Any = None,
              use_local_synchronization: _b.bool = False, group_desc: _t.Any = None, device_id: _t.Any = None) -> _t.Any:
    """Return a group of some ranks (by default all). All ranks of the run must make all groups, in one order. `pg_options`
    is ignored: it tunes PyTorch's own backends."""
def new_subgroups(group_size: _t.Any = None, group: _t.Any = None, timeout: _t.Any = None,
                  backend: _t.Any = None, pg_options: _t.Any = None, group_desc: _t.Any = None) -> _b.tuple[_t.Any, ...]:
    """Return (this rank's group, all groups), with the ranks split into groups of `group_size`. `pg_options` is ignored: it
    tunes PyTorch's own backends."""
def recv(tensor: _t.Any, src: _t.Any = None, group: _t.Any = None, tag: _t.Any = 0, group_src: _t.Any = None) -> _b.int:
    """Receive a tensor from a rank (by default the first that sends); return the sender's rank."""
def recv_object_list(object_list: _t.Any, src: _t.Any = None, group: _t.Any = None,
                     device: _device | _b.str | _b.int | None = None, group_src: _t.Any = None) -> _b.int:
    """Receive objects from a rank (by default the first that sends); return the sender's rank. `device` is ignored: objects
    travel by host memory."""
def reduce(tensor: _t.Any, dst: _t.Any = None, op: _t.Any = ..., group: _t.Any = None,
           async_op: _b.bool = False, group_dst: _t.Any = None) -> _t.Any:
    """Replace the tensor on rank `dst` by the combination of all of them."""
def reduce_scatter(output: _t.Any, input_list: _t.Any, op: _t.Any = ..., group: _t.Any = None,
                   async_op: _b.bool = False) -> _t.Any:
    """Fill `output` on rank i with the combination of every rank's i-th tensor."""
def reduce_scatter_tensor(output: _t.Any, input: _t.Any, op: _t.Any = ..., group: _t.Any = None,
                          async_op: _b.bool = False) -> _t.Any:
    """Run reduce_scatter on one tensor, split into a piece for each rank."""
def rendezvous(url: _t.Any, rank: _t.Any = -1, world_size: _t.Any = -1, timeout: _t.Any = ...) -> _t.Any:
    """Yield (store, rank, world size) for an init_method."""
def scatter(tensor: _t.Any, scatter_list: _t.Any = None, src: _t.Any = None, group: _t.Any = None,
            async_op: _b.bool = False, group_src: _t.Any = None) -> _t.Any:
    """Fill the tensor on each rank with that rank's entry of the list on rank `src`."""
def scatter_object_list(scatter_object_output_list: _t.Any, scatter_object_input_list: _t.Any = None,
                        src: _t.Any = None, group: _t.Any = None, group_src: _t.Any = None) -> None:
    """Put rank i's object of the list on rank `src` into the first entry of the output list on rank i."""
def send(tensor: _t.Any, dst: _t.Any = None, group: _t.Any = None, tag: _t.Any = 0, group_dst: _t.Any = None) -> None:
    """Send a tensor to a rank."""
def send_object_list(object_list: _t.Any, dst: _t.Any = None, group: _t.Any = None,
                     device: _device | _b.str | _b.int | None = None, group_dst: _t.Any = None) -> None:
    """Send objects to a rank. `device` is ignored: objects travel by host memory."""
def shrink_group(ranks_to_exclude: _t.Any = None, group: _t.Any = None, shrink_flags: _t.Any = 0,
                 pg_options: _t.Any = None) -> _t.Any:
    """Go on without ranks that have failed; return the group of the others, which takes the place of the run's group."""

class _Engine:
    """Transport of one rank: messages to other ranks, and an inbox for theirs."""
    choice: _t.Any
    inbox: _Inbox
    interrupt: _t.Any
    name: _t.Any
    rank: _t.Any
    size: _t.Any
    def __init__(self, run: _Run) -> None:
        """Connect this rank to all others, which all call this."""
    def channel(self, group: _t.Any) -> _Channel:
        """Return the collectives of a group."""
    def check(self) -> None:
        """Raise an error if this rank communicates no more."""
    def close(self) -> None:
        """Leave the run: sent messages still arrive, then the others see the end."""
    def end(self) -> None:
        """Leave the run with the process, which ends without `close`."""
    @_b.classmethod
    def preference(cls) -> _b.int:
        """Return how well the engine suits processes that were started as this one was; below 0 it is not chosen."""
    @_b.classmethod
    def refusal(cls, run: _Run) -> _b.str:
        """Return the reason why the engine cannot connect a run, or no text. All ranks get the same answer."""
    def revoke(self) -> _t.Any:
        """End the operations of all ranks with an error, since some ranks have failed. `survivors` follows."""
    def send(self, targets: _t.Any, channel: _b.tuple[_t.Any, ...], note: _b.str, memory: _np.ndarray[_t.Any, _t.Any]) -> None:
        """Send bytes to ranks of the run. Later writes to the memory are not sent."""
    def survivors(self, limit: _b.float, prepare: _c.Callable[[_t.Any], _t.Any]) -> _t.Any:
        """Return `prepare(an engine of the ranks that have not failed)`. All of them call it, within a time. If ranks fail
        meanwhile, it is done again with those that are left."""
    def transmit(self, targets: _t.Any, channel: _b.tuple[_t.Any, ...], note: _b.str,
                 memory: _np.ndarray[_t.Any, _t.Any]) -> None:
        """Send bytes to ranks."""
    def whole(self, work: _c.Callable[..., _t.Any], *args: _t.Any) -> _t.Any:
        """Return `work(*args)`. After any exception but ingot's own the rank communicates no more: others would take the next
        messages for those that are missing."""

class _StoreClient:
    """Table of a server, used from another process; each thread has its own connection. `connected(deadline)` returns
    one."""
    connected: _c.Callable[[_b.float], _socket]
    here: _t.Any
    patience: _b.float
    place: _b.str
    secret: _b.bytes
    timeout: _b.float
    def __init__(self, connected: _c.Callable[[_b.float], _socket], place: _b.str, timeout: _b.float, secret: _b.bytes) -> None: ...
    def add(self, key: _t.Any, amount: _t.Any) -> _b.int: ...
    def append(self, key: _t.Any, value: _t.Any) -> None: ...
    def close(self) -> None:
        """Drop this thread's connection; the next request makes a new one."""
    def compare_set(self, key: _t.Any, expected: _t.Any, desired: _t.Any) -> _t.Any: ...
    def count(self) -> _b.int: ...
    def delete(self, key: _t.Any) -> _b.bool: ...
    def get(self, key: _t.Any, timeout: _t.Any) -> _t.Any: ...
    def gone(self, error: _b.BaseException) -> DistStoreError:
        """Return the error of a table that does not answer."""
    def has(self, keys: _t.Any) -> _b.bool: ...
    def put(self, key: _t.Any, value: _t.Any) -> None: ...
    def wait(self, keys: _t.Any, timeout: _t.Any) -> None: ...

class _Table:
    """Keys and values of a store in this process, with waiting."""
    changed: _t.Any
    data: _b.dict[_t.Any, _t.Any]
    def __init__(self) -> None: ...
    def add(self, key: _b.str, amount: _b.int) -> _b.int:
        """Add to a number and return the sum."""
    def append(self, key: _b.str, value: _b.bytes) -> None:
        """Append bytes to a value."""
    def compare_set(self, key: _b.str, expected: _b.bytes, desired: _b.bytes) -> _b.bytes:
        """Set `desired` if the value is `expected` (empty: if unset); return the value after that."""
    def count(self) -> _b.int:
        """Return the number of keys."""
    def delete(self, key: _b.str) -> _b.bool:
        """Remove a key; return whether it was set."""
    def get(self, key: _b.str, timeout: _b.float) -> _b.bytes:
        """Return the value once it is set."""
    def has(self, keys: _b.list[_t.Any]) -> _b.bool:
        """Return whether all keys are set."""
    def put(self, key: _b.str, value: _b.bytes) -> None:
        """Set a value."""
    def wait(self, keys: _b.list[_t.Any], timeout: _b.float) -> None:
        """Return when all keys are set."""

class _Inbox:
    """Messages that have arrived at a rank."""
    gone: _b.dict[_t.Any, _t.Any]
    rank: _b.int
    def __init__(self, rank: _b.int, pump: _c.Callable[[_b.float], None] | None = None) -> None: ...
    def first(self, senders: _t.Any, channel: _b.tuple[_t.Any, ...], timeout: _b.float,
              what: _b.str) -> _b.tuple[_b.int, _Message]:
        """Return the first unrequested message on a channel, and its sender."""
    def give_back(self, sender: _b.int, channel: _b.tuple[_t.Any, ...], ticket: _b.int) -> None:
        """Leave the message of a ticket, which has not been received, to the next receiver."""
    def has(self, sender: _b.int, channel: _b.tuple[_t.Any, ...], ticket: _b.int) -> _b.bool:
        """Return whether a requested message has arrived."""
    def lose(self, sender: _b.int, reason: _b.str) -> None:
        """Note that a rank sends nothing any more."""
    def others_gone(self, sender: _b.int) -> _b.str:
        """Return words on other ranks that have gone, beside one that has: it may have left since one of them failed."""
    def put(self, sender: _b.int, channel: _b.tuple[_t.Any, ...], note: _b.str, body: _np.ndarray[_t.Any, _t.Any]) -> None:
        """Store a message, or give it to the function that serves the channel."""
    def receive(self, sender: _b.int, channel: _b.tuple[_t.Any, ...], ticket: _b.int, timeout: _b.float,
                what: _b.str) -> _Message:
        """Return a requested message."""
    def serve(self, channel: _b.tuple[_t.Any, ...], work: _c.Callable[[_b.int, _np.ndarray[_t.Any, _t.Any]], None]) -> None:
        """Call `work(sender, bytes)` with each message of a channel from now on. It must not block."""
    def take_in(self, limit: _b.float) -> None:
        """Take in messages, for at most `limit` seconds; return early if some arrived."""
    def ticket(self, sender: _b.int, channel: _b.tuple[_t.Any, ...]) -> _b.int:
        """Request the channel's next message."""

class _Run:
    """Ranks that are not connected yet: this one's number, how many there are, and the store where they meet."""
    rank: _b.int
    size: _b.int
    store: Store
    timeout: _t.Any
    def __init__(self, rank: _b.int, size: _b.int, store: Store | None, timeout: _t.Any) -> None: ...
    @_b.property
    def on_one_machine(self) -> _b.bool:
        """Whether all ranks run on one machine. All must ask."""
    @on_one_machine.setter
    def on_one_machine(self, value: _t.Any) -> None: ...

class _Channel:
    """Collectives of a group on arrays. A note names each; a rank with another note is at another point of the program."""
    engine: _t.Any
    goes_on: _t.Any
    group: _t.Any
    round_bytes: _t.Any
    def __init__(self, engine: _t.Any, group: _t.Any) -> None: ...
    def all_gather(self, a: _np.ndarray[_t.Any, _t.Any], note: _b.str, outs: _t.Any = None) -> _b.list[_t.Any]:
        """Return every rank's array, on every rank. `outs` are arrays for them, whose sizes may differ. Without `outs` the
        results are alike, and may be read-only."""
    def all_gather_coalesced(self, arrays: _t.Any, note: _b.str, outs: _t.Any) -> None:
        """Fill the arrays in `outs`, some for each position, with those of all ranks. They may have any layout, and ranks give
        arrays of the same shapes."""
    def all_reduce(self, a: _np.ndarray[_t.Any, _t.Any], op: _t.Any, note: _b.str,
                   out: _np.ndarray[_t.Any, _t.Any] | None = None) -> _np.ndarray[_t.Any, _t.Any]:
        """Return the combination of every rank's array, on every rank."""
    def all_to_all(self, pieces: _t.Any, outs: _t.Any, note: _b.str) -> None:
        """Send each position its piece, and receive the piece of each into `outs`."""
    def average(self, a: _np.ndarray[_t.Any, _t.Any], divisor: _b.float, note: _b.str,
                out: _np.ndarray[_t.Any, _t.Any]) -> _np.ndarray[_t.Any, _t.Any]:
        """Return the sum of every rank's array over a divisor, on every rank."""
    def barrier(self, note: _b.str) -> None:
        """Return when all ranks have arrived."""
    def broadcast(self, a: _np.ndarray[_t.Any, _t.Any], source: _b.int, note: _b.str,
                  out: _np.ndarray[_t.Any, _t.Any] | None = None) -> _np.ndarray[_t.Any, _t.Any]:
        """Return the source's array on every rank, sent along a tree."""
    def close(self) -> None:
        """Free the channel: the group is no more."""
    def cut(self, a: _t.Any, ends: _t.Any) -> _b.list[_t.Any]:
        """Return parts of an array along its first dimension, which end at `ends` and at its own end."""
    def empty(self, shape: _t.Any, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any]) -> _t.Any:
        """Return memory for a result."""
    def gather(self, a: _np.ndarray[_t.Any, _t.Any], to: _b.int, note: _b.str) -> _b.list[_t.Any]:
        """Return every rank's array on one rank, no array on others."""
    def joined(self, arrays: _t.Any) -> _t.Any:
        """Return the elements of all arrays in a row."""
    def operand(self, a: _t.Any) -> _t.Any:
        """Return an array anywhere as an operand."""
    def parted(self, row: _t.Any, shapes: _t.Any) -> _b.list[_t.Any]:
        """Return the parts of a row, which were joined, as arrays of their shapes."""
    def reaches(self, a: _t.Any) -> _b.bool:
        """Return whether results can be written into an array."""
    def receive(self, source: _b.int, ticket: _b.int, note: _b.str) -> _np.ndarray[_t.Any, _t.Any]:
        """Return the bytes that a position sent under this note."""
    def reduce(self, a: _np.ndarray[_t.Any, _t.Any], to: _b.int, op: _t.Any,
               note: _b.str) -> _np.ndarray[_t.Any, _t.Any] | None:
        """Return the combination of every rank's array on one rank, None on others."""
    def reduce_scatter(self, pieces: _t.Any, op: _t.Any, note: _b.str,
                       out: _np.ndarray[_t.Any, _t.Any] | None = None) -> _np.ndarray[_t.Any, _t.Any]:
        """Return this rank's piece combined over all ranks; each rank sends the others their pieces."""
    def reduce_scatter_coalesced(self, pieces: _t.Any, op: _t.Any, note: _b.str, out: _Tensor | _c.Sequence[_Tensor]) -> _t.Any:
        """Return this rank's arrays in `pieces`, which has some for each position, combined over all ranks, in a row."""
    def scatter(self, pieces: _t.Any, source: _b.int, note: _b.str,
                like: _np.ndarray[_t.Any, _t.Any]) -> _np.ndarray[_t.Any, _t.Any]:
        """Return this rank's piece of those on the source, which is like an array."""
    def swap(self, note: _b.str, outgoing: _b.dict[_t.Any, _t.Any], sources: _t.Any) -> _b.dict[_t.Any, _t.Any]:
        """Send each array of `outgoing` to its position; return the bytes from each of `sources`. All ranks of the group call
        it."""

class _Message(_t.NamedTuple):
    """One message: the sender's note of its operation, and bytes."""
    note: _b.str
    body: _np.ndarray[_t.Any, _t.Any]

is_xccl_available = is_ucc_available
