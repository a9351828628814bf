"""Products and convolutions of complex numbers, by kernels of real ones.

A matrix of complex numbers is, in memory, one of real numbers with twice the columns. Its product with another is a product of
real matrices whose result is complex again, if each row of the other is there twice: plain, and times i. Convolutions are four
of the parts.
"""

import numpy as np

from ....ir import blas_threads
from ....ir import dtype as dt
from ..loops import kernels
from ..memory import alloc
from . import gemm

LEAST = 1 << 16         # products of numbers below which NumPy is faster
FEW = 8                 # rows up to which writing the other matrix twice does not pay
_ALONE = 1 << 18        # products that one thread of NumPy's BLAS computes faster than several


def product(x, y):
    """Return x @ y over the last two dims of arrays that fit together; leading ones are a batch."""
    count = x.size * y.shape[-1]
    if x.shape[-2] >= FEW and y.shape[-1] > 1 and count >= LEAST:
        return _of_real_ones(x, y)
    return blas_threads.held(np.matmul, count <= _ALONE, x, y)


def _of_real_ones(x, y):
    """Multiply both in C order, so that sums are made in one order."""
    part, (*lead, rows, columns) = dt.NP_PARTS[x.dtype], y.shape
    kind, twice = dt.BY_NP[y.dtype], alloc.empty((*lead, rows, 2, columns), y.dtype)
    rows_twice = kernels.elementwise("rows_twice", (kind,), (kind,) * 2, _twice)
    rows_twice(alloc.dense(y), out=(twice[..., 0, :], twice[..., 1, :]))
    found = gemm.matmul(alloc.dense(x).view(part), twice.view(part).reshape(*lead, 2 * rows, 2 * columns))
    return found.view(x.dtype)


def _twice(k, z):
    """Return a number's factors for the real part and for the imaginary one."""
    return z, k.fn.complex(-k.fn.imag(z), k.fn.real(z))


def by_parts(run):
    """Return a product `run` of real arrays for complex ones."""

    def of_complex(x, y, *others, **params):
        kind = dt.BY_NP[x.dtype]
        part = dt.PARTS[kind]
        (a, b), (c, d) = ([kernels.function(name, kind)(z) for name in ("real", "imag")] for z in (x, y))
        pairs = (a, c), (b, d), (a, d), (b, c)
        join = kernels.elementwise("of_products", (part,) * 4, (kind,), _joined)
        return join(*[run(p, q, *others, **params) for p, q in pairs])

    return of_complex


def _joined(k, ac, bd, ad, bc):
    return k.fn.complex(ac - bd, ad + bc)
