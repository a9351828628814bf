"""Sample inputs: one generator per operator record, the rows of the tables that the tests run over."""

from dataclasses import dataclass, field

import numpy as np

from ingot.ir import dtype as dt
from ingot.ir.opdef.op import OPS

SAMPLES: dict[str, object] = {}


@dataclass
class Sample:
    """Arguments of one call: float arrays are cast to the dtype under test (`cast`), other arrays stay as they are.

    grad      whether gradients are checked on this sample (False near kinks or for values outside of the domain)
    order2    whether the second derivative is checked as well
    dtypes    "float" (all floating types), "any", "int" or an explicit tuple of dtype names
    wide      positions of floats that are float32 beside others of 16 bits
    """

    args: tuple
    params: dict = field(default_factory=dict)
    grad: bool = True
    order2: bool = True
    dtypes: object = "float"
    tol: float = 1.0     # multiplies the tolerance of low-precision comparisons
    wide: tuple = ()

    def cast(self, kind) -> list:
        """The arguments, with float arrays in a dtype."""
        kinds = [dt.accumulator(kind) if i in self.wide else kind for i in range(len(self.args))]
        return [a.astype(k.np) if isinstance(a, np.ndarray) and a.dtype == np.float64 else a for a, k in zip(self.args, kinds)]


def samples(*names):
    """Marks the sample generator of one or several operators: a function of a numpy Generator."""

    def mark(fn):
        for name in names:
            assert name not in SAMPLES, f"operator {name} has two sample generators"
            SAMPLES[name] = fn
        return fn

    return mark


def direction(name, shape, rng, position=0):
    """A random direction along which the gradient of an operator is its slope: for symmetric or triangular arguments, one that
    leaves them so."""
    d = rng.standard_normal(shape)
    if "triangular_factor" in OPS[name].traits and position == 0:
        return np.tril(d)
    return d + np.swapaxes(d, -1, -2) if "one_triangle" in OPS[name].traits else d


def rows(name: str, seed: int = 0) -> list:
    """All samples of one operator."""
    rng = np.random.default_rng([seed, *name.encode()])
    return list(SAMPLES[name](rng))
