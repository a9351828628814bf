"""Mesh arrays: a `DeviceArray` of the kind "mesh" that looks like the whole, with one part in each process.

It holds this process's part (NumPy's, or a device's) and the layout. Operators on such arrays, also in gradient rules, run on
the parts (`sharded_dispatch.py`). So nothing else in the runtime knows that a tensor is sharded.
"""

from typing import Any, NamedTuple

import numpy as np

from ....ir import dtype as dt
from ....ir.dim_order import order_of
from ....ir.errors import DeviceError, DTypeError
from ....ir.lazy import lazy
from ....ir.ops.core.elementwise import cast
from ....ir.ops.core.shape import select, slice_
from ....ir.ops.index.assign import assign_view
from ...api.tensor_classes import subclasses
from ...core.device_array import BACKENDS, MESH, DeviceArray, address_of, contiguous_strides
from ...core.dispatch import route_kernels, shared_out
from ...core.state import tls
from ...core.tensor import class_for
from .placements import Partial
from .redistribute import beside, moved
from .sharded_layout import REPLICATE, place_in

sharded_dispatch = lazy(__package__, ".sharded_dispatch")
shared_random = lazy(__package__, ".shared_random")


class Writes:
    """Counter of writes to the memory of some arrays."""

    __slots__ = ("count",)

    def __init__(self):
        self.count = 0


class Seen(NamedTuple):
    """Origin of a view with another layout: the array, the operator and its parameters."""

    of: DeviceArray
    op: Any
    params: dict


class Parts:
    """Memory of a mesh array: this process's part, and the layout.

    If a view's part is no part of its base (`seen`), it is recomputed after a write to the base; writes to the view go to the
    base.
    """

    __slots__ = ("_local", "as_of", "mesh", "placements", "seen", "writes")

    def __init__(self, local, mesh, placements, seen=None, writes=None):
        self._local, self.mesh, self.placements, self.seen = local, mesh, placements, seen
        self.writes = writes or Writes()
        self.as_of = self.writes.count

    @property
    def local(self):
        """Array of this process's part."""
        if self.seen is not None and self.as_of != self.writes.count:
            self.as_of = self.writes.count
            self._local = sharded_dispatch.run(self.seen.op, (self.seen.of,), self.seen.params).memory.local
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


def made(local, shape, mesh, placements, base=None, seen=None, writes=None) -> DeviceArray:
    """Return the mesh array of a shape with this process's part."""
    refuse_traces()
    if mesh.get_coordinate() is not None:
        check_shape(local, place_in(shape, mesh, placements)[0], shape, mesh, placements)
    return over_part(local, shape, Parts(local, mesh, placements, seen, writes), base)


def check_shape(local, want, shape, mesh, placements):
    """Raise unless this process's part has the right shape."""
    if local.shape != want:
        raise DeviceError(f"this process's part of a tensor {tuple(shape)} that lies as {list(placements)} on {mesh} has the "
                          f"shape {want}, got {local.shape}")


def over_part(local, shape, parts, base=None) -> DeviceArray:
    """Return a mesh array over parts that are known to fit."""
    found = DeviceArray(MESH, parts, shape, local.dtype, _strides(local, shape), 0, base)
    if not shared_out:
        shared_out.append(True)
        route_kernels()
        subclasses.ask_class(class_for(found))
    return found


def _strides(local, shape):
    """Return strides of the whole in a part's order of dims; None for row-major."""
    order = order_of(local) if local.ndim == len(shape) else None
    if order is None:
        return None
    steps = contiguous_strides([shape[d] for d in order], local.dtype.itemsize)
    return tuple([steps[order.index(d)] for d in range(len(shape))])


def lying_as(a, placements, **options) -> Any:
    """Return an array in a layout; itself if it has that."""
    m = a.memory
    if m.placements == placements:
        return a
    return made(moved(m.local, a.shape, m.mesh, m.placements, placements), a.shape, m.mesh, placements, **options)


def on_mesh(a, mesh) -> DeviceArray:
    """Return a replicated array as one of a mesh."""
    return a if is_on_mesh(a) else made(a, a.shape, mesh, (REPLICATE,) * mesh.ndim)


def is_on_mesh(a) -> bool:
    """Return whether an array is a mesh array."""
    return a.__class__ is DeviceArray and a.kind == MESH


def refuse_traces():
    """Raise while a function is traced."""
    recorder = tls.m.recorder
    if recorder is not None:
        recorder.refuse("it computes with tensors that are shared out over processes (DTensor)",
                        "call it without jit.trace, or trace what computes with their local tensors")


