"""Samples of Bessel's and Airy's functions, orthogonal polynomials and the zeta function."""

import numpy as np

from ingot.ir.ops.math.polynomials import FAMILIES

from . import Sample, samples

EDGES = np.array([0.0, 1.0, np.inf, np.nan])


def _record(name, low, high):
    both = low < 0

    @samples(name)
    def _(rng):
        yield Sample((rng.uniform(low, high, (3, 4)),), tol=100)
        yield Sample((rng.uniform(low, high, (5, 6)).T[::2],), tol=100)
        yield Sample((rng.uniform(3 * low, 3 * high, ()),), tol=100)
        yield Sample((np.zeros((0, 3)),))
        yield Sample((np.concatenate([EDGES, -EDGES]) if both else EDGES,), grad=False, dtypes=("float32", "float64"))


for _name in ("i0", "i0e", "i1", "i1e", "bessel_j0", "bessel_j1", "spherical_bessel_j0"):
    _record(_name, -5.0, 5.0)
for _name in ("bessel_y0", "bessel_y1", "modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0",
              "scaled_modified_bessel_k1"):
    _record(_name, 0.5, 5.0)
_record("airy_ai", -6.0, 3.0)


@samples("polynomial")
def _(rng):
    for family in FAMILIES:
        degrees = np.array([[0.0, 1, 2, 3.7], [5, 8, -1, 12]])
        yield Sample((rng.uniform(-1.5, 1.5, (2, 4)), degrees), {"family": family}, tol=1e4)
    yield Sample((np.zeros((0, 2)), np.zeros((0, 2))), {"family": "legendre_polynomial_p"})


@samples("zeta")
def _(rng):
    yield Sample((rng.uniform(1.2, 8, (3, 4)), rng.uniform(0.2, 12, (3, 4))))
    yield Sample((np.array([2.0, 3, 4]), np.array([-0.5, -1.3, -2.7])))
    yield Sample((np.array([1.0, 0.5, 2, 2.5, 3, np.inf, np.nan]), np.array([2.0, 1, 0, -0.5, np.inf, 2, 1])), grad=False,
                 dtypes=("float32", "float64"))
