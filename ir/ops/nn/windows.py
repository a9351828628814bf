"""Sliding windows over the spatial dims of (N, C, *spatial) arrays: sizes, padding, views and their transposes.

Convolutions and pools share them in shape rules and numpy references. `padding` is one (low, high) pair for each spatial dim; a
negative number cuts.
"""

import itertools
from math import prod

import numpy as np

from ...errors import ShapeError
from ...opdef.param_checks import check_int, check_ints, check_sizes
from ...symbols.symbolic import hint

_MOST = (1 << 31) - 1       # of a number of a window, whose products fit in 64 bits
_SPARE, _TIMES = 1 << 24, 64        # elements of padding: as many in any case, and more for each element of operand and result


def window_count(n: int, kernel: int, stride: int, padding: tuple, dilation: int) -> int:
    """Return how many windows fit along one dim (may be 0 or negative)."""
    return (n + padding[0] + padding[1] - dilation * (kernel - 1) - 1) // stride + 1


def window_counts(sizes, kernel, stride, padding, dilation) -> tuple:
    """Return how many windows fit along each dim."""
    return tuple([window_count(*each) for each in zip(sizes, kernel, stride, padding, dilation)])


def check_windows(name, x, kernel, stride, padding, dilation) -> tuple:
    """Return the window counts of `x`, or raise an error for numbers or sizes that do not fit."""
    rank = x.ndim - 2
    if rank < 1 or not all(isinstance(v, tuple) and len(v) == rank for v in (kernel, stride, padding, dilation)):
        raise ShapeError(f"{name} of {x}: an input of shape [N, C, *spatial] needs kernel, stride, padding and dilation for "
                         f"each spatial dimension, got kernel={kernel}, stride={stride}, padding={padding}, "
                         f"dilation={dilation}")
    counts, padded = [], False
    for n, k, s, pair, d in zip(x.shape[2:], kernel, stride, padding, dilation):
        if not type(k) is type(s) is type(d) is int or not (1 <= k <= _MOST and 1 <= s <= _MOST and 1 <= d <= _MOST):
            for what, number in (("kernel", k), ("stride", s), ("dilation", d)):
                check_int(number, f"{name} of {x}: {what}", 1, _MOST)
        if type(pair) is not tuple or len(pair) != 2 or not type(pair[0]) is type(pair[1]) is int or any(pair):
            padded = True
            low, high = check_ints(pair, f"{name}: padding", 2, -_MOST, _MOST)
            if hint(n) + min(low, 0) + min(high, 0) < 0:
                raise ShapeError(f"{name} of {x}: padding {padding} cuts more than there is")
        count = window_count(n, k, s, pair, d)
        if count < 1:
            spans = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation))
            raise ShapeError(f"{name} of {x}: the padded input {padded_sizes(x.shape[2:], padding)} is smaller than the window "
                             f"{spans}; use a smaller kernel or more padding")
        counts.append(count)
    if padded:
        _check_padding(name, x, padding, counts)
    return tuple(counts)


def _check_padding(name, x, padding, counts):
    """Refuse padding beside which input and result are nothing: it would cost time and memory that no shape shows."""
    planes, padded = (prod(map(hint, sizes)) for sizes in (x.shape[:2], padded_sizes(x.shape[2:], padding)))
    if max(planes, 1) * padded <= _SPARE:
        return
    planes = prod(check_sizes(x.shape[:2]))
    inside, result = prod(check_sizes(x.shape[2:])), prod(check_sizes(tuple(counts), "the number of windows"))
    if planes * padded > _SPARE + _TIMES * planes * (inside + result):
        raise ShapeError(f"{name} of {x}: padding {padding} makes planes of {padded} elements for {result} windows")


def pad_spatial(x, padding, value=0):
    """Pad the spatial dims with `value`; negative padding cuts. Without padding it returns the array itself."""
    if not any(itertools.chain.from_iterable(padding)):
        return x
    sizes = x.shape[2:]
    inner = tuple(slice(max(-lo, 0), max(n - max(-hi, 0), 0)) for n, (lo, hi) in zip(sizes, padding))
    x = x[(..., *inner)]
    if all(lo <= 0 and hi <= 0 for lo, hi in padding):
        return x
    grown = tuple(n + max(lo, 0) + max(hi, 0) for n, (lo, hi) in zip(x.shape[2:], padding))
    full = np.full(x.shape[:2] + grown, value, x.dtype)
    inside = tuple(slice(max(lo, 0), max(lo, 0) + n) for n, (lo, _) in zip(x.shape[2:], padding))
    full[:, :, *inside] = x
    return full


def unpad_spatial(x, padding):
    """Transpose padding with zeros, into memory of its own."""
    return np.ascontiguousarray(pad_spatial(x, tuple((-lo, -hi) for lo, hi in padding)))


def padded_sizes(sizes, padding) -> tuple:
    """Return sizes with (low, high) padding added."""
    return tuple(n + lo + hi for n, (lo, hi) in zip(sizes, padding))


def windows(x, kernel, stride, dilation):
    """Return all windows of a padded array, as a read-only view (N, C, *kernel, *counts)."""
    counts = window_counts(x.shape[2:], kernel, stride, ((0, 0),) * len(kernel), dilation)
    steps = x.strides[2:]
    inner = tuple(b * d for b, d in zip(steps, dilation))
    outer = tuple(b * s for b, s in zip(steps, stride))
    shape, strides = x.shape[:2] + tuple(kernel) + counts, x.strides[:2] + inner + outer
    return np.lib.stride_tricks.as_strided(x, shape, strides, writeable=False)


def kernel_offsets(kernel, counts, stride, dilation):
    """Yield each window place's index and its slices of the padded array, one element per window."""
    for tap in itertools.product(*map(range, kernel)):
        yield tap, tuple(slice(t * d, t * d + (c - 1) * s + 1, s) for t, c, s, d in zip(tap, counts, stride, dilation))


def add_windows(columns, sizes, stride, dilation):
    """Transpose `windows`: add (N, C, *kernel, *counts) into zeros of (N, C, *sizes)."""
    rank = len(sizes)
    kernel, counts = columns.shape[2:2 + rank], columns.shape[2 + rank:]
    full = np.zeros(columns.shape[:2] + tuple(sizes), columns.dtype)
    for tap, where in kernel_offsets(kernel, counts, stride, dilation):
        full[(..., *where)] += columns[(slice(None), slice(None), *tap)]
    return full


def batches(n: int, elements_each: int, most: int = 1 << 22):
    """Yield slices of a batch of `n` whose intermediate arrays stay within `most` elements."""
    step = max(1, most // max(1, elements_each))
    return [slice(i, min(i + step, n)) for i in range(0, n, step)]
