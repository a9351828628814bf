"""Gradient buffers: sums in place, ownership of gradient memory, and sparse gradients.

Memory without other references is kept or overwritten without a copy. A sparse gradient has `is_sparse` set
(`api.sparse.CooTensor`); lookups in a leaf table make one on request. Gradients with a history of their own are dense.
"""

import ctypes
import sys
from typing import Any

import numpy as np

from ...ir.dtype import BY_NP, FLOAT8, FLOAT_CHARS
from ...ir.ops.core import elementwise as ew
from ...ir.ops.core.elementwise import add
from ...ir.ops.core.shape import contiguous
from ..core.backend import HOST
from ..core.node import LARGE
from ..core.tensor import Tensor, wrap
from ..core.writes import overlaps
from ..state.mode import tls


def add_to(total, g):
    """Add an array to another one of its shape and device, in place; return that one."""
    if total.__class__ is not np.ndarray:
        return total if total.backend.overwrite(ew.add, total, (total, g), {}) else np.add(total, g, total)
    kind = BY_NP.get(total.dtype)
    if total.size < LARGE or kind is None or not kind.is_floating_point or kind in FLOAT8 or total.dtype != g.dtype:
        return np.add(total, g, total)
    return HOST.binary("add", kind)(total, g, out=total)


def takes_sums(a) -> bool:
    """Return whether gradients may be added into a gradient array: its elements do not overlap."""
    flags = a.flags
    return flags.writeable and (flags.c_contiguous or not overlaps(a))


def can_add_to(held: list, g) -> bool:
    """Return whether the gradient in the list `held` may become its sum with another one. It must be large, and only the list
    may refer to its memory."""
    old = held[0]
    if not (type(old) is type(g) is np.ndarray and old.size >= LARGE and old.shape == g.shape and old.dtype == g.dtype
            and old.dtype.char in FLOAT_CHARS and _is_plain_memory(old)):
        return False
    del old
    of_array, of_owner = _holders(held)
    return of_array <= _ONE_HOLDER and of_owner <= _ONE_HOLDER_OF_OWNER


def own(g: Tensor) -> Tensor:
    """Return a gradient that nothing else can write to: the tensor itself if nothing else refers to its memory."""
    if _is_plain_memory(g._a):
        arrays, owners = _references(g)
        if arrays <= _ALONE and (g._a.base is None or owners <= _ALONE_OWNER):
            return g
    return wrap(HOST.in_rows(g._a) if g._a.__class__ is np.ndarray and g._a.size >= LARGE else g._a.copy())


def copied(g: Tensor) -> Tensor:
    """Return a row-major copy, made by an operator, for recorders and higher derivatives."""
    return ew.copy(g) if g._a.flags.c_contiguous else contiguous(g)


def _is_plain_memory(a) -> bool:
    """Return whether an array is row-major and writable, and the last reference to it frees its memory (of about its size)."""
    flags, owner = a.flags, a.base
    if not (flags.c_contiguous and flags.writeable):
        return False
    if type(owner) is np.ndarray:
        return owner.flags.owndata and owner.nbytes <= a.nbytes
    return flags.owndata or (isinstance(owner, ctypes.Array) and ctypes.sizeof(owner) <= 2 * a.nbytes)


def _references(g):
    """Return the reference counts of a tensor's array and of the owner of its memory."""
    a = g._a
    owner = a.base
    return sys.getrefcount(a), sys.getrefcount(owner)


def _holders(held: list) -> tuple:
    """Return the reference counts of the one array of a list and of the owner of its memory."""
    a = held[0]
    owner = a.base
    return sys.getrefcount(a), 0 if owner is None else sys.getrefcount(owner)


_ALONE, _ALONE_OWNER = _references(wrap(np.zeros((2, 1)).reshape(1, 2)))
_ONE_HOLDER, _ONE_HOLDER_OF_OWNER = _holders([np.zeros((2, 1)).reshape(1, 2)])


def is_sparse(g) -> bool:
    """Return whether a gradient is a sparse tensor (arrays never are)."""
    return isinstance(g, Tensor) and g.is_sparse


def sum_of(old, g) -> Any:
    """Return the sum of two gradients; sparse if both are."""
    if is_sparse(old):
        old, g = g, old
    if not is_sparse(g):
        return add(old, g)
    if isinstance(old, Tensor):
        return g + old
    return (g + wrap(old))._a


def accumulate_sparse(leaf, g) -> None:
    """Add a sparse gradient to a leaf's, or any gradient to a sparse one."""
    recorder = tls.m.recorder
    if recorder is not None:
        recorder.gradients.leaf_read(leaf)
    old = leaf.grad
    leaf.grad = g if old is None else sum_of(old, g)
    if recorder is not None:
        recorder.gradients.leaf_set(leaf)
