"""Copies in row-major order of arrays that lie otherwise.

Where another dim than the last lies side by side (a transposed matrix, channels last), squares are turned in registers:
numpy would read an element of each line at a time. Elements are moved as whole numbers of their size, since numpy takes its
time for dtypes that are not its own."""

import functools
import math

import numpy as np

from ...ir.target import host
from ...passes.codegen.llvm import turned_copy as codegen
from . import alloc, jobs, pool
from .compile import task_of
from .native_kernels import joined

LEAST = 1 << 12             # elements from which copies are made here
_NARROWEST = 4              # rows and columns from which squares are worth turning
WORDS = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}
_KEPT = 512


@functools.lru_cache(_KEPT)
def _plan(shape: tuple, strides: tuple, item: int, threads: int) -> jobs.JobsPlan | None:
    """What turns an array of such strides, in bytes; None where no dims change places, or there are too many around them."""
    if any(s % item for s in strides) or item < 2:
        return None
    sizes, x, y = joined(shape, [s // item for s in strides], [math.prod(shape[d + 1:]) for d in range(len(shape))])
    side = next((d for d, s in enumerate(x[:-1]) if s == 1), None)
    if side is None or x[-1] == 1 or min(sizes[-1], sizes[side]) < _NARROWEST or len(sizes) > codegen.OTHERS + 2:
        return None
    others = [d for d in range(len(sizes) - 1) if d != side]
    words = {f"{name}{i}": 1 if name == "n" else 0 for name in "nxy" for i in range(codegen.OTHERS)}
    for i, d in enumerate(others):
        words |= {f"n{i}": sizes[d], f"x{i}": x[d], f"y{i}": y[d]}
    lanes = host().lanes(item)
    items = math.prod([sizes[d] for d in others]) * -(-sizes[side] // lanes)
    todo, work, kernel = jobs.Jobs(threads), math.prod(sizes), codegen.TurnKernel(host(), item)
    todo.add(task_of(kernel, kernel.symbol), codegen.WORDS[len(codegen.ARRAYS) + 2:], items=items,
             chunks=jobs.chunks_for(work, items, threads), rows=sizes[-1], columns=sizes[side], x_row=x[-1], y_row=y[side],
             **words)
    return todo.plan(0, work)


def is_turned(array) -> bool:
    """Whether a large array is better copied before its elements are read one after the other."""
    return _plan(array.shape, array.strides, array.itemsize, pool.get_num_threads()) is not None


def in_rows(array: np.ndarray) -> np.ndarray:
    """A copy in row-major order."""
    if array.size < LEAST or array.itemsize not in WORDS:
        return np.array(array, order="C")
    out = alloc.empty(array.shape, array.dtype)
    if not any(array.strides):
        fill(out, array[(0,) * array.ndim])
        return out
    word = WORDS[array.itemsize]
    plan = _plan(array.shape, array.strides, array.itemsize, pool.get_num_threads())
    if plan is None:
        np.copyto(out.view(word), array.view(word))
    else:
        plan(array.view(word), out.view(word))
    return out


def fill(array: np.ndarray, value):
    """Writes a number everywhere in a contiguous array."""
    kind = array.dtype
    if kind.isbuiltin == 1 or kind.itemsize not in WORDS:
        array.fill(value)
    else:
        word = WORDS[kind.itemsize]
        array.view(word).fill(np.full(1, value, kind).view(word)[0])


def dense(array: np.ndarray) -> np.ndarray:
    """The array in row-major order: itself where it is so, else a copy."""
    flags = array.flags
    return array if flags.c_contiguous and flags.aligned else in_rows(array)
