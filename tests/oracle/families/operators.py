"""Rows of every operator of ingot, against formulas in PyTorch (`oracle/formulas`)."""

import numpy as np

from .. import formulas
from ..row import Leaf, Row
from . import rounded


def rows(torch, rng):
    """Yield the rows, operator by operator."""
    formulas.load()
    for name in sorted(formulas.CASES):
        for label, args, kwargs, fields in formulas.gathered(formulas.CASES[name](name, formulas.generator(name))):
            yield Row(f"{name}/{label}", "operator", name, args, kwargs, **fields)
        if name == "scatter_reduce":
            yield from by_method()
    yield from programs()


def by_method():
    """Yield rows of the function that the operator is behind: with and without what was there before."""
    index = np.array([[0, 0, 2], [0, 3, 2], [3, 3, 2]])
    x = np.array([[1.0, 3.0, 0.5], [1.0, 2.0, 3.0], [0.25, 4.0, 2.0], [2.0, 2.0, 1.5]])
    ties = np.array([[1.0, 2.0, 2.0], [1.0, 2.0, -1.0], [2.0, 2.0, 0.5]])
    one, several = np.array([[0.0, 2.0, 3.0], [4.0, 5.0, 0.0], [0.0, 1.5, 2.0]]), np.array([[0.0, 0.0, 3.0], [0.0, 0.0, 0.0],
                                                                                            [2.0, 0.0, 0.0]])
    for include_self in (True, False):
        for label, reduce, src in (("ties", "amax", ties), ("ties", "amin", ties), ("one zero", "prod", one),
                                   ("several zeros", "prod", several),
                                   ("sum", "sum", ties), ("mean", "mean", ties)):
            target = x if include_self else x + 0.125         # what is left out equals no source
            yield Row(f"scatter_reduce/function {reduce} {label} {include_self}", "function", "scatter_reduce",
                      (Leaf(target.copy()), 0, index.copy(), Leaf(src.copy()), reduce), {"include_self": include_self})
    yield Row("scatter_reduce/function amax ties with what is left out", "function", "scatter_reduce",
              (Leaf(x.copy()), 0, index.copy(), Leaf(ties.copy()), "amax"), {"include_self": False})


TRAINING = ("conv_blocked", "pack_filters", "conv_input_grad_blocked", "pack_turned", "conv_weight_grad_blocked",
            "batch_norm_train_blocked",
            "batch_norm_grad_blocked", "max_pool_places_blocked", "max_pool_grad_blocked", "avg_pool_blocked",
            "avg_pool_grad_blocked", "from_blocked")


def programs():
    """Yield programs in which passes make operators that nobody calls."""
    rng = formulas.generator("programs")
    yield Row("programs/training step", "program", "training step",
              tuple([Leaf(a) if a.size != 16 or i > 2 else a for i, a in enumerate(
        rounded(rng, *shape) for shape in ((2, 3, 8, 6), (16, 3, 3, 3), (16,), (16,), (16,), (16, 16, 3, 3)))]),
              options={"holds": TRAINING})
    yield Row("programs/inference", "program", "inference", tuple([rounded(rng, *shape) for shape in (
        (2, 3, 13, 12), (16, 3, 3, 3), (16,), (16, 1, 3, 3), (32, 16, 1, 1))]),
              options={"holds": ("conv_chain_blocked", "max_pool_blocked")})
    yield Row("programs/recurrent layer", "program", "recurrent layer",
              tuple([rounded(rng, *shape, low=-0.5, high=0.5) for shape in (
        (40, 5, 3), (1, 5, 8), (1, 5, 8), (32, 3), (32, 8))]), options={"holds": ("pack_recurrent", "recurrent_packed")})
