"""Operators that move elements or fill arrays: concatenate, pad, reverse, copy, and views written as copies."""

import functools
import itertools
import math

import numpy as np

from ....ir import dtype as dt
from ....ir.opdef.op import Op
from ....ir.ops.core import complex_numbers
from ....ir.ops.core import shape as ops
from ....passes.layout.plain_operands import STRIDED
from ..calls import pool
from ..calls.kernel_steps import fill, move, words_of
from ..calls.operator_kernel import OperatorKernel
from ..calls.step_list import At, NativeCall, Table
from ..memory import alloc
from . import copies, kernels, scalars


def full(like, *, shape, value, dtype):
    """Return a constant array; a large one in memory with large pages that is used again."""
    size = dtype.itemsize
    for n in shape:
        size *= n
    small = size < alloc.SMALL_BYTES
    if (small and dtype.np.isbuiltin != 1) or (size > _LEFT_ZEROS and value == 0):
        return _full_reference(like, shape=shape, value=value, dtype=dtype)
    out = np.empty(shape, dtype.np) if small else alloc.empty(shape, dtype.np)
    copies.fill(out, value)
    return out


_full_reference = ops.full.ref


def contiguous(op: Op):
    """Return the eager copy into C order: by `copies.py` if elements are in another order."""
    plain = scalars.exact(op)

    def run(x):
        if x.__class__ is np.ndarray and not x.flags.c_contiguous:
            return copies.in_rows(x)
        return plain(x)

    return run


def pad(x, *, low, high, interior, value=0):
    """Pad with a number: fill only the borders of large arrays; the reference cuts and spreads elements."""
    if x.size < copies.LEAST or x.itemsize not in copies.WORDS or any(interior) or min((*low, *high, 0)) < 0:
        return ops.pad.ref(x, low=low, high=high, interior=interior, value=value)
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


def pairs(x):
    """Return complex numbers as pairs of parts: one copy, since complex numbers are pairs in memory."""
    return copies.in_rows(x).reshape(*x.shape, 1).view(dt.PARTS[dt.BY_NP[x.dtype]].np)


def of_pairs(x):
    """Return pairs of parts as complex numbers: one copy."""
    return copies.in_rows(x).view(dt.WHOLES[dt.BY_NP[x.dtype]].np).reshape(x.shape[:-1])


def cat(*xs, dim):
    """Concatenate: by NumPy while caches hold everything, by all threads for larger arrays."""
    first = xs[0]
    kind, size, kinds = first.dtype, sum([x.size for x in xs]), [x.dtype for x in xs]
    if kinds.count(kind) != len(kinds):
        return _cat_reference(*xs, dim=dim)
    if size < _FEW or (not dim and size * kind.itemsize < alloc.SMALL_BYTES):
        return _cat_reference(*xs, dim=dim)
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


_cat_reference = ops.cat.ref


def flip(x, *, dims):
    """Reverse dims: by NumPy for few elements; many are read backwards in vectors."""
    word = _COPIED.get(x.itemsize)
    if x.size < _FEW or word is None:
        return ops.flip.ref(x, dims=dims)
    reversed_dims = [_BACKWARDS if d in dims else _FORWARDS for d in range(x.ndim)]
    return kernels.cast(word, word)(x.view(word.np)[tuple(reversed_dims)]).view(x.dtype)


_FEW, _MANY = 1 << 12, 1 << 20      # elements from which NumPy is slower, and from which threads share
_LEFT_ZEROS = 32 << 20      # bytes of zeros above which lazily mapped pages are better
_WORDS = {d.np for d in (dt.float32, dt.float64, dt.int32, dt.int64)}      # dtypes whose elements are copied directly


def _joined_shape(shapes, dim):
    """Return the shape of concatenated arrays."""
    first = shapes[0]
    before, after = first[:dim], first[dim + 1:]
    if shapes.count(first) == len(shapes):
        return *before, len(shapes) * first[dim], *after
    if any([len(s) != len(first) or s[:dim] != before or s[dim + 1:] != after for s in shapes]):  # noqa: C419
        raise ValueError("arrays of different sizes")
    return *before, sum([s[dim] for s in shapes]), *after


def _joined_by_all(xs, out, dim):
    """Copy arrays to their parts of `out` by all threads."""
    place, start, copy = (slice(None),) * dim, 0, kernels.cast(dt.BY_NP[out.dtype], dt.BY_NP[out.dtype])
    for x in xs:
        end = start + x.shape[dim]
        if x.size:
            there = out[(*place, slice(start, end))]
            if not x.flags.c_contiguous and copies.is_transposed(x):
                copies.into(there, x)
            else:
                copy(x, out=there)
        start = end
    return out


_SEVERAL = 16           # arrays up to which each is handled separately
_SHORT_ROW = 256        # bytes up to which a row is copied as one element
_MANY_ROWS = 256        # rows from which that pays


def join_rows(xs, out, dim):
    """Concatenate rows. Short ones are copied as one element of their size; NumPy would copy element by element."""
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
    return np.dtype(f"u{size}" if size in (1, 2, 4, 8) else f"V{size}")


_FORWARDS, _BACKWARDS = slice(None), slice(None, None, -1)
_COPIED = {1: dt.uint8, 2: dt.int16, 4: dt.int32, 8: dt.int64}      # elements of their size


