"""`ingot.distributed.tensor`: tensors sharded over the processes of a mesh."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
import numpy as _np
from ingot import Tensor as _Tensor
from ingot import dtype as _dtype
from ingot import layout as _layout
from ingot.distributed import DeviceMesh as DeviceMesh
from ingot.distributed import DeviceMesh as _DeviceMesh
from ingot.distributed import init_device_mesh as init_device_mesh
from ingot.distributed.tensor import device_mesh as device_mesh
from ingot.distributed.tensor import experimental as experimental
from ingot.distributed.tensor import parallel as parallel
from ingot.distributed.tensor import placement_types as placement_types
from ingot.nn import Module as _Module

class DTensor(_Tensor):
    """Tensor sharded over the processes of a mesh. `placements` has for each dim of the mesh `Shard(dim)` (parts),
    `Replicate()` (all of it), or `Partial()` (terms of a reduction)."""
    def __bool__(self) -> _b.bool: ...
    def __float__(self) -> _b.float: ...
    def __init__(self, *args: _t.Any, **kwargs: _t.Any) -> None: ...
    def __int__(self) -> _b.int: ...
    @_b.property
    def device_mesh(self) -> _DeviceMesh:
        """Mesh of the processes."""
    @_b.staticmethod
    def from_local(local_tensor: _t.Any, device_mesh: _t.Any = None, placements: _t.Any = None, *,
                   run_check: _b.bool = False, shape: _t.Any = None, stride: _t.Any = None,
                   grad_placements: _t.Any = None) -> DTensor:
        """Return the tensor of each process's part."""
    def full_tensor(self, *, grad_placements: _t.Any = None) -> _Tensor:
        """Return all of it, as a plain tensor in every process."""
    def item(self) -> _t.Any:
        """Return the one element as a Python number."""
    @_b.property
    def placements(self) -> _b.tuple[_t.Any, ...]:
        """Layout along each dim of the mesh."""
    def redistribute(self, device_mesh: _t.Any = None, placements: _t.Any = None, *, async_op: _b.bool = False,
                     forward_dtype: _t.Any = None, backward_dtype: _t.Any = None) -> DTensor:
        """Return the same tensor in another layout on its mesh. It is sent in `forward_dtype`, its gradient in
        `backward_dtype`, if given."""
    def to_local(self, *, grad_placements: _t.Any = None) -> _Tensor:
        """Return this process's part, over the same memory. Its gradient is a part in the tensor's layout (of terms, the whole
        gradient), unless `grad_placements` differs."""
    def tolist(self) -> _t.Any:
        """Return nested lists of Python numbers."""

class DTensorSpec:
    """Layout of a tensor: its mesh, placements, and whole shape."""
    mesh: _t.Any
    placements: _b.tuple[_t.Any, ...]
    tensor_meta: _t.Any
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    def __hash__(self) -> _b.int: ...
    def __init__(self, mesh: _t.Any, placements: _t.Any, tensor_meta: _t.Any = None) -> None: ...
    @_b.property
    def device_mesh(self) -> _t.Any: ...
    @_b.property
    def ndim(self) -> _t.Any: ...
    @_b.property
    def shape(self) -> _t.Any: ...
    @_b.property
    def stride(self) -> _t.Any: ...

class Partial(Placement):
    """Terms of a reduction: sum, avg, product, min or max."""
    reduce_op: _b.str
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    def __hash__(self) -> _b.int: ...
    def __init__(self, reduce_op: _b.str = 'sum') -> None: ...
    def __post_init__(self) -> None: ...

class Placement:
    """Layout of a tensor along one dim of a mesh."""
    def is_partial(self, reduce_op: _b.str | None = None) -> _b.bool:
        """Return whether each process has a term of it (of this reduction, if given)."""
    def is_replicate(self) -> _b.bool: ...
    def is_shard(self, dim: _b.int | None = None) -> _b.bool:
        """Return whether each process has a part (along `dim`, if given)."""

