"""Random operators, as far as the draw does not matter: probabilities 0 and 1, intervals of one number, rates of 0."""

import numpy as np
import torch

from ..row import Leaf, Name
from . import case, cases, formula

formula("bernoulli_mask")(lambda key, *, shape, p: torch.full(shape, bool(p)))
formula("mask_below")(lambda words, *, shape: torch.full(shape, bool(words[2].item())))
formula("randint")(lambda key, *, shape, low, high, dtype: torch.full(shape, low, dtype=dtype))
formula("poisson")(lambda key, rate: torch.poisson(rate))
formula("binomial")(lambda key, count, prob: torch.binomial(count, prob))


def a_key(rng):
    return rng.integers(0, 1 << 40, 2).astype(np.uint64)


@cases("bernoulli_mask")
def masks(name, rng):
    yield case("never", a_key(rng), shape=(4, 5), p=0.0)
    yield case("always", a_key(rng), shape=(7,), p=1.0)


@cases("mask_below")
def below(name, rng):
    for label, bound, shape in (("never", 0, (4, 5)), ("always", 1 << 32, (3,))):
        yield case(label, np.array([*a_key(rng), bound, 0], np.uint64), shape=shape)


@cases("randint")
def integers(name, rng):
    for low, dtype, shape in ((3, "int64", (2, 5)), (-7, "int8", (4,)), (5, "float32", (3, 1))):
        yield case(f"{low} {dtype}", a_key(rng), shape=shape, low=low, high=low + 1, dtype=Name(dtype))


@cases("poisson")
def poisson(name, rng):
    yield case("matrix", a_key(rng), Leaf(np.zeros((2, 3))))
    yield case("float32", a_key(rng), np.zeros(5, np.float32))


@cases("binomial")
def binomial(name, rng):
    yield case("ends", a_key(rng), np.array([5.0, 6.0, 0.0, 40.0]), np.array([0.0, 1.0, 0.5, 1.0]))
    yield case("float32", a_key(rng), np.array([[3.0, 0.0], [9.0, 1.0]], np.float32),
               np.array([[1.0, 0.25], [0.0, 1.0]], np.float32))
