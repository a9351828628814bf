"""Clipping of gradients by norm or value."""

from collections.abc import Iterator

import numpy as np

from ....ir.errors import AutogradError, DTypeError
from ....ir.ops.core.moments import vector_norm
from ....ir.symbols.substitute import as_float
from ...api.register.register import FUNCTIONS
from ...autograd.grad_mode import no_grad
from ...core.composite_tensors import values_in
from ...core.device_array import MESH, place_of
from ...core.dispatch import kernel_of
from ...core.placement import on_device_of
from ...core.tensor import Tensor, wrap
from ...core.writes import is_plain, is_quiet
from ...foreach import lists
from ...foreach.lists import KINDS, sweep_each
from ...memo.call_memo import past_tracker
from ...state.messages import warn
from ...state.mode import tls


def _as_list(parameters, name) -> list:
    """Return the parameters as a list, with a warning for an exhausted iterator."""
    listed = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    if not listed and isinstance(parameters, Iterator):
        warn(f"{name} got an iterator that is at its end, so no gradient is clipped")
    return listed


def _gradients(parameters):
    """Return the existing gradients; of sparse ones the coalesced values."""
    found = []
    for p in [parameters] if isinstance(parameters, Tensor) else parameters:
        g = values_in(p).grad
        if g is not None and g.is_sparse:
            g = p.grad = g.coalesce()
            g = g.values()
        if g is not None:
            found.append(g)
    return found


def _split_writable(gradients):
    """Return (gradients that a kernel may write in place, the others)."""
    m = tls.m
    swept = [g for g in gradients if is_quiet(g, m) and g._a.dtype in KINDS]
    return swept, gradients if not swept else [g for g in gradients if not (is_quiet(g, m) and g._a.dtype in KINDS)]


def _clamp(k, g, low, high):
    """Clamp one element like `clamp`: nan passes."""
    g = k.fn.where(k.fn.lt(g, low), low, g)
    return k.fn.where(k.fn.gt(g, high), high, g)


def _scaled(k, g, factor):
    return g * factor


@no_grad()
def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Return the norm of all tensors as if they were one."""
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not tensors:
        return FUNCTIONS["tensor"](0.0)
    norm_type = float(norm_type)
    total = past_tracker(tls.m, _total_norm, (tensors, norm_type), {})
    if error_if_nonfinite and not FUNCTIONS["isfinite"](total):
        raise AutogradError(f"the total norm of order {norm_type} of the gradients is {total.item()}; pass "
                            "error_if_nonfinite=False to clip all the same")
    return total


def _total_norm(tensors, norm_type):
    placements = {place_of(t._a) for t in tensors}
    if len(placements) > 1 and any(placement is not None and placement[0] == MESH for placement in placements):
        total = _sharded_norm(tensors, placements, norm_type)
        tensors = [total]
    listed = lists.norms(tensors, norm_type)
    return FUNCTIONS["norm"](_norms(tensors, norm_type) if listed is None else listed, norm_type)


def _sharded_norm(tensors, placements, norm_type):
    """Return the norm of tensors sharded over several meshes, as a plain tensor."""
    if any(placement is None or placement[0] != MESH for placement in placements):
        raise DTypeError("the norm of DTensors together with plain tensors is not known: whether all processes have the same "
                         "of these. Make their parameters DTensors (distribute_module does), or clip them by themselves")
    norms = [get_total_norm([t for t in tensors if place_of(t._a) == placement], norm_type) for placement in placements]
    return FUNCTIONS["norm"](FUNCTIONS["stack"]([n.full_tensor() for n in sorted(norms, key=lambda n: repr(n.device_mesh))]),
                             norm_type)


def _stack_numbers(norms):
    return FUNCTIONS["stack"]([on_device_of(n, norms[0]) for n in norms])


def _norms(tensors, order):
    m, kinds = tls.m, {t._a.dtype for t in tensors}
    if order != 2 or len(kinds) > 1 or not kinds <= KINDS.keys() or not all(is_plain(t, m) for t in tensors):
        return _stack_numbers([FUNCTIONS["norm"](t, order) for t in tensors])
    kind, = kinds
    norm, found = kernel_of(vector_norm), np.empty(len(tensors), kind)
    for i, t in enumerate(tensors):
        a = t._a
        found[i] = m.quietly(norm, a, ord=2.0, dim=_ALL[a.ndim], keepdim=False)
    return wrap(found)


_ALL = [tuple(range(n)) for n in range(65)]      # the dims of an array of each rank


@no_grad()
def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scale gradients so that a norm computed before becomes at most max_norm."""
    scale = (as_float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    swept, others = _split_writable(_gradients(parameters))
    if scale.ndim:
        swept, others = [], [*swept, *others]
    alike: dict = {}        # gradients that share one factor
    for g in swept:
        a = g._a
        alike.setdefault((a.dtype, None if a.__class__ is np.ndarray else a.device), []).append(g)
    for some in alike.values():
        sweep_each(_scaled, [((g,), ()) for g in some], [_like_gradient(scale, some[0])._a], "clip_grad_norm_")
    if not scale.ndim:
        past_tracker(tls.m, lists.scale, (others, scale, "clip_grad_norm_"), {})
    for g in others if scale.ndim else ():
        g.mul_(_like_gradient(scale, g))


def _like_gradient(number, g):
    factor = on_device_of(number, g)
    return factor if g.dtype is number.dtype else factor.to(g.dtype)


@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scale gradients so that their total norm is at most max_norm, and return the norm before."""
    if hasattr(parameters, "parameters"):
        raise DTypeError(f"clip_grad_norm_ takes tensors, got {type(parameters).__name__}; pass its .parameters()")
    listed = _as_list(parameters, "clip_grad_norm_")
    total = get_total_norm(_gradients(listed), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(listed, max_norm, total, foreach)
    return total


@no_grad()
def clip_grad_value_(parameters, clip_value, foreach=None):
    """Limit each element of the gradients to [-clip_value, clip_value]."""
    limit = as_float(clip_value)
    swept, others = _split_writable(_gradients(_as_list(parameters, "clip_grad_value_")))
    if limit == limit:
        sweep_each(_clamp, [((g,), ()) for g in swept], [-limit, limit], "clip_grad_value_")
    else:
        others = [*swept, *others]
    for g in others:
        g.clamp_(min=-limit, max=limit)
