"""Dispatch on mesh arrays: each call runs on the parts of the processes.

For each mesh dim the way (`sharding_rules.py`) that moves the fewest bytes is chosen, among those that keep some split. A
composite whose best way would move operands runs its body operator by operator. Operators without a way run on whole operands.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ....ir.errors import DTypeError
from ....ir.opdef.aval import Aval, broadcast_shapes
from ....ir.opdef.op import Composite, Op
from ....ir.ops.core.moments import norms
from ....ir.ops.core.shape import expand, reshape
from ...api.register.register import FUNCTIONS
from ...core.device_array import DeviceArray, may_share_memory
from ...core.node import aval_of
from ...core.tensor import Tensor
from . import grouped_reductions
from . import sharding_rule_table as rule_table
from .mesh_array import (
    Parts,
    ViewOrigin,
    apply,
    check_shape,
    in_layout,
    is_on_mesh,
    is_traced,
    mesh_array,
    on_mesh,
    on_parts,
    over_part,
    over_traced,
    part_of,
    refuse_in_traces,
)
from .placements import Partial, Replicate, Shard, _StridedShard
from .sharded_layout import place_in, without_terms
from .sharding_rules import Call, Names, names_of, ways

__all__ = ["broadcast_to", "rule_table", "run", "sweep"]


@dataclass(frozen=True)
class Plan:
    """Plan of a kind of call: layouts of operands and results, and what runs on parts. Without `ins` its body runs."""

    ins: tuple = ()
    outs: tuple = ()
    avals: tuple = ()
    several: bool = False
    own: Any = None             # parameters that differ for the parts
    shapes: tuple = ()          # of this process's parts of results
    located: Any = None         # (function that runs it, first, size)


OWN: dict[Op, Callable] = {norms: grouped_reductions.norms}  # functions for operators of many arrays: (mesh, arrays, params)
_plans: dict = {}
_MOST_PLANS = 16384


def run(op: Op, arrays, params):
    """Return the results of an operator, as arrays of its operands' mesh."""
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
        whole = [in_layout(a, without_terms(a.memory.placements)) if is_on_mesh(a) else a for a in arrays]
        return op.lower.body(*whole, **params)
    return _viewed(op, arrays[0], params, plan, mesh) if op.is_view else _run(op, arrays, params, plan, mesh)


def _mesh_of(op, arrays):
    meshes = [a.memory.mesh for a in arrays if is_on_mesh(a)]
    for mesh in meshes[1:]:
        if mesh is not meshes[0] and mesh != meshes[0]:
            raise DTypeError(f"{op.name} takes tensors on one mesh, got some on {meshes[0]} and some on {mesh}; bring them "
                             f"there with DTensor.from_local(t.to_local(), mesh, placements)")
    return meshes[0]


# Running.


def _run(op, arrays, params, plan, mesh):
    operands = [in_layout(a, p) if p is not None else a for a, p in zip(arrays, plan.ins)]
    if is_traced():
        return _recorded(op, [part_of(a) if is_on_mesh(a) else a for a in operands], params, plan, mesh)
    local = [a.memory.local if is_on_mesh(a) else a for a in operands]
    results = _results_on_parts(op, local, params, plan, mesh.get_coordinate() is None)
    outs = []
    for a, aval, p, want in zip(results, plan.avals, plan.outs, plan.shapes):
        a = np.asarray(a) if isinstance(a, np.generic) else a
        if a.shape != want:
            check_shape(a, want, aval.shape, mesh, p)
        outs.append(over_part(a, aval.shape, Parts(a, mesh, p)))
    return tuple(outs) if plan.several else outs[0]


def _recorded(op, local, params, plan, mesh):
    """Return the results of an operator on tensors of the parts, in a trace."""
    if mesh.get_coordinate() is None:
        refuse_in_traces(f"it runs {op.name} on a DTensor of which this process has no part")
    results = _results_on_parts(op, local, params, plan)
    outs = []
    for t, aval, p, want in zip(results, plan.avals, plan.outs, plan.shapes):
        check_shape(t._a, want, aval.shape, mesh, p)
        outs.append(over_traced(t, aval.shape, mesh, p))
    return tuple(outs) if plan.several else outs[0]