def copy_steps(shape, item: int, source, source_strides, target, target_strides) -> tuple:
    """Return the steps of a copy between strides in bytes; it transposes squares where that pays."""
    transposed = copies.transposing_plan(shape, source_strides, item, target_strides, pool.get_num_threads())
    return ((move(shape, item, source, source_strides, target, target_strides),) if transposed is None
            else transposed.native([source, target]).steps)


def _cat_step(node, operands, results):
    (out,), dim, at, steps = results, node.params["dim"], 0, []
    for number, x in enumerate(operands):
        goal = At(len(operands), at * out.strides[dim])
        steps += copy_steps(x.shape, out.dtype.itemsize, At(number), x.strides, goal, out.strides)
        at += x.shape[dim]
    return NativeCall(tuple(steps))


def _constant_step(node, operands, results):
    """Copy numbers from a table of the list."""
    (out,) = results
    numbers = ops.constant.ref(None, **node.params)
    return NativeCall((move(out.shape, out.dtype.itemsize, Table(words_of(numbers)), out.strides, At(len(operands)),
                            out.strides),))


def _pad_step(node, operands, results):
    """Fill everything with the number if elements do not cover all, then copy the elements that are not cut off."""
    (x, *_), (out,) = operands, results
    low, high, interior = (node.params[name] for name in ("low", "high", "interior"))
    steps, spans = [], [_uncut_span(n, m, lo, gap) for n, m, lo, gap in zip(x.shape, out.shape, low, interior)]
    if any(lo > 0 or hi > 0 or gap for lo, hi, gap in zip(low, high, interior)):
        steps.append(fill(At(1), out.size, node.params.get("value", 0), dt.BY_NP[out.dtype]))
    if all(count for _, _, count in spans):
        first = sum(a * s for (a, _, _), s in zip(spans, x.strides))
        start = sum(b * s for (_, b, _), s in zip(spans, out.strides))
        steps.append(move([count for *_, count in spans], out.dtype.itemsize, At(0, first), x.strides, At(1, start),
                          [s * (gap + 1) for s, gap in zip(out.strides, interior)]))
    return NativeCall(tuple(steps))


def _uncut_span(size, room, low, gap):
    """Return (first element, its index in the result, count) of the elements of a dim that are not cut off."""
    first = max(0, -(low // (gap + 1))) if low < 0 else 0
    place = low + first * (gap + 1)
    return first, place, max(0, min(size - first, -(-(room - place) // (gap + 1))))


def _pairs_step(node, operands, results):
    (x,), (out,) = operands, results
    return NativeCall((move(x.shape, x.dtype.itemsize, At(0), x.strides, At(1), out.strides[:-1]),))


def _of_pairs_step(node, operands, results):
    """Copy pairs as complex numbers if their parts are adjacent and strides are whole pairs, else part by part."""
    (x,), (out,) = operands, results
    if x.strides[-1] == x.dtype.itemsize and not any([s % out.dtype.itemsize for s in x.strides[:-1]]):  # noqa: C419
        return NativeCall((move(out.shape, out.dtype.itemsize, At(0), x.strides[:-1], At(1), out.strides),))
    return NativeCall((move(x.shape, x.dtype.itemsize, At(0), x.strides, At(1), (*out.strides, x.dtype.itemsize)),))


def _flip_step(node, operands, results):
    (x,), (out,) = operands, results
    dims = {d % len(x.shape) for d in node.params["dims"]}
    first = sum((x.shape[d] - 1) * x.strides[d] for d in dims)
    strides = [-s if d in dims else s for d, s in enumerate(x.strides)]
    return NativeCall((move(x.shape, out.dtype.itemsize, At(0, first), strides, At(1), out.strides),))


def _roll_step(node, operands, results):
    """Copy two parts along each dim."""
    (x,), (out,) = operands, results
    shifts: dict = {}
    for by, d in zip(node.params["shifts"], node.params["dims"], strict=True):
        shifts[d % len(x.shape)] = shifts.get(d % len(x.shape), 0) + by
    cuts = [[(0, n)] if not shifts.get(d, 0) % n else [(0, n - shifts[d] % n), (n - shifts[d] % n, n)]
            for d, n in enumerate(x.shape)]
    steps = []
    for part in itertools.product(*cuts):
        to = [(low + shifts.get(d, 0)) % n for d, ((low, _), n) in enumerate(zip(part, x.shape))]
        source = sum(low * s for (low, _), s in zip(part, x.strides))
        target = sum(low * s for low, s in zip(to, out.strides))
        steps.append(move([high - low for low, high in part], out.dtype.itemsize, At(0, source), x.strides, At(1, target),
                          out.strides))
    return NativeCall(tuple(steps))


OPERATORS = {
    ops.contiguous: OperatorKernel(make=contiguous),
    ops.full: OperatorKernel(full),
    ops.cat: OperatorKernel(cat, _cat_step, STRIDED),
    ops.pad: OperatorKernel(pad, _pad_step, STRIDED),
    ops.flip: OperatorKernel(flip, _flip_step, STRIDED),
    ops.roll: OperatorKernel(step=_roll_step, reads=STRIDED),
    ops.constant: OperatorKernel(step=_constant_step),
    complex_numbers.pairs: OperatorKernel(pairs, _pairs_step, STRIDED),
    complex_numbers.of_pairs: OperatorKernel(of_pairs, _of_pairs_step, STRIDED),
}
