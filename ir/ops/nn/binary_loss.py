"""Losses of yes or no: of a probability, and of its logit, against a target within 0 and 1."""

import numpy as np

from ..core import elementwise as ew
from .activations import softplus
from .piecewise import pointwise

_LEAST_LOG = -100.0
_LEAST_SPREAD = 1e-12       # of x (1 - x), which the gradient divides by


def _logs(x):
    """log(x) and log(1 - x), at least -100."""
    return [ew.maximum(v, _LEAST_LOG) for v in (ew.log(x), ew.log1p(ew.neg(x)))]


def _body(x, target):
    yes, no = _logs(x)
    return ew.sub(ew.mul(ew.sub(target, 1.0), no), ew.mul(target, yes))


def _ref(x, target):
    with np.errstate(all="ignore"):
        yes, no = np.maximum(np.log(x), _LEAST_LOG), np.maximum(np.log1p(-x), _LEAST_LOG)
    return (target - 1) * no - target * yes


def _by_probability(g, out, x, target):
    p, t = ew.widened(x), ew.widened(target)
    spread = ew.maximum(ew.mul(p, ew.sub(1.0, p)), _LEAST_SPREAD)
    return ew.narrowed(ew.div(ew.mul(ew.widened(g), ew.sub(p, t)), spread), x)


def _by_target(g, out, x, target):
    yes, no = _logs(ew.widened(x))
    return ew.narrowed(ew.mul(ew.widened(g), ew.sub(no, yes)), x)


cross_entropy_of_probability = pointwise(
    "cross_entropy_of_probability", _body, _ref, (_by_probability, _by_target), traits=("autocast_wide",),
    doc="-(t log x + (1 - t) log(1 - x)), each log at least -100.")


def _logit_body(x, target):
    return ew.add(ew.mul(ew.sub(1.0, target), x), softplus(ew.neg(x)))


def _by_logit(g, out, x, target):
    return ew.narrowed(ew.mul(ew.widened(g), ew.sub(ew.sigmoid(ew.widened(x)), ew.widened(target))), x)


cross_entropy_of_logit = pointwise(
    "cross_entropy_of_logit", _logit_body, lambda x, target: (1 - target) * x + np.logaddexp(0, -x),
    (_by_logit, lambda g, out, x, target: ew.neg(ew.mul(g, x))), traits=("autocast_wide",),
    doc="That of sigmoid(x), without overflow.")