def _results_on_parts(op, local, params, plan, has_no_part=False) -> list:
    """Return the results of an operator on this process's parts."""
    def run_it(arrays, params, empty=False):
        return _zeros(plan.shapes[0], plan.avals[0], local) if empty else apply(op, arrays, params)

    if has_no_part or all(0 in s for s in plan.shapes):
        return [_zeros(s, aval, local) for s, aval in zip(plan.shapes, plan.avals)]
    params = {**params, **plan.own} if plan.own else params
    if plan.located is not None:
        fn, first, size = plan.located
        results = fn(run_it, local, params, first, size)
    else:
        results = apply(op, local, params)
    return list(results) if plan.several else [results]


def _zeros(shape, aval, local):
    like = next(a for a in local if isinstance(a, Tensor) or hasattr(a, "strides"))
    if isinstance(like, Tensor):
        with on_parts():
            return FUNCTIONS["zeros"](shape, dtype=aval.dtype, device=like.device)
    if like.__class__ is DeviceArray:
        return like.backend.filled(shape, aval.dtype.np, 0, like.device)
    return np.zeros(shape, aval.dtype.np)


def _viewed(op, a, params, plan, mesh):
    """Return a view of the part if its layout allows, else of a copy, which follows its base. Views never copy by
    `reshape`."""
    source = in_layout(a, plan.ins[0])
    own = {**params, **plan.own}
    if is_traced():
        part = apply(op, [part_of(source)], own)
        is_own = op is reshape and not (may_share_memory(part._a, source.memory.local) if source is a else a.is_contiguous)
        if is_own:
            return over_traced(part, plan.avals[0].shape, mesh, plan.outs[0])
        origin = None if source is a and a.memory.origin is None else ViewOrigin(a, op, params)
        base = a if a.base is None else a.base
        return over_traced(part, plan.avals[0].shape, mesh, plan.outs[0], base, origin, a.memory.writes)
    local = source.memory.local
    view = op.ref(local, **own) if local.__class__ is np.ndarray else local.backend.run(op, (local,), own)
    if op is reshape and not (may_share_memory(view, local) if source is a else a.is_contiguous):
        return mesh_array(view, plan.avals[0].shape, mesh, plan.outs[0])
    origin = None if source is a and a.memory.origin is None else ViewOrigin(a, op, params)
    return mesh_array(view, plan.avals[0].shape, mesh, plan.outs[0], a if a.base is None else a.base, origin, a.memory.writes)


# Planning.


def _planned(op, arrays, params, mesh) -> Plan:
    avals = [aval_of(a) if is_on_mesh(a) else a for a in arrays]
    if op.is_elementwise:
        shape = broadcast_shapes(*[a.shape for a in avals if isinstance(a, Aval)])
        results = op.infer(*[Aval(shape, a.dtype) if isinstance(a, Aval) else a for a in avals], **params)
    else:
        results = op.infer(*avals, **params)
    several = not isinstance(results, Aval)
    outs = tuple(results) if several else (results,)
    call = Call(op, tuple([a.shape if isinstance(a, Aval) else None for a in avals]),
                tuple([a.dtype if isinstance(a, Aval) else None for a in avals]),
                tuple([a.memory.placements if is_on_mesh(a) else None for a in arrays]),
                tuple([o.shape for o in outs]), params, mesh)
    same = _all_alike(op, call)
    if same is not None:
        in_placements = [same if s is not None else None for s in call.shapes]
        return _plan_of(call, outs, several, in_placements, [same] * len(outs), None, ())
    names = names_of(call)
    chosen = _chosen(call, names, avals)
    if chosen is None:
        return Plan()
    in_placements, out_placements = [], []
    for k, shape in enumerate(call.shapes):
        in_placements.append(None if shape is None else tuple([_placement(w.ins[k]) for w in chosen]))
    for k in range(len(outs)):
        out_placements.append(tuple([_placement(w.outs[k]) for w in chosen]))
    return _plan_of(call, outs, several, in_placements, out_placements, names, chosen)