class Backend:
    """Backend of mesh arrays, as the runtime sees it."""

    @staticmethod
    def run(op, arrays, params):
        """Run an operator on the parts."""
        refuse_traces()
        return sharded_dispatch.run(op, arrays, params)

    @staticmethod
    def item(a, key):
        """Return a view by ints and slices for each of the first dims."""
        dim = 0
        for k in key:
            if isinstance(k, slice):
                start, stop, step = k.indices(a.shape[dim])
                a = sharded_dispatch.run(slice_, (a,), {"dim": dim, "start": start, "stop": max(start, stop), "step": step})
                dim += 1
            else:
                if not -a.shape[dim] <= k < a.shape[dim]:
                    raise IndexError(f"index {k} is out of bounds for axis {dim} with size {a.shape[dim]}")
                a = sharded_dispatch.run(select, (a,), {"dim": dim, "index": k % a.shape[dim]})
        return a

    @staticmethod
    def write(dst, src):
        """Write a value into an array, which keeps its layout."""
        refuse_traces()
        m = dst.memory
        if m.mesh.get_coordinate() is None:
            return
        if not is_on_mesh(src):
            given = src if hasattr(src, "shape") else np.asarray(src, dst.dtype)
            src = on_mesh(given if given.__class__ is DeviceArray else beside(given, m.local), m.mesh)
        if src.memory.mesh != m.mesh:
            raise DTypeError(f"a tensor on {src.memory.mesh} is written into one on {m.mesh}")
        if src.shape != dst.shape:
            src = sharded_dispatch.broadcast_to(src, dst.shape)
        if m.seen is not None:
            chain = ((m.seen.op.name, tuple(sorted(m.seen.params.items()))),)
            src = src if src.dtype == dst.dtype else src.astype(dst.dtype)
            Backend.write(m.seen.of, sharded_dispatch.run(assign_view, (m.seen.of, src), {"chain": chain}))
            return
        m.writes.count += 1
        np.copyto(m.local, lying_as(src, m.placements).memory.local, casting="unsafe")

    @staticmethod
    def to_host(a, wait=True):
        """Return all of it in host memory: a collective."""
        refuse_traces()
        m = a.memory
        whole = moved(m.local, a.shape, m.mesh, m.placements, (REPLICATE,) * m.mesh.ndim)
        found = whole.numpy() if whole.__class__ is DeviceArray else whole
        return np.array(found) if found is m.local else found

    @staticmethod
    def to_device(a, index=None, wait=True):
        """Return a replicated host array on the mesh `index`."""
        return on_mesh(a.copy(), index)

    @staticmethod
    def placed(a, place):
        """Return the same array with parts moved by `place`."""
        return made(place(a.memory.local), a.shape, a.memory.mesh, a.memory.placements)

    @staticmethod
    def filled(shape, dtype, value, index=None):
        """Return an array of one number on the mesh `index`, replicated."""
        if index.device_type == "cpu":
            return on_mesh(np.full(shape, value, dtype), index)
        kind = index.device_type
        return on_mesh(BACKENDS[kind].filled(shape, dtype, value, BACKENDS[kind].current()), index)

    @staticmethod
    def filled_beside(a, shape, dtype, value):
        """Return an array of one number with the layout of another one of its shape."""
        m = a.memory
        lies = tuple([REPLICATE if isinstance(p, Partial) or tuple(shape) != a.shape else p for p in m.placements])
        local, at = place_in(shape, m.mesh, lies)[0], m.local
        if at.__class__ is DeviceArray:
            return made(at.backend.filled(local, dtype, value, at.device), shape, m.mesh, lies)
        return made(np.full(local, value, dtype), shape, m.mesh, lies)

    @staticmethod
    def converted(a, dtype):
        """Return the elements in another dtype."""
        return sharded_dispatch.run(cast, (a,), {"dtype": dt.from_numpy(np.dtype(dtype))})

    @staticmethod
    def copied(a):
        """Return the elements in new memory, row by row."""
        return made(a.memory.local.copy(), a.shape, a.memory.mesh, a.memory.placements)

    contiguous = copied

    @staticmethod
    def key(generator, index):
        """Return the next key of the first process's generator, on the device of the parts."""
        key, kind = shared_random.key(generator, index), index.device_type
        return key if kind == "cpu" else BACKENDS[kind].to_device(key, BACKENDS[kind].current())

    @staticmethod
    def gradients(op, goals, args, params):
        """Return nothing: rules run operator by operator."""

    @staticmethod
    def overwrite(op, out, inputs, params):
        """Return False: results need new memory."""
        return False

    @staticmethod
    def fresh(arrays) -> list:
        """Return copies of arrays."""
        return [Backend.copied(a) for a in arrays]

    @staticmethod
    def sweep(rows, numbers):
        """Run fused updates on the parts of arrays; operands take the layout of what is written."""
        sharded_dispatch.sweep(rows, numbers)

    @staticmethod
    def before_export(a, stream):
        """Raise: the memory of a part is not that of the whole."""
        raise DeviceError("a tensor that is shared out over processes has no memory of its own to show; take t.to_local(), or "
                          "t.full_tensor()")


BACKENDS[MESH] = Backend()
