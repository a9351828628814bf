"""Softmax and log-softmax along a dimension, and their gradients from the result."""

import numpy as np

from ...opdef.batch_rules import ALONG
from ...opdef.op import Composite, op
from ...opdef.param_checks import check_dim, check_operand
from ..core import elementwise as ew
from ..core import reduce as rd
from ..core.pointwise import in_single, in_wide, wants_real_float
from ..core.shape import expand


def _along(name):
    def infer(x, *, dim):
        wants_real_float(name, x)
        check_dim(dim, x.ndim, f"{name}: dim")
        return x

    return infer


def _gradient(name):
    def infer(g, y, *, dim):
        wants_real_float(name, y)
        check_dim(dim, y.ndim, f"{name}: dim")
        check_operand(g, y.shape, y.dtype, f"{name} of {y}: the gradient")
        return y

    return infer


def _row_sum(x, dim):
    return expand(rd.sum_(x, dim=(dim,), keepdim=True), shape=x.shape)


def shifted(x, dim):
    """Return x minus its largest value along a dimension (which may be empty)."""
    if not x.shape[dim]:
        return x
    return ew.sub(x, expand(rd.amax(x, dim=(dim,), keepdim=True), shape=x.shape))


def _softmax_body(x, *, dim):
    e = ew.exp(shifted(x, dim))
    total = rd.sum_(e, dim=(dim,), keepdim=True)
    return ew.mul(e, expand(ew.div(1.0, total), shape=x.shape))


def _softmax(x, *, dim):
    if not x.size:
        return np.array(x, copy=True)
    e = np.exp(x - x.max(axis=dim, keepdims=True))
    e /= e.sum(axis=dim, keepdims=True)
    return e


def _softmax_grad_body(g, y, *, dim):
    weighted = ew.mul(g, y)
    return ew.sub(weighted, ew.mul(y, _row_sum(weighted, dim)))


def _softmax_grad(g, y, *, dim):
    weighted = g * y
    return weighted - y * weighted.sum(dim, keepdims=True)


def _softmax_grad_y(h, out, g, y, *, dim):
    return ew.sub(ew.mul(h, ew.sub(g, _row_sum(ew.mul(g, y), dim))), ew.mul(g, _row_sum(ew.mul(h, y), dim)))


softmax_grad = op("softmax_grad", infer=_gradient("softmax_grad"), ref=in_single(_softmax_grad), batch=ALONG,
                  vjp=(lambda h, out, g, y, *, dim: softmax_grad(h, y, dim=dim), _softmax_grad_y),
                  lower=Composite(in_wide(_softmax_grad_body)), doc="The gradient of softmax by its result y.")


softmax = op("softmax", infer=_along("softmax"), ref=in_single(_softmax), lower=Composite(_softmax_body), batch=ALONG,
             vjp=(lambda g, out, x, *, dim: softmax_grad(g, out, dim=dim),),
             traits=("takes_float", "wide_on_gpu"), doc="exp(x) / sum(exp(x)) along a dimension, without overflow.")


def _log_softmax_body(x, *, dim):
    y = shifted(x, dim)
    return ew.sub(y, ew.log(_row_sum(ew.exp(y), dim)))


def _log_softmax(x, *, dim):
    if not x.size:
        return np.array(x, copy=True)
    y = x - x.max(axis=dim, keepdims=True)
    y -= np.log(np.exp(y).sum(axis=dim, keepdims=True))
    return y


def _log_softmax_grad_body(g, y, *, dim):
    return ew.sub(g, ew.mul(ew.exp(y), _row_sum(g, dim)))


log_softmax_grad = op(
    "log_softmax_grad", infer=_gradient("log_softmax_grad"), batch=ALONG, lower=Composite(in_wide(_log_softmax_grad_body)),
    ref=in_single(lambda g, y, *, dim: g - np.exp(y) * g.sum(dim, keepdims=True)),
    vjp=(lambda h, out, g, y, *, dim: ew.sub(h, _row_sum(ew.mul(ew.exp(y), h), dim)),
         lambda h, out, g, y, *, dim: ew.neg(ew.mul(ew.mul(h, ew.exp(y)), _row_sum(g, dim)))),
    doc="The gradient of log_softmax by its result y.")


log_softmax = op("log_softmax", infer=_along("log_softmax"), ref=in_single(_log_softmax),
                 vjp=(lambda g, out, x, *, dim: log_softmax_grad(g, out, dim=dim),),
                 lower=Composite(_log_softmax_body), batch=ALONG,
                 traits=("takes_float", "wide_on_gpu"), doc="log(softmax(x)) along a dimension.")
