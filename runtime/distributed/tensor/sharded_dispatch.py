"""Operators on arrays of a mesh: how each call is run on the parts that processes have.

For each dim of the mesh the way (`sharding_rules.py`) that moves the fewest bytes is taken, among those that keep something
where it lies. A composite whose best way would move operands runs its body instead, operator by operator. What is known of no
way runs whole.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ....ir.errors import DTypeError
from ....ir.opdef.aval import Aval, broadcast_shapes
from ....ir.opdef.op import Composite, Op
from ....ir.ops.core.multi_tensor import norms
from ....ir.ops.core.shape import expand, reshape
from ...core.device_array import DeviceArray
from ...core.dispatch import run_arrays
from ...core.node import aval_of
from . import grouped_reductions
from . import sharding_rule_table as rule_table
from .mesh_array import Parts, Seen, check_shape, is_on_mesh, lying_as, made, on_mesh, over_part
from .placements import Partial, Replicate, Shard, _StridedShard
from .sharded_layout import place_in, without_terms
from .sharding_rules import Call, Names, names_of, ways

__all__ = ["broadcast_to", "rule_table", "run", "sweep"]


@dataclass(frozen=True)
class Plan:
    """How a kind of call is run: how operands are to lie, how results do, and what runs it on parts. Without `ins`: by its
    body."""

    ins: tuple = ()
    outs: tuple = ()
    avals: tuple = ()
    several: bool = False
    own: Any = None             # parameters that are others for the parts
    shapes: tuple = ()          # of this process's parts of results
    located: Any = None         # (what runs it, first, size)


OWN: dict[Op, Callable] = {norms: grouped_reductions.norms}        # what runs operators of many arrays: (mesh, arrays, params)
_plans: dict = {}
_MOST_PLANS = 16384


def run(op: Op, arrays, params):
    """Return the results of an operator, as arrays of the mesh that its operands are on."""
    mesh = _mesh_of(op, arrays)
    arrays = [on_mesh(a, mesh) if isinstance(a, (np.ndarray, DeviceArray)) else a for a in arrays]
    own = OWN.get(op)
    if own is not None:
        return own(mesh, arrays, params)
    key = (op, mesh, *[(a.shape, a.dtype, a.memory.placements) if is_on_mesh(a) else type(a) for a in arrays], *params.items())
    try:
        plan = _plans.get(key)
    except TypeError:
        key, plan = (), None
    if plan is None:
        plan = _planned(op, arrays, params, mesh)
        if key:
            if len(_plans) >= _MOST_PLANS:
                _plans.clear()
            _plans[key] = plan
    if not plan.ins:
        return op.lower.body(*_of_no_terms(arrays), **params)
    return _viewed(op, arrays[0], params, plan, mesh) if op.is_view else _run(op, arrays, params, plan, mesh)


def _mesh_of(op, arrays):
    meshes = [a.memory.mesh for a in arrays if is_on_mesh(a)]
    for mesh in meshes[1:]:
        if mesh is not meshes[0] and mesh != meshes[0]:
            raise DTypeError(f"{op.name} takes tensors on one mesh, got some on {meshes[0]} and some on {mesh}; bring them "
                             f"there with DTensor.from_local(t.to_local(), mesh, placements)")
    return meshes[0]


def _of_no_terms(arrays) -> list:
    """Return arrays of which nobody has terms."""
    return [lying_as(a, without_terms(a.memory.placements)) if is_on_mesh(a) else a for a in arrays]


# Running.


def _run(op, arrays, params, plan, mesh):
    held = [lying_as(a, p) if p is not None else a for a, p in zip(arrays, plan.ins)]
    local = [a.memory.local if is_on_mesh(a) else a for a in held]
    if mesh.get_coordinate() is None or all(0 in s for s in plan.shapes):
        found = [_zeros(s, aval, local) for s, aval in zip(plan.shapes, plan.avals)]
    else:
        found = _run_on_parts(op, local, {**params, **plan.own} if plan.own else params, plan)
    outs = []
    for a, aval, p, want in zip(found, plan.avals, plan.outs, plan.shapes):
        a = np.asarray(a) if isinstance(a, np.generic) else a
        if a.shape != want:
            check_shape(a, want, aval.shape, mesh, p)
        outs.append(over_part(a, aval.shape, Parts(a, mesh, p)))
    return tuple(outs) if plan.several else outs[0]


def _run_on_parts(op, local, params, plan) -> list:
    """Return the results of an operator on this process's parts."""
    def run_it(arrays, params, empty=False):
        if empty:
            return _zeros(plan.shapes[0], plan.avals[0], local)
        return run_arrays(op, arrays, params)

    if plan.located is not None:
        fn, first, size = plan.located
        found = fn(run_it, local, params, first, size)
    else:
        found = run_arrays(op, local, params)
    return list(found) if plan.several else [found]


