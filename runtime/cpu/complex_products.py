"""Products of matrices and convolutions of complex numbers in eager mode, by kernels of real ones.

A matrix of complex numbers is, in memory, one of real numbers with twice the columns. Its product with another is a product
of real matrices whose result is complex again, if each row of the other is there twice: as it is, and times i. Of a matrix that
lies column by column each column is there twice. Convolutions are four of the parts.
"""

import numpy as np

from ...ir import blas
from ...ir import dtype as dt
from . import alloc, gemm, kernels

LEAST = 1 << 16         # products of numbers below which numpy's call takes less
FEW = 8                 # rows for which it is not worth while to write the other matrix twice
_ALONE = 1 << 18        # products that one thread of numpy's BLAS has sooner than several
_PARTS = {whole.np: part.np for whole, part in dt.PARTS.items()}


def product(x, y):
    """x @ y over the last two dims of arrays that fit together; leading ones are a batch."""
    count = x.size * y.shape[-1]
    if x.shape[-2] >= FEW and y.shape[-1] > 1 and count >= LEAST:
        return _of_real_ones(x, y)
    return blas.held(np.matmul, count <= _ALONE, x, y)


def _of_real_ones(x, y):
    turned = np.swapaxes(y, -1, -2)
    if turned.flags.c_contiguous:
        twice = np.swapaxes(_rows_twice(turned, "columns_twice", _column_twice), -1, -2)
    else:
        twice = _rows_twice(y, "rows_twice", _row_twice)
    return gemm.matmul(alloc.dense(x).view(_PARTS[x.dtype]), twice).view(x.dtype)


def _rows_twice(y, name, build):
    """Matrices of real numbers with twice the rows and columns: two rows of a function for each."""
    *lead, rows, columns = y.shape
    kind, made = dt.BY_NP[y.dtype], alloc.empty((*lead, rows, 2, columns), y.dtype)
    kernels.elementwise(name, (kind,), (kind,) * 2, build)(y, out=(made[..., 0, :], made[..., 1, :]))
    return made.view(_PARTS[y.dtype]).reshape(*lead, 2 * rows, 2 * columns)


def _row_twice(k, z):
    """What a number is multiplied by for its real part, and for its imaginary one."""
    return z, k.fn.complex(-k.fn.imag(z), k.fn.real(z))


def _column_twice(k, z):
    """What gives the real part of a product, and what the imaginary one."""
    re, im = k.fn.real(z), k.fn.imag(z)
    return k.fn.complex(re, -im), k.fn.complex(im, re)


def by_parts(run):
    """`run`, which multiplies arrays of real numbers, for complex ones."""

    def of_complex(x, y, *others, **params):
        (a, b), (c, d) = ([np.ascontiguousarray(part) for part in (z.real, z.imag)] for z in (x, y))
        pairs = (a, c), (b, d), (a, d), (b, c)
        kind = dt.BY_NP[a.dtype]
        join = kernels.elementwise("of_products", (kind,) * 4, (dt.WHOLES[kind],), _joined)
        return join(*[run(p, q, *others, **params) for p, q in pairs])

    return of_complex


def _joined(k, ac, bd, ad, bc):
    """The number whose parts are those of a product."""
    return k.fn.complex(ac - bd, ad + bc)