def _all_alike(op, call):
    """Return the one layout of all operands of an elementwise function if they have one shape and equal splits; results
    keep it."""
    found = {p for p in call.placements if p is not None}
    if not op.is_pointwise or len(found) != 1 or len({s for s in (*call.shapes, *call.outs) if s is not None}) != 1:
        return None
    same, = found
    return None if any(isinstance(p, Partial) for p in same) else same


def _plan_of(call, outs, several, in_placements, out_placements, names, chosen) -> Plan:
    shapes = tuple([place_in(o.shape, call.mesh, p)[0] for o, p in zip(outs, out_placements)])
    own = {"shape": shapes[0]} if "shape" in call.params else {}
    located = _located(call, names, chosen, in_placements, out_placements)
    return Plan(tuple(in_placements), tuple(out_placements), outs, several, own, shapes, located)


def _located(call, names, chosen, in_placements, out_placements):
    """Return the function for a part with an offset, and this process's offset."""
    for way in chosen:
        if names is not None and way.name in names.located:
            for shapes, layouts, dims in ((call.shapes, in_placements, names.ins), (call.outs, out_placements, names.outs)):
                for shape, placements, own in zip(shapes, layouts, dims):
                    if own is not None and way.name in own:
                        size, first = place_in(shape, call.mesh, placements)
                        dim = own.index(way.name)
                        return names.located[way.name], first[dim], size[dim]
    return None


def _placement(code):
    return Replicate() if code is None else Partial(code) if isinstance(code, str) else Shard(code)


def _chosen(call: Call, names: Names | None, avals):
    """Return the way along each mesh dim; None if a composite should run its body."""
    possible = ways(names, call)
    found, far = [], False
    for i in range(call.mesh.ndim):
        way, cost = _best(call, possible, avals, i)
        found.append(way)
        far = far or cost > 0
    return None if far and type(call.op.lower) is Composite and not call.op.is_pointwise else found


def _best(call, possible, avals, i):
    """Return the way that moves the fewest bytes along a mesh dim, and the number of bytes."""
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
    """Return a placement in the notation of ways; strided parts have none."""
    if isinstance(p, Partial):
        return p.reduce_op
    return p.dim if isinstance(p, Shard) and not isinstance(p, _StridedShard) else None


def _bytes_moved(now, code, aval, parts) -> float:
    """Return about how many bytes a process sends or receives to convert an operand's layout. A conversion never counts as
    zero, so that layouts are the same on a mesh of one process."""
    if (_code(now) == code and not isinstance(now, _StridedShard)) or isinstance(now, Replicate):
        return 0
    whole = (prod(aval.shape) * aval.dtype.itemsize + 1) * max(parts - 1, 0.5) / parts
    if isinstance(now, Partial):
        return whole if isinstance(code, int) else 2 * whole
    return whole / parts if isinstance(code, int) else whole


# Other functions for the runtime.


def broadcast_to(a, shape):
    """Broadcast an array to a shape."""
    return run(expand, (run(reshape, (a,), {"shape": (1,) * (len(shape) - a.ndim) + a.shape}),), {"shape": tuple(shape)})


def sweep(rows, numbers):
    """Run fused updates on parts, one row after the other; operands take the layout of what is written."""
    numbers = [n.item() if hasattr(n, "item") and hasattr(n, "shape") else n for n in numbers]
    far: list = []
    apart: list = []            # (target, value computed for it)
    for kernel, outs, arrays in rows:
        layout = without_terms(outs[0].memory.placements)
        held = [in_layout(o, layout) for o in outs]
        for o in outs:
            o.memory.writes.count += 1
        apart += [(o, h) for o, h in zip(outs, held) if h is not o]
        parts = [in_layout(on_mesh(a, outs[0].memory.mesh), layout).memory.local for a in arrays]
        own = tuple([h.memory.local for h in held])
        if own[0].__class__ is DeviceArray:
            far.append((kernel, own, parts))
        elif own[0].size:
            kernel.sweep(own, parts, tuple([np.asarray(n, own[0].dtype) for n in numbers]))
    if far:
        far[0][1][0].backend.sweep(far, numbers)


    for out, computed in apart:
        out.backend.write(out, computed)
