"""Samples of complex numbers, their parts and their transforms."""

import numpy as np

from . import Sample, samples

DOUBLE = ("float64",)
WHOLE = (((1,), False, "backward"), ((0, 2), True, "ortho"), ((2, 1), True, "forward"))


def numbers(rng, *shape):
    return np.array(rng.standard_normal(shape) + 1j * rng.standard_normal(shape))


@samples("conj", "real", "imag", "modulus", "pairs")
def _(rng):
    for shape in ((3, 4), (), (0, 2)):
        yield Sample((numbers(rng, *shape),), dtypes=DOUBLE)
        yield Sample((numbers(rng, *shape).astype(np.complex64),), dtypes=DOUBLE)


@samples("of_pairs")
def _(rng):
    for shape in ((3, 4, 2), (2,), (0, 2, 2)):
        yield Sample((rng.standard_normal(shape),), dtypes=("float32", "float64"))


@samples("complex")
def _(rng):
    for shape in ((3, 4), (), (0, 2)):
        parts = tuple([np.array(rng.standard_normal(shape)) for _ in range(2)])
        yield Sample(parts, dtypes=("float32", "float64"))


@samples("fft")
def _(rng):
    for dim, inverse, norm in WHOLE:
        yield Sample((numbers(rng, 3, 4, 5),), {"dim": dim, "inverse": inverse, "norm": norm}, dtypes=DOUBLE)


@samples("rfft")
def _(rng):
    for shape, dim, norm in (((3, 4), 1, "backward"), ((5, 2), 0, "ortho"), ((1,), 0, "forward"), ((0, 3), 1, "ortho")):
        yield Sample((rng.standard_normal(shape),), {"dim": dim, "norm": norm}, dtypes=("float32", "float64"), tol=10)


@samples("irfft")
def _(rng):
    for shape, dim, n, norm in (((3, 4), 1, 6, "backward"), ((3, 2), 0, 5, "ortho"), ((1,), 0, 1, "forward")):
        yield Sample((numbers(rng, *shape),), {"dim": dim, "n": n, "norm": norm}, dtypes=DOUBLE)
