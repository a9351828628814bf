"""Limiting gradients."""

import math

from ....ir.errors import AutogradError
from ...api.register import FUNCTIONS
from ...autograd.grad_mode import no_grad
from ...tensor import Tensor


def _gradients(parameters):
    listed = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [_entries(p) for p in listed if p.grad is not None]


def _entries(p):
    """A parameter's gradient; of a sparse one its values, each place once."""
    if not p.grad.is_sparse:
        return p.grad
    p.grad = p.grad.coalesce()
    return p.grad.values()


@no_grad()
def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of all tensors as if they were one."""
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not tensors:
        return FUNCTIONS["tensor"](0.0)
    norm_type = float(norm_type)
    if math.isinf(norm_type):
        norms = [t.abs().max() for t in tensors]
        total = FUNCTIONS["stack"](norms).max()
    else:
        total = FUNCTIONS["stack"]([FUNCTIONS["norm"](t, norm_type) for t in tensors])
        total = FUNCTIONS["norm"](total, norm_type)
    if error_if_nonfinite and not FUNCTIONS["isfinite"](total):
        raise AutogradError(f"the total norm of order {norm_type} of the gradients is {total.item()}; pass "
                            "error_if_nonfinite=False to clip all the same")
    return total


@no_grad()
def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scales gradients so that a norm computed before comes down to max_norm."""
    scale = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for g in _gradients(parameters):
        g.mul_(scale if g.dtype is scale.dtype else scale.to(g.dtype))


@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scales gradients so that their total norm is at most max_norm; returns the norm before."""
    listed = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    total = get_total_norm(_gradients(listed), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(listed, max_norm, total, foreach)
    return total


@no_grad()
def clip_grad_value_(parameters, clip_value, foreach=None):
    """Limits each element of the gradients to [-clip_value, clip_value]."""
    limit = float(clip_value)
    for g in _gradients(parameters):
        g.clamp_(min=-limit, max=limit)