def _zeros(shape, aval, local):
    like = next(a for a in local if hasattr(a, "strides"))
    if like.__class__ is DeviceArray:
        return like.backend.filled(shape, aval.dtype.np, 0, like.device)
    return np.zeros(shape, aval.dtype.np)


def _viewed(op, a, params, plan, mesh):
    """Return a view of the part, if that lies where it must, else of a copy, which goes with what it is a view of. (`reshape`
    is none of arrays that it must copy.)"""
    held = lying_as(a, plan.ins[0])
    local = held.memory.local
    own = {**params, **plan.own}
    found = op.ref(local, **own) if local.__class__ is np.ndarray else local.backend.run(op, (local,), own)
    if op is reshape and not (_shares(found, local) if held is a else a.is_contiguous):
        return made(found, plan.avals[0].shape, mesh, plan.outs[0])
    seen = None if held is a and a.memory.seen is None else Seen(a, op, params)
    return made(found, plan.avals[0].shape, mesh, plan.outs[0], a if a.base is None else a.base, seen, a.memory.writes)


def _shares(a, b) -> bool:
    """Return whether two local arrays lie over the same memory."""
    if a.__class__ is DeviceArray:
        return a.memory is b.memory
    return np.may_share_memory(a, b)


# Planning.


def _planned(op, arrays, params, mesh) -> Plan:
    avals = [aval_of(a) if is_on_mesh(a) else a for a in arrays]
    if op.is_elementwise:
        shape = broadcast_shapes(*[a.shape for a in avals if isinstance(a, Aval)])
        found = op.infer(*[Aval(shape, a.dtype) if isinstance(a, Aval) else a for a in avals], **params)
    else:
        found = op.infer(*avals, **params)
    several = not isinstance(found, Aval)
    outs = tuple(found) if several else (found,)
    call = Call(op, tuple([a.shape if isinstance(a, Aval) else None for a in avals]),
                tuple([a.dtype if isinstance(a, Aval) else None for a in avals]),
                tuple([a.memory.placements if is_on_mesh(a) else None for a in arrays]),
                tuple([o.shape for o in outs]), params, mesh)
    same = _all_alike(op, call)
    if same is not None:
        ins = [same if s is not None else None for s in call.shapes]
        return _plan_of(call, outs, several, ins, [same] * len(outs), None, ())
    names = names_of(call)
    chosen = _chosen(call, names, avals)
    if chosen is None:
        return Plan()
    ins, placed = [], []
    for k, shape in enumerate(call.shapes):
        ins.append(None if shape is None else tuple([_placement(w.ins[k]) for w in chosen]))
    for k in range(len(outs)):
        placed.append(tuple([_placement(w.outs[k]) for w in chosen]))
    return _plan_of(call, outs, several, ins, placed, names, chosen)


def _all_alike(op, call):
    """How all operands lie, where a function of elements takes those of one shape that lie alike, in parts: so do results."""
    found = {p for p in call.placements if p is not None}
    if not op.is_pointwise or len(found) != 1 or len({s for s in (*call.shapes, *call.outs) if s is not None}) != 1:
        return None
    same, = found
    return None if any(isinstance(p, Partial) for p in same) else same


