"""Differentiable transfers between devices: broadcast, scatter, gather, sums."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot import Tensor as _Tensor

def broadcast(tensor: _t.Any, devices: _t.Any = None, *,
              out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _b.tuple[_t.Any, ...]:
    """Return the tensor on each device: itself on its own device, else copies."""
def broadcast_coalesced(tensors: _t.Any, devices: _t.Any, buffer_size: _t.Any = 10485760) -> _b.list[_t.Any]:
    """Copy several tensors to each device, one list per device. `buffer_size` is ignored: tensors are not joined into
    buffers."""
def gather(tensors: _t.Any, dim: _t.Any = 0, destination: _t.Any = None, *,
           out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _t.Any:
    """Concatenate tensors along a dim on one device, by default the current accelerator; numbers become a vector."""
def reduce_add(inputs: _t.Any, destination: _t.Any = None) -> _t.Any:
    """Sum tensors of one shape on one device, by default the current accelerator."""
def reduce_add_coalesced(inputs: _t.Any, destination: _t.Any = None,
                         buffer_size: _t.Any = 10485760) -> _b.tuple[_t.Any, ...]:
    """Sum lists of tensors over devices, position by position. `buffer_size` is ignored: tensors are not joined into
    buffers."""
def scatter(tensor: _t.Any, devices: _t.Any = None, chunk_sizes: _t.Any = None, dim: _t.Any = 0,
            streams: _t.Any = None, *, out: _Tensor | _c.Sequence[_Tensor] | None = None) -> _b.tuple[_t.Any, ...]:
    """Split a tensor along a dim into a piece per device, like `chunk` (perhaps fewer) or with `chunk_sizes`. `streams` is
    ignored: copies run in the current stream of their device."""
