"""local_map: functions of local tensors as functions of sharded tensors."""

from functools import wraps

from ....ir.errors import ArgumentError
from ...core.tensor import Tensor
from ...pytree.pytree import tree_flatten
from .dtensor import DTensor
from .placements import Placement

__all__ = ["local_map"]


def local_map(func=None, out_placements=None, in_placements=None, in_grad_placements=None, device_mesh=None, *,
              redistribute_inputs=False):
    """Return a function that calls func with the local parts of its DTensors, and returns DTensors.

    `out_placements` gives the layouts of results (a tuple for several; None leaves one as it is). `in_placements` gives the
    layouts of arguments; others raise, or with `redistribute_inputs` are converted. `in_grad_placements` gives the layouts of
    the parts' gradients.
    """
    if func is None:
        return lambda fn: local_map(fn, out_placements, in_placements, in_grad_placements, device_mesh,
                                    redistribute_inputs=redistribute_inputs)

    @wraps(func)
    def mapped(*args, **kwargs):
        leaves, spec = tree_flatten(args)
        for what, wanted in (("in_placements", in_placements), ("in_grad_placements", in_grad_placements)):
            if wanted is not None and len(wanted) != len(leaves):
                raise ArgumentError(f"local_map: {what} has {len(wanted)} entries, and there are {len(leaves)} arguments")
        mesh = device_mesh or next((x.device_mesh for x in leaves if isinstance(x, DTensor)), None)
        local = [_part(x, i, in_placements, in_grad_placements, redistribute_inputs) for i, x in enumerate(leaves)]
        results = func(*spec.unflatten(local), **kwargs)
        return results if mesh is None else _whole(results, out_placements, mesh)

    return mapped


def _part(x, i, in_placements, in_grad_placements, redistributes):
    """Return an argument for func."""
    wanted = None if in_placements is None else in_placements[i]
    if not isinstance(x, DTensor):
        if wanted is not None:
            raise ArgumentError(f"local_map: argument {i} must have the placements {wanted}, got {type(x).__name__}")
        return x
    if wanted is not None and tuple(wanted) != x.placements:
        if not redistributes:
            raise ArgumentError(f"local_map: argument {i} must have the placements {tuple(wanted)}, got {x.placements}; pass "
                                "redistribute_inputs=True")
        x = x.redistribute(placements=wanted)
    return x.to_local(grad_placements=None if in_grad_placements is None else in_grad_placements[i])


def _whole(results, placements, mesh):
    """Return results as sharded tensors."""
    outs, spec = tree_flatten(results)
    alone = placements is None or all(isinstance(p, Placement) for p in placements)
    each = [placements] * len(outs) if alone else list(placements)
    if len(each) != len(outs):
        raise ArgumentError(f"local_map: out_placements has {len(each)} entries, and there are {len(outs)} results")
    return spec.unflatten([DTensor.from_local(x, mesh, p) if isinstance(x, Tensor) and p is not None else x
                           for x, p in zip(outs, each)])
