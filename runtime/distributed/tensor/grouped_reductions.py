"""Operators of many arrays: one reduction over the processes for all of them."""

from math import isinf
from typing import Any

import numpy as np

from ....ir.ops.core import elementwise as ew
from ....ir.ops.core import moments
from ....ir.ops.core.moments import vector_norm
from ....ir.ops.core.shape import cat, reshape
from ...api.register.register import FUNCTIONS
from ...core.tensor import Tensor
from .mesh_array import apply, in_layout, is_traced, mesh_array, on_parts, over_traced, part_of
from .placements import Partial
from .sharded_layout import REPLICATE, without_terms


def _each(mesh, arrays, one, neutral) -> Any:
    """Return the results of `one` for every array's local part, in one local array. They are `neutral` if there is no part, or
    if another process has the same part."""
    results = []
    for a in arrays:
        a = in_layout(a, without_terms(a.memory.placements))
        local = a.memory.local if not is_traced() else part_of(a)
        at = mesh.get_coordinate() or [1] * mesh.ndim
        again = any(p == REPLICATE and i for p, i in zip(a.memory.placements, at))
        if again or not a.memory.local.size:
            results.append(_one_like(local, neutral))
        else:
            results.append(apply(reshape, (one(local),), {"shape": (1,)}))
    return apply(cat, tuple(results), {"dim": 0})


def _one_like(a, value):
    """Return an array of one number on the device of another one."""
    if isinstance(a, Tensor):
        with on_parts():
            return FUNCTIONS["full"]((1,), value, dtype=a.dtype, device=a.device)
    if a.__class__ is np.ndarray:
        return np.full((1,), value, a.dtype)
    return a.backend.filled((1,), a.dtype, value, a.device)


def norms(mesh, arrays, params) -> Any:
    """Return the norm of each array: powers are summed over the processes, or the largest taken."""
    order = params["ord"]
    if order <= 0:
        return moments.norms.lower.body(*arrays, **params)
    kind = "max" if isinf(order) else "sum"

    def one(local):
        norm = apply(vector_norm, (local,), {"ord": order, "dim": tuple(range(local.ndim)), "keepdim": False})
        return norm if kind == "max" else apply(ew.pow_, (norm, order), {})

    local = _each(mesh, arrays, one, 0)
    make = mesh_array if not is_traced() else over_traced
    whole = in_layout(make(local, (len(arrays),), mesh, (Partial(kind),) * mesh.ndim), (REPLICATE,) * mesh.ndim)
    return whole if kind == "max" else ew.pow_(whole, 1 / order)
