"""Parameters, and other lists of tensors, as one vector."""

from ....ir.errors import ShapeError
from ...api.register.register import FUNCTIONS


def parameters_to_vector(parameters):
    """Return all parameters, flattened and concatenated."""
    return FUNCTIONS["cat"]([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec, parameters):
    """Set the data of parameters to the parts of a vector."""
    start, parameters = 0, list(parameters)
    total = sum(p._a.size for p in parameters)
    if vec.ndim != 1 or vec.shape[0] < total:
        raise ShapeError(f"vector_to_parameters needs a vector of {total} elements, got {vec.aval}")
    for p in parameters:
        stop = start + p._a.size
        p.data = vec[start:stop].reshape(p.shape).data
        start = stop
