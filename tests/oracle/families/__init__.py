"""Families of rows: each module here yields the rows of one file in `expected/`.

A module has `rows(torch, rng)`, a generator of `Row`s, called by `tools/write_oracle.py` only; `rng` is a seeded Generator of
numpy. Inputs are small and rounded to few bits (`rounded`), so that files compress. Give each target at least two rows, which
differ in every parameter.
"""

import numpy as np


def rounded(rng: np.random.Generator, *shape, low=-2.0, high=2.0, dtype="float64") -> np.ndarray:
    """Return uniform numbers, multiples of 1/64."""
    return np.asarray(np.round(rng.uniform(low, high, shape) * 64) / 64).astype(dtype)


def distinct(rng: np.random.Generator, *shape, step=0.125, dtype="float64") -> np.ndarray:
    """Return different numbers around zero, in random order: no ties."""
    count = int(np.prod(shape))
    return ((rng.permutation(count) - count // 2 + 0.25) * step).reshape(shape).astype(dtype)
