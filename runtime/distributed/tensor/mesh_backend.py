"""Backend of mesh arrays: the functions of `DeviceBackend` (core/backend.py), run on the parts of the processes."""

import sys
from typing import Any

import numpy as np

from ....ir import dtype as dt
from ....ir.errors import DeviceError, DTypeError
from ....ir.ops.core.elementwise import cast
from ....ir.ops.core.shape import select, slice_
from ....ir.ops.index.assign import assign_view, run_chain
from ...core.device_array import BACKENDS, MESH, DeviceArray
from ...core.tensor import wrap
from ...state.mode import tls
from . import sharded_dispatch, shared_random
from .mesh_array import (
    Parts,
    in_layout,
    is_on_mesh,
    mesh_array,
    on_mesh,
    on_parts,
    over_part,
    over_traced,
    refuse_in_traces,
)
from .placements import Partial
from .redistribute import on_device_of, redistributed
from .sharded_layout import REPLICATE, place_in


def run(op, arrays, params):
    """Run an operator on the parts."""
    return sharded_dispatch.run(op, arrays, params)


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


def write(dst, src):
    """Write a value into an array, which keeps its layout."""
    mode = tls.m
    recorder, mode.recorder = mode.recorder, None       # (which hears of the write of the tensor)
    mode.refresh()
    try:
        _write(dst, src)
    finally:
        mode.recorder = recorder
        mode.refresh()


def _write(dst, src):
    m = dst.memory
    if m.mesh.get_coordinate() is None:
        return
    if not is_on_mesh(src):
        source = src if hasattr(src, "shape") else np.asarray(src, dst.dtype)
        src = on_mesh(source if source.__class__ is DeviceArray else on_device_of(source, m.local), m.mesh)
    if src.memory.mesh != m.mesh:
        raise DTypeError(f"a tensor on {src.memory.mesh} is written into one on {m.mesh}")
    if src.shape != dst.shape:
        src = sharded_dispatch.broadcast_to(src, dst.shape)
    if m.origin is not None:
        chain = ((m.origin.op.name, tuple(sorted(m.origin.params.items()))),)
        src = src if src.dtype == dst.dtype else src.astype(dst.dtype)
        _write(m.origin.of, sharded_dispatch.run(assign_view, (m.origin.of, src), {"chain": chain}))
        return
    m.writes.count += 1
    np.copyto(m.local, in_layout(src, m.placements).memory.local, casting="unsafe")


def to_host(a, wait=True):
    """Return all of it in host memory: a collective."""
    refuse_in_traces("it reads the values of a DTensor")
    m = a.memory
    whole = redistributed(m.local, a.shape, m.mesh, m.placements, (REPLICATE,) * m.mesh.ndim)
    result = whole.numpy() if whole.__class__ is DeviceArray else whole
    return np.array(result) if result is m.local else result


def to_device(a, index=None, wait=True):
    """Return a replicated host array on the mesh `index`."""
    return on_mesh(a.copy(), index)


def map_parts(a, function):
    """Return the same array with each part replaced by a function of it."""
    return mesh_array(function(a.memory.local), a.shape, a.memory.mesh, a.memory.placements)


def filled(shape, dtype, value, index=None):
    """Return an array of one number on the mesh `index`, replicated."""
    if index.device_type == "cpu":
        return on_mesh(np.full(shape, value, dtype), index)
    kind = index.device_type
    return on_mesh(BACKENDS[kind].filled(shape, dtype, value, BACKENDS[kind].current()), index)


def filled_like(a, shape, dtype, value):
    """Return an array of one number with the layout of another one of its shape."""
    m = a.memory
    placements = tuple([REPLICATE if isinstance(p, Partial) or tuple(shape) != a.shape else p for p in m.placements])
    local, at = place_in(shape, m.mesh, placements)[0], m.local
    if at.__class__ is DeviceArray:
        return mesh_array(at.backend.filled(local, dtype, value, at.device), shape, m.mesh, placements)
    return mesh_array(np.full(local, value, dtype), shape, m.mesh, placements)


def converted(a, dtype):
    """Return the elements in another dtype."""
    return sharded_dispatch.run(cast, (a,), {"dtype": dt.from_numpy(np.dtype(dtype))})


def copied(a):
    """Return the elements in new memory, row by row."""
    return mesh_array(a.memory.local.copy(), a.shape, a.memory.mesh, a.memory.placements)


contiguous = copied


def key(generator, index):
    """Return the next key of the first process's generator, on the device of the parts."""
    key, kind = shared_random.key(generator, index), index.device_type
    return key if kind == "cpu" else BACKENDS[kind].to_device(key, BACKENDS[kind].current())


def gradients(op, goals, args, params):
    """Return nothing: rules run operator by operator."""


def overwrite(op, out, inputs, params):
    """Return False: results need new memory."""
    return False


def fresh(arrays) -> list:
    """Return copies of arrays."""
    return [copied(a) for a in arrays]


def sweep(rows, numbers):
    """Run fused updates on the parts of arrays; operands take the layout of what is written."""
    refuse_in_traces()
    sharded_dispatch.sweep(rows, numbers)


def before_export(a, stream):
    """Raise: the memory of a part is not that of the whole."""
    raise DeviceError("a tensor that is sharded over processes has no memory of its own to show; take t.to_local(), or "
                      "t.full_tensor()")


def laid_like(src, dst):
    """Return what a trace writes into a tensor in that one's layout."""
    if src._a.__class__ is not DeviceArray or src._a.kind != MESH:
        if src._a.size == 1:
            return src
        recorder: Any = tls.m.recorder
        src = recorder.shared.beside(src, dst)
    src = src if src._a.shape == dst._a.shape else src.expand(dst._a.shape)
    return src if src.placements == dst.placements else src.redistribute(placements=dst.placements)


def beside(t, a):
    """Return the array of a tensor of the trace that each process of an array's mesh has."""
    mesh = a.memory.mesh
    return over_traced(t, t._a.shape, mesh, (REPLICATE,) * mesh.ndim)


def traced_part(a):
    """Return the tensor of this process's part that a recorder knows; None if no recorder knew it."""
    return a.memory.traced


def trace_part(a, part):
    """Note the tensor of this process's part."""
    a.memory.traced = part


def over_traced_part(a, part):
    """Return an array like another one over a tensor of the trace."""
    made = over_part(part._a, a.shape, Parts(part._a, a.memory.mesh, a.memory.placements))
    made.memory.traced = part
    return made


def local_of(a):
    """Return the array of this process's part."""
    return a.memory.local


def layout_of(a) -> tuple:
    """Return what must be the same for parts to be parts of the same whole."""
    return a.shape, a.memory.mesh, a.memory.placements


def is_own_part(a) -> bool:
    """Return whether the part lies in that of the array's base, if it is a view."""
    return a.memory.origin is None


def viewed(t, chain):
    """Return the view of a tensor of the trace that a chain of view operators gives, without history."""
    with on_parts():
        return run_chain(t, chain)


def written_part(a):
    """Count a write to this process's part in a trace."""
    if a.memory.origin is not None:
        refuse_in_traces("it writes to a view of a DTensor that lies in another layout")
    count_write(a)


def count_write(a):
    """Count a write to the memory of this process's part, for views that had to be sent."""
    a.memory.writes.count += 1


def whole_of(part, layout):
    """Return the tensor with a part."""
    shape, mesh, placements = layout
    return wrap(mesh_array(part._a, shape, mesh, placements))


BACKENDS[MESH] = sys.modules[__name__]
