"""Kernels that move elements or fill arrays, in eager mode; see `eager.py`."""

import functools
import math

import numpy as np

from ....ir import dtype as dt
from ....ir.opdef.op import Op
from ....ir.ops.core import complex_numbers, shape
from ..calls.kernel_table import KernelTable
from ..memory import alloc
from . import copies, kernels, scalars

TABLE = KernelTable()
_FEW, _MANY = 1 << 12, 1 << 20      # elements from which joins leave numpy, and are shared out between threads
_LEFT_ZEROS = 32 << 20      # bytes of zeros above which the system gives them when they are written
_WORDS = {d.np for d in (dt.float32, dt.float64, dt.int32, dt.int64)}      # whose elements are copied as they are


@TABLE.makes(shape.full)
def full(op: Op):
    """Constants; large ones in memory with large pages that is used again."""

    def run(like, *, shape, value, dtype):
        size = dtype.itemsize
        for n in shape:
            size *= n
        small = size < alloc.SMALL_BYTES
        if (small and dtype.np.isbuiltin != 1) or (size > _LEFT_ZEROS and value == 0):
            return op.ref(like, shape=shape, value=value, dtype=dtype)
        out = np.empty(shape, dtype.np) if small else alloc.empty(shape, dtype.np)
        copies.fill(out, value)
        return out

    return run


@TABLE.makes(shape.contiguous)
def contiguous(op: Op):
    """Copies of `copies.py` where elements lie in another order."""
    plain = scalars.exact(op)

    def run(x):
        if x.__class__ is np.ndarray and not x.flags.c_contiguous:
            return copies.in_rows(x)
        return plain(x)

    return run


@TABLE.makes(shape.pad)
def pad(op: Op):
    """Borders alone are filled around large arrays; what cuts, or spreads elements, is the reference's."""

    def run(x, *, low, high, interior, value=0):
        if x.size < copies.LEAST or x.itemsize not in copies.WORDS or any(interior) or min((*low, *high, 0)) < 0:
            return op.ref(x, low=low, high=high, interior=interior, value=value)
        kind, word = x.dtype, copies.WORDS[x.itemsize]
        out = alloc.empty(tuple([n + lo + hi for n, lo, hi in zip(x.shape, low, high)]), kind)
        rest, number = out.view(word), np.full(1, value, kind).view(word)[0]
        for d, (lo, n, hi) in enumerate(zip(low, x.shape, high)):
            before = (slice(None),) * d
            if lo:
                rest[(*before, slice(0, lo))] = number
            if hi:
                rest[(*before, slice(lo + n, None))] = number
            rest = rest[(*before, slice(lo, lo + n))]
        copies.into(rest, x.view(word))
        return out

    return run


@TABLE.makes(complex_numbers.pairs)
def pairs(op: Op):
    """One copy: that is how complex numbers lie in memory."""

    def run(x):
        return copies.in_rows(x).reshape(*x.shape, 1).view(dt.PARTS[dt.BY_NP[x.dtype]].np)

    return run


@TABLE.makes(complex_numbers.of_pairs)
def of_pairs(op: Op):
    """The same the other way."""
    return lambda x: copies.in_rows(x).view(dt.WHOLES[dt.BY_NP[x.dtype]].np).reshape(x.shape[:-1])


@TABLE.makes(shape.cat)
def cat(op: Op):
    """numpy where caches hold everything; larger arrays are brought to their places by all threads."""

    def run(*xs, dim):
        first = xs[0]
        kind, size, kinds = first.dtype, sum([x.size for x in xs]), [x.dtype for x in xs]
        if kinds.count(kind) != len(kinds):
            return op.ref(*xs, dim=dim)
        if size < _FEW or (not dim and size * kind.itemsize < alloc.SMALL_BYTES):
            return op.ref(*xs, dim=dim)
        out = alloc.empty(_joined_shape([x.shape for x in xs], dim), kind)
        if size >= _MANY and kind in _WORDS:
            return _joined_by_all(xs, out, dim)
        several = len(xs) > _SEVERAL
        dense = not (several and not dim) and all([x.flags.c_contiguous for x in xs])  # noqa: C419
        if dense or several:
            return join_rows(xs, out, dim) if dense and dim else np.concatenate(xs, dim, out)
        for x, place in zip(xs, np.split(out, np.cumsum([x.shape[dim] for x in xs[:-1]]), dim)):
            copies.into(place, x)
        return out

    return run


@TABLE.makes(shape.stack)
def stack(op: Op):
    """Behind each other, seen with a dim more."""
    join = cat(shape.cat)

    def run(*xs, dim):
        if [x.shape for x in xs].count(xs[0].shape) != len(xs):
            raise ValueError("arrays of different shapes")
        return shape.stacked(join, xs, dim)

    return run


def _joined_shape(shapes, dim):
    """The shape of arrays of these shapes behind each other."""
    first = shapes[0]
    before, after = first[:dim], first[dim + 1:]
    if shapes.count(first) == len(shapes):
        return *before, len(shapes) * first[dim], *after
    if any([len(s) != len(first) or s[:dim] != before or s[dim + 1:] != after for s in shapes]):  # noqa: C419
        raise ValueError("arrays of different sizes")
    return *before, sum([s[dim] for s in shapes]), *after


def _joined_by_all(xs, out, dim):
    """Copies to places of `out` by all threads."""
    place, start, copy = (slice(None),) * dim, 0, kernels.cast(dt.BY_NP[out.dtype], dt.BY_NP[out.dtype])
    for x in xs:
        end = start + x.shape[dim]
        if x.size:
            there = out[(*place, slice(start, end))]
            if not x.flags.c_contiguous and copies.is_turned(x):
                copies.into(there, x)
            else:
                copy(x, out=there)
        start = end
    return out


_SEVERAL = 16           # arrays up to which each is looked at by itself
_SHORT_ROW = 256        # bytes up to which a row is copied as one element
_MANY_ROWS = 256        # from which that is worth finding out how


def join_rows(xs, out, dim):
    """Rows side by side. Short ones are copied as one element of their size, where numpy would copy element by element."""
    outer = math.prod(out.shape[:dim])
    if outer < _MANY_ROWS or out.nbytes > _SHORT_ROW * outer * len(xs):
        return np.concatenate(xs, dim, out)
    rows, start = out.reshape(outer, -1).view(np.uint8), 0
    for x in xs:
        if x.size:
            row = _row_of(x.nbytes // outer)
            end = start + row.itemsize
            rows[:, start:end].view(row)[...] = x.reshape(outer, -1).view(row)
            start = end
    return out


@functools.lru_cache(512)
def _row_of(size):
    """A dtype of so many bytes."""
    return np.dtype(f"u{size}" if size in (1, 2, 4, 8) else f"V{size}")


_FORWARDS, _BACKWARDS = slice(None), slice(None, None, -1)
_COPIED = {1: dt.uint8, 2: dt.int16, 4: dt.int32, 8: dt.int64}      # elements of their size


@TABLE.makes(shape.flip)
def flip(op: Op):
    """numpy for few elements; many are read backwards in vectors."""

    def run(x, *, dims):
        word = _COPIED.get(x.itemsize)
        if x.size < _FEW or word is None:
            return op.ref(x, dims=dims)
        turned = [_BACKWARDS if d in dims else _FORWARDS for d in range(x.ndim)]
        return kernels.cast(word, word)(x.view(word.np)[tuple(turned)]).view(x.dtype)

    return run
