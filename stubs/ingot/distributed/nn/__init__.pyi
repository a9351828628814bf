"""Collectives with gradients: they return new tensors, and their gradients are collectives in turn."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot.distributed.nn import functional as functional

def all_gather(tensor: _t.Any, group: _t.Any = None) -> _b.tuple[_t.Any, ...]:
    """Return every rank's tensor."""
def all_reduce(tensor: _t.Any, op: _t.Any = ..., group: _t.Any = None) -> _t.Any:
    """Return the sum (or average) of every rank's tensor."""
def all_to_all(output_tensor_list: _t.Any, input_tensor_list: _t.Any, group: _t.Any = None) -> _b.tuple[_t.Any, ...]:
    """Return on rank i every rank's i-th tensor, shaped like the first list, whose tensors are filled as well."""
def all_to_all_single(output: _t.Any, input: _t.Any, output_split_sizes: _t.Any = None,
                      input_split_sizes: _t.Any = None, group: _t.Any = None) -> _t.Any:
    """Run all_to_all on one tensor, split along its first dimension (evenly, or by the given sizes)."""
def broadcast(tensor: _t.Any, src: _t.Any, group: _t.Any = None) -> _t.Any:
    """Return the tensor of rank `src`; those of other ranks give shape and dtype."""
def gather(tensor: _t.Any, dst: _t.Any = 0, group: _t.Any = None) -> _b.tuple[_t.Any, ...]:
    """Return every rank's tensor on rank `dst`, zeros on others."""
def reduce(tensor: _t.Any, dst: _t.Any, op: _t.Any = ..., group: _t.Any = None) -> _t.Any:
    """Return the sum (or average) of every rank's tensor on rank `dst`, zeros on others."""
def reduce_scatter(output: _t.Any, input_list: _t.Any, op: _t.Any = ..., group: _t.Any = None) -> _t.Any:
    """Return on rank i the sum (or average) of every rank's i-th tensor; fill `output` as well."""
def scatter(tensors: _t.Any, src: _t.Any = 0, group: _t.Any = None) -> _t.Any:
    """Return this rank's tensor from the list of rank `src`; lists of other ranks give shapes and dtypes."""
