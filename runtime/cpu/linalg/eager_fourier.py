"""Which kernel runs discrete Fourier transforms in eager mode: the generated one for sizes with the factors 2, 3 and 5 that
caches hold, numpy's for others. See `eager.py`."""

import math

import numpy as np

from ....ir.opdef.op import Op
from ....ir.ops.math import fourier as ops
from ..calls import pool
from ..calls.kernel_table import KernelTable
from ..loops import copies
from . import fourier

TABLE = KernelTable()


def scale_of(norm, n, inverse) -> float:
    """What the numbers of a transform of n are multiplied with."""
    return math.sqrt(1 / n) if norm == "ortho" else 1 / n if inverse == (norm == "backward") else 1.0


@TABLE.makes(ops.fft)
def fft(op: Op):
    """One dim after the other, the last one first."""

    def run(x, *, dim, inverse, norm):
        for d in reversed(dim):
            shape = x.shape
            task, scale = "rows" if d == len(shape) - 1 else "columns", scale_of(norm, shape[d], inverse)
            made = fourier.transform(task, x.dtype, shape, d, scale, inverse, pool.get_num_threads())
            x = op.ref(x, dim=(d,), inverse=inverse, norm=norm) if made is None else made(copies.dense(x))
        return x

    return run


def _along(task, x, dim, scale):
    """A transform of rows along any dim; None where no kernel does it."""
    whole = x if dim == x.ndim - 1 else np.moveaxis(x, dim, -1)
    made = fourier.transform(task, x.dtype, whole.shape, -1, scale, task == "wholes", pool.get_num_threads())
    if made is None:
        return None
    out = made(copies.dense(whole))
    return out if whole is x else copies.dense(np.moveaxis(out, -1, dim))


@TABLE.makes(ops.rfft)
def rfft(op: Op):
    """Half of the frequencies of real numbers."""

    def run(x, *, dim, norm):
        found = _along("halves", x, dim, scale_of(norm, x.shape[dim], False))
        return op.ref(x, dim=dim, norm=norm) if found is None else found

    return run


@TABLE.makes(ops.irfft)
def irfft(op: Op):
    """Real numbers of half of their frequencies."""

    def run(x, *, dim, n, norm):
        found = _along("wholes", x, dim, scale_of(norm, n, True)) if n % 2 == 0 and x.shape[dim] == n // 2 + 1 else None
        return op.ref(x, dim=dim, n=n, norm=norm) if found is None else found

    return run
