"""Normalised vectors along dims, and the cosine similarity of two."""

import numpy as np

from ...errors import ShapeError
from ...opdef.batch_rules import ALONG
from ...opdef.op import Composite, op
from ...opdef.param_checks import check_dims, check_number
from ..core import elementwise as ew
from ..core.moments import vector_norm
from ..core.pointwise import in_single, in_wide, wants_real_float
from ..core.reduce import keepdim_shape, reduced_shape, sum_
from ..core.shape import expand, reshape


def _length(x, ord, dim, eps):
    norm = vector_norm.lower.body(x, ord=ord, dim=dim, keepdim=True)
    return norm, ew.maximum(norm, eps)


def _through_length(x, norm, length, arriving, ord, dim, eps):
    """Return x's gradient through its length: 0 where the length is eps."""
    counted = ew.where(ew.ge(norm, eps), arriving, 0.0)
    rule, = vector_norm.vjp
    return rule(counted, norm, x, ord=ord, dim=dim, keepdim=True)


def _over(v, x):
    return expand(v, shape=x.shape)


# Length 1.


def _infer_normalize(x, *, ord, dim, eps):
    wants_real_float("normalize", x)
    check_number(eps, "normalize: eps")
    check_dims(dim, x.ndim, "normalize: dim")
    return vector_norm.infer(x, ord=ord, dim=dim, keepdim=True) and x


@in_wide
def _normalize_body(x, *, ord, dim, eps):
    _, length = _length(x, ord, dim, eps)
    return ew.div(x, _over(length, x))


def _normalize(x, *, ord, dim, eps):
    return x / np.maximum(vector_norm.ref(x, ord=ord, dim=dim, keepdim=True), x.dtype.type(eps))


@in_wide
def _normalize_pull(g, out, x, *, ord, dim, eps):
    norm, length = _length(x, ord, dim, eps)
    along = ew.div(ew.neg(sum_(ew.mul(g, out), dim=dim, keepdim=True)), length)
    return ew.add(ew.div(g, _over(length, x)), _through_length(x, norm, length, along, ord, dim, eps))


normalize = op("normalize", infer=_infer_normalize, ref=in_single(_normalize), lower=Composite(_normalize_body),
               vjp=(lambda g, out, x, *, ord, dim, eps: _normalize_pull(g, out, x, ord=ord, dim=dim, eps=eps),),
               numbers=("ord", "eps"), batch=ALONG, traits=("wide_on_gpu", "rescued", "rule_as_one"),
               doc="x divided by its norm of order `ord` over dims, or by `eps` where that is more.")

# Angles.


def _infer_cosine(x, y, *, dim, eps):
    wants_real_float("cosine_similarity", x)
    if x.dtype is not y.dtype or x.shape != y.shape:
        raise ShapeError(f"cosine_similarity takes two tensors of one shape and dtype, got {x} and {y}")
    check_number(eps, "cosine_similarity: eps")
    check_dims(dim, x.ndim, "cosine_similarity: dim")
    return x.with_shape(reduced_shape(x.shape, dim, False))


@in_wide
def _cosine_body(x, y, *, dim, eps):
    first, second = (ew.div(v, _over(_length(v, 2, dim, eps)[1], v)) for v in (x, y))
    return sum_(ew.mul(first, second), dim=dim, keepdim=False)


def _cosine(x, y, *, dim, eps):
    first, second = (_normalize(v, ord=2, dim=dim, eps=eps) for v in (x, y))
    return np.sum(first * second, axis=dim)


@in_wide
def _cosine_pull(g, x, y, *, dim, eps):
    norm, length = _length(x, 2, dim, eps)
    other = ew.div(y, _over(_length(y, 2, dim, eps)[1], y))
    arriving = ew.div(reshape(g, shape=keepdim_shape(x.shape, dim)), length)       # at x, where its length is let be
    along = ew.div(ew.neg(sum_(ew.mul(x, other), dim=dim, keepdim=True)), length)
    return ew.add(ew.mul(other, _over(arriving, x)),
                  _through_length(x, norm, length, ew.mul(arriving, along), 2, dim, eps))


cosine_similarity = op("cosine_similarity", infer=_infer_cosine, ref=in_single(_cosine), lower=Composite(_cosine_body),
                       vjp=(lambda g, out, x, y, *, dim, eps: _cosine_pull(g, x, y, dim=dim, eps=eps),
                            lambda g, out, x, y, *, dim, eps: _cosine_pull(g, y, x, dim=dim, eps=eps)),
                       numbers=("eps",), batch=ALONG, traits=("wide_on_gpu", "rule_as_one"),
                       doc="The cosine of the angle between vectors along dims; their lengths are at least `eps`.")
