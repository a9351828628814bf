"""Gradients of which only some rows are not zero: how they meet others on the way to a leaf, and in it.

A sparse gradient is whatever has `is_sparse` set (`api.sparse.CooTensor`): the lookup in a table makes it when asked to,
for a table that is a leaf. Where they get a history themselves, gradients are dense.
"""

from typing import Any

from ...ir.ops.core.elementwise import add
from ..core.state import tls
from ..core.tensor import Tensor, wrap


def is_sparse(g) -> bool:
    """Whether a gradient is a sparse tensor (arrays never are)."""
    return isinstance(g, Tensor) and g.is_sparse


def sum_of(old, g) -> Any:
    """The sum of two gradients that arrive at one place: sparse if both are."""
    if is_sparse(old):
        old, g = g, old
    if not is_sparse(g):
        return add(old, g)
    if isinstance(old, Tensor):
        return g + old
    return (g + wrap(old))._a


def accumulate_sparse(leaf, g) -> None:
    """Adds a sparse gradient to a leaf's, or any gradient to one that is sparse."""
    recorder = tls.m.recorder
    if recorder is not None:
        recorder.grad_read(leaf)
    old = leaf.grad
    leaf.grad = g if old is None else sum_of(old, g)
    if recorder is not None:
        recorder.grad_set(leaf)