def _plan_of(call, outs, several, ins, placed, names, chosen) -> Plan:
    shapes = tuple([place_in(o.shape, call.mesh, p)[0] for o, p in zip(outs, placed)])
    own = {"shape": shapes[0]} if "shape" in call.params else {}
    return Plan(tuple(ins), tuple(placed), outs, several, own, shapes, _located(call, names, chosen, ins, placed))


def _located(call, names, chosen, ins, placed):
    """What runs an operator on a part that begins elsewhere, and where this process's part begins."""
    for way in chosen:
        if names is not None and way.name in names.located:
            for shapes, lies, dims in ((call.shapes, ins, names.ins), (call.outs, placed, names.outs)):
                for shape, placements, own in zip(shapes, lies, dims):
                    if own is not None and way.name in own:
                        size, first = place_in(shape, call.mesh, placements)
                        dim = own.index(way.name)
                        return names.located[way.name], first[dim], size[dim]
    return None


def _placement(code):
    return Replicate() if code is None else Partial(code) if isinstance(code, str) else Shard(code)


def _chosen(call: Call, names: Names | None, avals):
    """Return the way along each dim of the mesh; None if a composite had better run its body."""
    possible = ways(names, call)
    found, far = [], False
    for i in range(call.mesh.ndim):
        way, cost = _best(call, possible, avals, i)
        found.append(way)
        far = far or cost > 0
    if far and type(call.op.lower) is Composite and not call.op.is_pointwise:
        return None
    return found


def _best(call, possible, avals, i):
    """Return the way that moves the fewest bytes along a dim of the mesh, and how many these are."""
    now = [None if p is None else p[i] for p in call.placements]
    best, least = possible[0], None
    for way in possible:
        if way is not possible[0] and not any(_code(p) is not None and _code(p) == c for p, c in zip(now, way.ins)):
            continue
        cost = sum([_bytes_moved(p, c, a, call.mesh.shape[i]) for p, c, a in zip(now, way.ins, avals) if p is not None])
        if least is None or cost < least:
            best, least = way, cost
    return best, least


def _code(p):
    """Return a placement as ways say it; strided parts are none of theirs."""
    if isinstance(p, Partial):
        return p.reduce_op
    return p.dim if isinstance(p, Shard) and not isinstance(p, _StridedShard) else None


def _bytes_moved(now, code, aval, parts) -> float:
    """About how many bytes a process sends, or receives, to have an operand lie another way; never none for what would, so that
    tensors lie the same way on a mesh of one process."""
    if (_code(now) == code and not isinstance(now, _StridedShard)) or isinstance(now, Replicate):
        return 0
    whole = (prod(aval.shape) * aval.dtype.itemsize + 1) * max(parts - 1, 0.5) / parts
    if isinstance(now, Partial):
        return whole if isinstance(code, int) else 2 * whole
    return whole / parts if isinstance(code, int) else whole


# What else the runtime asks.


def broadcast_to(a, shape):
    """Return an array laid out over a shape."""
    return run(expand, (run(reshape, (a,), {"shape": (1,) * (len(shape) - a.ndim) + a.shape}),), {"shape": tuple(shape)})


def sweep(rows, numbers):
    """Replace parts of arrays, in one sweep over each row: operands are brought to lie as what is written."""
    numbers = [n.item() if hasattr(n, "item") and hasattr(n, "shape") else n for n in numbers]
    far: list = []
    apart: list = []            # (what is written, what was computed in its place)
    for kernel, outs, arrays in rows:
        lies = without_terms(outs[0].memory.placements)
        held = [lying_as(o, lies) for o in outs]
        for o in outs:
            o.memory.writes.count += 1
        apart += [(o, h) for o, h in zip(outs, held) if h is not o]
        parts = [lying_as(on_mesh(a, outs[0].memory.mesh), lies).memory.local for a in arrays]
        own = tuple([h.memory.local for h in held])
        if own[0].__class__ is DeviceArray:
            far.append((kernel, own, parts))
        elif own[0].size:
            kernel.sweep(own, parts, tuple([np.asarray(n, own[0].dtype) for n in numbers]))
    if far:
        far[0][1][0].backend.sweep(far, numbers)


    for out, computed in apart:
        out.backend.write(out, computed)