class Replicate(Placement):
    """All of the tensor in each process."""
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    def __hash__(self) -> _b.int: ...
    def __init__(self) -> None: ...

class Shard(Placement):
    """Parts along a dim, split like `chunk`: the last ones may be smaller, or empty."""
    dim: _b.int
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    def __hash__(self) -> _b.int: ...
    def __init__(self, dim: _b.int) -> None: ...

class TensorMeta(_b.tuple[_b.int, ...]):
    """Shape, stride and dtype of a whole tensor."""
    @_b.property
    def dtype(self) -> _t.Any: ...
    @_b.property
    def shape(self) -> _t.Any: ...
    @_b.property
    def stride(self) -> _t.Any: ...

class _StridedShard(Shard):
    """Parts along a dim that later mesh dims, with `split_factor` processes in all, split before."""
    split_factor: _b.int
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    def __hash__(self) -> _b.int: ...
    def __init__(self, dim: _t.Any, split_factor: _t.Any = 1) -> None: ...

def compute_local_shape_and_global_offset(global_shape: _t.Any, mesh: _t.Any, placements: _t.Any) -> _b.tuple[_t.Any, ...]:
    """Return the shape of this process's part of a tensor, and its offset along each dim."""
def distribute_module(module: _t.Any, device_mesh: _t.Any = None, partition_fn: _t.Any = None,
                      input_fn: _t.Any = None, output_fn: _t.Any = None) -> _Module:
    """Make the parameters and buffers of a module DTensors."""
def distribute_tensor(tensor: _t.Any, device_mesh: _t.Any = None, placements: _t.Any = None, *,
                      src_data_rank: _t.Any = 0) -> DTensor:
    """Return a tensor (all of it) sharded over a mesh, with the values of the first process. With `src_data_rank=None` each
    process takes its part of its own values, without communication."""
def empty(*size: _t.Any, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
          layout: _layout | None = None, requires_grad: _b.bool = False, device_mesh: _t.Any = None,
          placements: _t.Any = None) -> DTensor:
    """Return a sharded tensor without defined values (ingot writes zeros)."""
def full(size: _t.Any, fill_value: _t.Any, *,
         dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
         layout: _layout | None = None, requires_grad: _b.bool = False, device_mesh: _t.Any = None,
         placements: _t.Any = None) -> DTensor:
    """Return a sharded tensor of one number."""

class implicit_replication:
    """Context manager: plain tensors beside DTensors count as replicated."""
    def __enter__(self) -> _t.Self: ...
    def __exit__(self, *exc: _t.Any) -> None: ...

def local_map(func: _t.Any = None, out_placements: _t.Any = None, in_placements: _t.Any = None,
              in_grad_placements: _t.Any = None, device_mesh: _t.Any = None, *,
              redistribute_inputs: _b.bool = False) -> _t.Any:
    """Return a function that calls func with the local parts of its DTensors, and returns DTensors."""
def ones(*size: _t.Any, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
         layout: _layout | None = None, requires_grad: _b.bool = False, device_mesh: _t.Any = None,
         placements: _t.Any = None) -> DTensor:
    """Return sharded ones."""
def rand(*size: _t.Any, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
         layout: _layout | None = None, requires_grad: _b.bool = False, device_mesh: _t.Any = None,
         placements: _t.Any = None) -> DTensor:
    """Return sharded uniform numbers in [0, 1), the same as one process would draw."""
def randn(*size: _t.Any, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
          layout: _layout | None = None, requires_grad: _b.bool = False, device_mesh: _t.Any = None,
          placements: _t.Any = None) -> DTensor:
    """Return sharded normal numbers, the same as one process would draw."""
def zeros(*size: _t.Any, dtype: _dtype | _b.type[_t.Any] | _b.str | _np.dtype[_t.Any] | None = None,
          layout: _layout | None = None, requires_grad: _b.bool = False, device_mesh: _t.Any = None,
          placements: _t.Any = None) -> DTensor:
    """Return sharded zeros."""
