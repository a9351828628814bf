"""Rows of every operator of ingot, against formulas in PyTorch (`oracle/formulas`)."""

from .. import formulas
from ..row import Row


def rows(torch, rng):
    """Yield the rows, operator by operator."""
    formulas.load()
    for name in sorted(formulas.CASES):
        for label, args, kwargs, fields in formulas.CASES[name](name, formulas.generator(name)):
            yield Row(f"{name}/{label}", "operator", name, args, kwargs, **fields)
