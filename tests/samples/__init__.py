"""Sample inputs: one generator per operator record, the rows of the tables that the tests run over."""

from dataclasses import dataclass, field

import numpy as np

SAMPLES: dict[str, object] = {}


@dataclass
class Sample:
    """Arguments of one call: float arrays are cast to the dtype under test, other arrays stay as they are.

    grad      whether gradients are checked on this sample (False near kinks or for values outside of the domain)
    order2    whether the second derivative is checked as well
    dtypes    "float" (all floating types), "any", "int" or an explicit tuple of dtype names
    """

    args: tuple
    params: dict = field(default_factory=dict)
    grad: bool = True
    order2: bool = True
    dtypes: object = "float"
    tol: float = 1.0     # multiplies the tolerance of low-precision comparisons


def samples(*names):
    """Marks the sample generator of one or several operators: a function of a numpy Generator."""

    def mark(fn):
        for name in names:
            assert name not in SAMPLES, f"operator {name} has two sample generators"
            SAMPLES[name] = fn
        return fn

    return mark


def rows(name: str, seed: int = 0) -> list:
    """All samples of one operator."""
    rng = np.random.default_rng([seed, *name.encode()])
    return list(SAMPLES[name](rng))
