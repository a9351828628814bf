"""The meta device: tensors with a shape, a dtype and strides, but no elements.

Operators on them infer results and take no memory: for modules whose parameters come later, and to infer shapes.
"""

from math import prod

import numpy as np

from ...ir import dtype as dt
from ...ir.errors import DeviceError, ShapeError
from ...ir.opdef.aval import Aval, broadcast_shapes
from .device_array import DeviceArray
from .node import aval_of, is_inexact

KIND = "meta"
PASSES, hoists_weights = (), False          # there are no compiled graphs


class NoElementsError(DeviceError, NotImplementedError):
    """An error: the elements of a tensor on the meta device were read."""


class Memory:
    """Memory of a meta tensor: no bytes, but one object for all views of it."""

    __slots__ = ("nbytes",)
    device = None
    pointer = 0

    def __init__(self, nbytes):
        self.nbytes = nbytes


def run(op, arrays, params):
    """Infer the result of an operator."""
    if op.is_view:
        return arrays[0].viewed(op, params)
    on_host = [a for a in arrays if isinstance(a, np.ndarray) and a.ndim and (op.is_elementwise or is_inexact(a))]
    if on_host:         # on other devices, indices may be host arrays
        raise DeviceError(f"{op.name} takes tensors on one device, got one on meta and one of shape {list(on_host[0].shape)} "
                          "on cpu")
    avals = [aval_of(a) if hasattr(a, "strides") else a for a in arrays]
    found = op.infer(*(_broadcast(avals) if op.is_elementwise else avals), **params)
    return _like(found) if isinstance(found, Aval) else tuple([_like(a) for a in found])


def _broadcast(avals) -> list:
    """Return avals of one shape, as elementwise operators take them in graphs."""
    shape = broadcast_shapes(*[a.shape for a in avals if isinstance(a, Aval)])
    return [Aval(shape, a.dtype) if isinstance(a, Aval) else a for a in avals]


def before_export(a, stream):
    """Do nothing: there is nothing to wait for."""


def to_host(a, wait=True):
    """Raise: there is nothing to copy."""
    raise NoElementsError(f"a tensor of shape {list(a.shape)} on the meta device has no elements to read or copy; to move a "
                          "module from there use to_empty(), or load_state_dict(..., assign=True)")


def to_device(a, index=None, wait=True):
    """Return a meta array like one of the host."""
    if not isinstance(a, np.ndarray):
        raise DeviceError(f"{a!r} cannot be put on meta; make an empty tensor there")
    lies_open = a.size == 0 or 0 not in a.strides
    return DeviceArray(KIND, Memory(a.nbytes), a.shape, a.dtype, a.strides if lies_open else None)


def filled(shape, dtype, value, index=None):
    """Return a new array; values do not matter."""
    return empty_array(shape, dtype)


def converted(a, dtype):
    """Return an array of another dtype."""
    return empty_array(a.shape, dtype)


def copied(a):
    """Return a row-major array."""
    return empty_array(a.shape, a.dtype)


contiguous = copied


def write(dst, src):
    """Check that a value would fit."""
    shape = getattr(src, "shape", ())
    if broadcast_shapes(shape, dst.shape) != dst.shape:
        raise ShapeError(f"a value of shape {list(shape)} does not fit into a tensor of shape {list(dst.shape)}")


def key(generator, index):
    """Draw no keys: they are moved like any tensor."""


def gradients(op, goals, args, params):
    """Compile no rules: nothing is computed."""


def overwrite(op, out, inputs, params):
    """Write nothing in place: results are checked elsewhere."""
    return False


def sweep(rows, numbers):
    """Write nothing in place of an optimizer's update."""


def fresh(arrays) -> list:
    """Return new arrays like others."""
    return [empty_array(a.shape, a.dtype) for a in arrays]


def traced(*_):
    """Raise: there is nothing to compile for."""
    raise NoElementsError("a function of tensors on the meta device is not compiled; call it without jit.trace")


sized = traced


def empty_array(shape, dtype) -> DeviceArray:
    """Return a row-major array without elements."""
    dtype = np.dtype(dtype)
    return DeviceArray(KIND, Memory(prod(shape) * dtype.itemsize), shape, dtype)


def _like(aval) -> DeviceArray:
    return empty_array(aval.shape, dt.as_dtype(aval.dtype).np)
