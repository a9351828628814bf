"""Options of parameter groups as the numbers that updates compute with."""

import numpy as np

from ...ir import dtype as dt
from ..core.tensor import Tensor
from ..nn.base.parameter import Parameter

NUMPY_FLOATS = frozenset((np.float64, np.float32, np.float16))
_TO_CONVERT = NUMPY_FLOATS | {Tensor, Parameter}


def with_numbers(group):
    """A group as updates compute with it. Floats of numpy's, which schedules of the user's make, are Python's. Tensors of one
    number are of float64, as Python's numbers: steps are counted by Python or in a graph, and what follows from both must be
    rounded once, where it meets the parameter."""
    if _TO_CONVERT.isdisjoint(map(type, _options(group))):
        return group
    return {name: value if name == "params" else _number(value) for name, value in group.items()}


def _options(group):
    return *group.values(), *group.get("betas", ())


def has_tensors(group) -> bool:
    """Whether an option is a tensor."""
    return any(isinstance(value, Tensor) for value in _options(group))


def _number(value):
    if type(value) is tuple:
        return tuple([_number(v) for v in value])
    if isinstance(value, Tensor) and not value.ndim and value.dtype.is_floating_point:
        return value.to(dt.float64)
    return float(value) if type(value) in NUMPY_FLOATS else value
