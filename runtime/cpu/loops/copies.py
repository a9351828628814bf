"""Copies between memory orders.

If a dim other than the last is contiguous (a transposed matrix, channels last), squares are transposed in registers: NumPy
would read an element of each line at a time. Elements are copied as integers of their size, since NumPy is slow for dtypes that
are not its own.
"""

import functools
import math

import numpy as np

from ....ir.dim_order import inverse
from ....ir.symbols.substitute import at_hint
from ....ir.target import host
from ....passes.codegen.llvm.contract import transpose_squares as codegen
from ..calls import pool
from ..calls.kernel_steps import joined
from ..calls.plan import JobsPlan, one_job
from ..compiler.compile import task_of
from ..memory import alloc

LEAST = 1 << 12             # elements from which copies are made here
_WIDE = 8                   # rows and columns from which transposing squares pays, if vectors have as few lanes
_NARROW = 8                 # elements of rows up to which NumPy is slow per row
WORDS = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}
_KEPT = 512


@functools.lru_cache(_KEPT)
def _plan(shape: tuple, strides: tuple, item: int, threads: int, onto: tuple | None = None) -> JobsPlan | None:
    """Return the plan of a copy from strides, in bytes, to C order, or to strides `onto`. None if no dims are permuted, or too
    many are around them."""
    if any(s % item for s in (*strides, *(onto or ()))) or item < 2:
        return None
    rows = [s // item for s in onto] if onto else [math.prod(shape[d + 1:]) for d in range(len(shape))]
    sizes, x, y = joined(shape, [s // item for s in strides], rows)
    side, lanes = _side(sizes, x, y, item), host().lanes(item)
    if side is None:
        return None
    others = [d for d in range(len(sizes) - 1) if d != side]
    words = {f"{name}{i}": 1 if name == "n" else 0 for name in "nxy" for i in range(codegen.OTHERS)}
    for i, d in enumerate(others):
        words |= {f"n{i}": sizes[d], f"x{i}": x[d], f"y{i}": y[d]}
    items = math.prod([sizes[d] for d in others]) * -(-sizes[side] // lanes)
    return one_job(codegen, task_of(codegen.TurnKernel(host(), item)), math.prod(sizes), items, threads, rows=sizes[-1],
                   columns=sizes[side], x_row=x[-1], y_row=y[side], **words)


def _side(sizes, x, y, item) -> int | None:
    """Return the dim (of `joined` sizes and strides) that is contiguous where another is in the copy, if transposing squares
    pays."""
    side, lanes = next((d for d, s in enumerate(x[:-1]) if s == 1), None), host().lanes(item)
    if side is None or x[-1] == 1 or y[-1] != 1 or min(sizes[-1], sizes[side]) < min(lanes, max(_WIDE, lanes // 2)) \
            or len(sizes) > codegen.OTHERS + 2:
        return None
    return side


def is_worth_transposing(shape, strides, dtype) -> bool:
    """Whether a large array of such strides, in elements, is better copied before its elements are read in order."""
    shape, strides = at_hint(tuple(shape)), at_hint(tuple(strides))
    if math.prod(shape) < LEAST or dtype.itemsize not in WORDS or dtype.itemsize < 2 or 0 in strides:
        return False
    sizes, x, y = joined(shape, strides, [math.prod(shape[d + 1:]) for d in range(len(shape))])
    return _side(sizes, x, y, dtype.itemsize) is not None


def transposing_plan(shape, strides, item, onto, threads) -> JobsPlan | None:
    """Return the plan of a copy between strides in bytes that transposes squares, if that pays."""
    return _plan(shape, strides, item, threads, onto) if math.prod(shape) >= LEAST else None


def is_transposed(array) -> bool:
    """Whether a large array is better copied before its elements are read in order."""
    item = array.itemsize
    return item in WORDS and _plan(array.shape, array.strides, item, pool.get_num_threads()) is not None


def in_rows(array: np.ndarray) -> np.ndarray:
    """Return a copy in C order."""
    if array.size < LEAST or array.itemsize not in WORDS:
        return np.array(array, order="C")
    out = alloc.empty(array.shape, array.dtype)
    if not any(array.strides):
        fill(out, array[(0,) * array.ndim])
        return out
    word = WORDS[array.itemsize]
    _copied(array.view(word), out.view(word), _plan(array.shape, array.strides, array.itemsize, pool.get_num_threads()))
    return out


def in_order(array: np.ndarray, order: tuple | None) -> np.ndarray:
    """Return a copy whose dims have an order in memory (`ir/dim_order.py`)."""
    return in_rows(array) if order is None else in_rows(array.transpose(order)).transpose(inverse(order))


def _copied(array, out, plan):
    """Copy by a plan, or by NumPy; short rows of strided elements are copied one element of each at a time."""
    if plan is not None:
        plan(array, out)
    elif array.shape[-1] <= _NARROW and array.strides[-1] > array.itemsize:
        for at in range(array.shape[-1]):
            np.copyto(out[..., at], array[..., at])
    else:
        np.copyto(out, array)


def into(out: np.ndarray, array: np.ndarray):
    """Copy an array into one of its shape and dtype and any strides."""
    word = WORDS.get(array.itemsize)
    if word is None or array.size < LEAST:
        out[...] = array
        return
    plan = _plan(array.shape, array.strides, array.itemsize, pool.get_num_threads(), out.strides)
    _copied(array.view(word), out.view(word), plan)


def fill(array: np.ndarray, value):
    """Write a number everywhere in a contiguous array."""
    kind = array.dtype
    if kind.isbuiltin == 1 or kind.itemsize not in WORDS:
        array.fill(value)
    else:
        word = WORDS[kind.itemsize]
        array.view(word).fill(np.full(1, value, kind).view(word)[0])


def dense(array: np.ndarray) -> np.ndarray:
    """Return the array in C order and aligned: itself if it is so, else a copy."""
    flags = array.flags
    return array if flags.c_contiguous and flags.aligned else in_rows(array)


def as_rows(array: np.ndarray) -> np.ndarray:
    """Return the array if kernels can read it by strides (exact, aligned, native, contiguous last dim), else such a copy."""
    item = array.itemsize
    good = (type(array) is np.ndarray and array.flags.aligned and array.dtype.isnative
            and (array.strides[-1] == item or array.shape[-1] == 1))
    return array if good else np.array(array, array.dtype.newbyteorder("="), order="C", subok=False)
