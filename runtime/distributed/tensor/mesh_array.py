"""Mesh arrays: a `DeviceArray` of the kind "mesh" that looks like the whole, with one part in each process.

It holds this process's part (NumPy's, or a device's) and the layout. Operators on such arrays, also in gradient rules, run on
the parts (`mesh_backend.py`). So nothing else in the runtime knows that a tensor is sharded.
"""

from typing import Any, NamedTuple

from ....ir.blocks import Block
from ....ir.dim_order import order_of
from ....ir.errors import DeviceError
from ...api.tensor_classes import subclasses
from ...core.device_array import MESH, DeviceArray, address_of, contiguous_strides
from ...core.dispatch import call, route_kernels, run_arrays, shared_out
from ...core.tensor import Tensor, class_for, wrap
from ...state.mode import other_mode, tls
from ..collectives.traceable import done_in_order
from .redistribute import redistributed
from .sharded_layout import REPLICATE, place_in


class Writes:
    """Counter of writes to the memory of some arrays."""

    __slots__ = ("count",)

    def __init__(self):
        self.count = 0


class ViewOrigin(NamedTuple):
    """Origin of a view with another layout: the array, the operator and its parameters."""

    of: DeviceArray
    op: Any
    params: dict


class Parts:
    """Memory of a mesh array: this process's part, and the layout. If a view's part is no part of its base (`origin`), it is
    recomputed after a write to the base; writes to the view go to the base."""

    __slots__ = ("_local", "as_of", "mesh", "origin", "placements", "traced", "writes")

    def __init__(self, local, mesh, placements, origin=None, writes=None):
        self._local, self.mesh, self.placements, self.origin = local, mesh, placements, origin
        self.writes = writes or Writes()
        self.as_of = self.writes.count
        self.traced: Any = None         # tensor over the part, while a function is traced

    @property
    def local(self):
        """Array of this process's part."""
        if self.origin is not None and self.as_of != self.writes.count:
            self.as_of = self.writes.count
            self._local = self.origin.of.backend.run(self.origin.op, (self.origin.of,), self.origin.params).memory.local
        return self._local

    @property
    def device(self):
        """Mesh, which operands must share."""
        return self.mesh

    @property
    def inner(self):
        """Array of this process's part."""
        return self.local

    @property
    def pointer(self) -> int:
        """Address of this process's part."""
        return address_of(self.local)

    @property
    def nbytes(self) -> int:
        """Bytes of this process's part."""
        return self.local.nbytes


def mesh_array(local, shape, mesh, placements, base=None, origin=None, writes=None) -> DeviceArray:
    """Return the mesh array of a shape with this process's part."""
    if mesh.get_coordinate() is not None:
        check_shape(local, place_in(shape, mesh, placements)[0], shape, mesh, placements)
    return over_part(local, shape, Parts(local, mesh, placements, origin, writes), base)


def check_shape(local, want, shape, mesh, placements):
    """Raise unless this process's part has the right shape."""
    if local.shape != want:
        raise DeviceError(f"this process's part of a tensor {list(shape)} with placements {list(placements)} on {mesh} has "
                          f"the shape {want}, got {list(local.shape)}")


def over_part(local, shape, parts, base=None) -> DeviceArray:
    """Return a mesh array over parts that are known to fit."""
    array = DeviceArray(MESH, parts, shape, local.dtype, _strides(local, shape), 0, base)
    if not shared_out:
        shared_out.append(True)
        route_kernels()
        subclasses.ask_class(class_for(array))
    return array


def _strides(local, shape):
    """Return strides of the whole in a part's order of dims; None for row-major."""
    order = order_of(local) if local.ndim == len(shape) else None
    if order is None:
        return None
    steps = contiguous_strides([shape[d] for d in order], local.dtype.itemsize)
    return tuple([steps[order.index(d)] for d in range(len(shape))])


def in_layout(a, placements, **options) -> Any:
    """Return an array in a layout; itself if it has that."""
    m = a.memory
    if m.placements == placements:
        return a
    if is_traced():
        part = _moved(part_of(a), a.shape, m.mesh, m.placements, placements)
        return over_traced(part, a.shape, m.mesh, placements, **options)
    return mesh_array(redistributed(m.local, a.shape, m.mesh, m.placements, placements), a.shape, m.mesh, placements, **options)


def on_mesh(a, mesh) -> DeviceArray:
    """Return a replicated array as one of a mesh."""
    return a if is_on_mesh(a) else mesh_array(a, a.shape, mesh, (REPLICATE,) * mesh.ndim)


def is_on_mesh(a) -> bool:
    """Return whether an array is a mesh array."""
    return a.__class__ is DeviceArray and a.kind == MESH


# In traced functions: operators are recorded on tensors of the parts.


def is_traced() -> bool:
    """Return whether a function is traced that takes parts for the whole."""
    recorder = tls.m.recorder
    return recorder is not None and recorder.takes_parts


def over_traced(part: Tensor, shape, mesh, placements, base=None, origin=None, writes=None) -> DeviceArray:
    """Return the mesh array over a tensor of the trace."""
    array = mesh_array(part._a, shape, mesh, placements, base, origin, writes)
    array.memory.traced = part
    return array


def part_of(a) -> Tensor:
    """Return this process's part as a tensor of the trace."""
    parts, recorder = a.memory, tls.m.recorder
    if parts.traced is None or not recorder.shared.knows(parts.traced):        # type: ignore[union-attr]
        refuse_in_traces()
    if parts.origin is not None and parts.as_of != parts.writes.count:
        refuse_in_traces("it reads a view of a DTensor behind a write to its base, which lies in another layout")
    return parts.traced


def apply(op, local, params):
    """Run an operator on this process's parts: arrays, or tensors in a trace."""
    if not is_traced():
        return run_arrays(op, local, params)
    with on_parts():
        return call(op, local, params)


def on_parts() -> Block:
    """Return a block that runs operators on tensors of parts within the operator of the whole, which alone has a history."""
    return other_mode(grad=False, autocast=None, run=_directly)


def _directly(function, *args, **kwargs):
    return function(*args, **kwargs)


def _moved(part, shape, mesh, source, target) -> Tensor:
    """Return the part in another layout. A trace sends it at every call."""
    def exchange(t):
        return [wrap(redistributed(t._a, shape, mesh, source, target))]

    group = mesh.get_group(0)
    exchange.enters_streams = group.is_on_devices(part._a)      # type: ignore[attr-defined]
    with on_parts():
        return done_in_order(exchange, [part], ("a DTensor", tuple(shape), source, target))[0]


def refuse_in_traces(what="it computes with tensors that are sharded over processes (DTensor) in a way that no trace repeats"):
    """Raise while a function is traced."""
    recorder = tls.m.recorder
    if recorder is not None:
        recorder.refuse(what, "call it without jit.trace, or trace what computes with their local tensors")
