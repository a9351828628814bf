"""Norm and clipping of sharded gradients."""

import math

from ....ir.errors import AutogradError
from ...api.math.reductions import vector_norm
from ...api.register.register import FUNCTIONS
from ..collectives.collectives import all_reduce
from ..engines.reduce_op import ReduceOp
from .flat_parameter import units_below


def _norm(grads, norm_type, like):
    """Return the norm of gradients of this rank, in float32 or their own wider dtype."""
    wide = FUNCTIONS["zeros"]((), dtype=like.dtype, device=like.device)
    wide = wide if wide.dtype.itemsize >= 4 else wide.float()
    if not grads:
        return wide
    norms = [vector_norm(g.to(wide.dtype).to(wide.device), norm_type) for g in grads]
    return vector_norm(FUNCTIONS["stack"](norms), norm_type)


def clip_gradients(sharded, max_norm: float, norm_type: float):
    """Implement `FullyShardedDataParallel.clip_grad_norm_`."""
    units = [m for m in units_below(sharded) if m._unit.entries]
    if any(m._sharer.is_waiting() for m in units):
        raise AutogradError("clip_grad_norm_: the gradients of a backward within no_sync() wait for those of other ranks; go "
                            "backward outside of it first")
    managed = {id(p) for m in units for p in m._unit.params}
    parts = [p.grad for m in units if m._unit.count > 1 for p in m._unit.params if p.grad is not None]
    whole = [p.grad for m in units if m._unit.count == 1 for p in m._unit.params if p.grad is not None]
    whole += [p.grad for p in sharded.parameters() if id(p) not in managed and p.grad is not None]
    like = next(iter(sharded.parameters()))
    total, apart = _norm(parts, norm_type, like), _norm(whole, norm_type, like)
    group = next((m._unit.groups.shards for m in units if m._unit.count > 1), None)
    if math.isinf(norm_type):
        if group is not None:
            all_reduce(total, ReduceOp.MAX, group)
        total = FUNCTIONS["maximum"](total, apart)
    else:
        total = total ** norm_type
        if group is not None:
            all_reduce(total, ReduceOp.SUM, group)
        total = (total + apart ** norm_type) ** (1.0 / norm_type)
    factor = (max_norm / (total + 1e-6)).clamp(max=1.0)
    for g in [*parts, *whole]:
        g.mul_(factor.to(g.device).to(g.dtype))
    return total.to(like.dtype)
