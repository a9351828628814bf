"""Kullback-Leibler divergences: a registry by pairs of families, and closed forms."""

import functools
import math
from operator import attrgetter

from ...ir.ops.nn.activations import softplus
from ...ir.registry import Registry
from ..api.register.register import FUNCTIONS
from ..core.tensor import Tensor
from ..linalg import linalg
from ..state.messages import warn
from ..state.switches import question
from .categorical import Categorical, OneHotCategorical
from .composite import Independent, TransformedDistribution
from .discrete import Bernoulli, Binomial, Geometric, Poisson
from .gamma_families import Beta, Dirichlet, Exponential, Gamma
from .location_scale import Cauchy, Laplace, Normal, Uniform
from .multivariate_normal import LowRankMultivariateNormal, MultivariateNormal, half_log_det, mahalanobis
from .parameters import where
from .transformed_families import EULER, Gumbel, HalfCauchy, HalfNormal, Pareto
from .transforms import sum_last

__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY: dict = Registry()


def register_kl(type_p, type_q):
    """Return a decorator for a function (p, q) -> KL(p || q) of two families. The nearest pair of base classes is used."""

    def mark(fn):
        _KL_REGISTRY[type_p, type_q] = fn
        _find.cache_clear()
        return fn

    return mark


@functools.cache
def _find(type_p, type_q):
    fitting = [(p, q) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not fitting:
        return None
    near = [(type_p.__mro__.index(p), type_q.__mro__.index(q)) for p, q in fitting]
    by_left, by_right = min(near), min(near, key=lambda pair: pair[::-1])
    if by_left != by_right:
        warn(f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl() for this pair",
             RuntimeWarning)
    return _KL_REGISTRY[fitting[near.index(by_left)]]


@question
def kl_rule(type_p, type_q):
    """Return the function for the divergence between two families, or None."""
    return _find(type_p, type_q)


def kl_divergence(p, q) -> Tensor:
    """Return KL(p || q), the expectation under p of log p - log q, for each entry of the batch."""
    rule = kl_rule(type(p), type(q))
    if rule is None:
        raise NotImplementedError(f"no KL divergence is registered for p of type {type(p).__name__} and q of type "
                                  f"{type(q).__name__}; add one with register_kl")
    return rule(p, q)


def _x_log_x(x):
    return FUNCTIONS["xlogy"](x, x)


# Within a family.


@register_kl(Bernoulli, Bernoulli)
def _(p, q):
    one = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    one = where(q.probs == 0, math.inf, one)
    one = where(p.probs == 0, 0.0, one)
    zero = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    zero = where(q.probs == 1, math.inf, zero)
    return one + where(p.probs == 1, 0.0, zero)


@register_kl(Binomial, Binomial)
def _(p, q):
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return where(p.total_count > q.total_count, math.inf, kl)


@register_kl(Categorical, Categorical)
def _(p, q):
    t = p.probs * (p.logits - q.logits)
    t = where((q.probs == 0).expand(t.shape), math.inf, t)
    return where((p.probs == 0).expand(t.shape), 0.0, t).sum(-1)


@register_kl(Geometric, Geometric)
def _(p, q):
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Normal, Normal)
def _(p, q):
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Laplace, Laplace)
def _(p, q):
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * (-distance / p.scale).exp() - 1


@register_kl(Cauchy, Cauchy)
def _(p, q):
    top = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return top.log() - (4 * p.scale * q.scale).log()


@register_kl(Uniform, Uniform)
def _(p, q):
    kl = ((q.high - q.low) / (p.high - p.low)).log()
    return where((q.low > p.low) | (q.high < p.high), math.inf, kl)


@register_kl(Exponential, Exponential)
def _(p, q):
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(Gamma, Gamma)
def _(p, q):
    a, b = p.concentration, q.concentration
    return (b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma() + (a - b) * a.digamma() + (q.rate - p.rate) * (a / p.rate))


@register_kl(Dirichlet, Dirichlet)
def _(p, q):
    a, b = p.concentration, q.concentration
    level = a.sum(-1).lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return level + ((a - b) * (a.digamma() - a.sum(-1, True).digamma())).sum(-1)


# Families with the divergence of a distribution that they hold.
for _family, _inner in ((OneHotCategorical, "_categorical"), (HalfNormal, "base_dist"), (HalfCauchy, "base_dist"),
                        (Beta, "_dirichlet")):
    register_kl(_family, _family)(lambda p, q, inner=attrgetter(_inner): kl_divergence(inner(p), inner(q)))


@register_kl(Gumbel, Gumbel)
def _(p, q):
    ratio, shift, from_q = p.scale / q.scale, q.loc / q.scale, p.loc / q.scale
    return -ratio.log() - shift + from_q + (shift + (1 + ratio).lgamma() - from_q).exp() + EULER * ratio - (1 + EULER)


@register_kl(Pareto, Pareto)
def _(p, q):
    ratio = q.alpha / p.alpha
    kl = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return where(p.support.lower_bound < q.support.lower_bound, math.inf, kl)


def _normal_vectors(p, q):
    """Return KL between multivariate normal distributions, from their Cholesky factors."""
    lower_p, lower_q = p.scale_tril, q.scale_tril
    shape = FUNCTIONS["broadcast_shapes"](tuple(lower_p.shape), tuple(lower_q.shape))
    inner = linalg.solve_triangular(lower_q.expand(shape), lower_p.expand(shape), upper=False).pow(2).sum((-2, -1))
    level = half_log_det(lower_q) - half_log_det(lower_p)
    return level + 0.5 * (inner + mahalanobis(lower_q, q.loc - p.loc) - p.event_shape[0])


for _p in (MultivariateNormal, LowRankMultivariateNormal):
    for _q in (MultivariateNormal, LowRankMultivariateNormal):
        register_kl(_p, _q)(_normal_vectors)


@register_kl(Independent, Independent)
def _(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("KL between Independents of different reinterpreted_batch_ndims is not implemented")
    return sum_last(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("KL between distributions of different transforms is not implemented")
    return kl_divergence(p.base_dist, q.base_dist)


# Between families.


@register_kl(Bernoulli, Poisson)
def _(p, q):
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Exponential, Gamma)
def _(p, q):
    ratio = q.rate / p.rate
    return -q.concentration * ratio.log() + ratio + q.concentration.lgamma() + q.concentration * EULER - (1 + EULER)


@register_kl(Gamma, Exponential)
def _(p, q):
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate


@register_kl(Exponential, Gumbel)
def _(p, q):
    ratio, shift = p.rate * q.scale, q.loc / q.scale
    return ratio.log() - 1 + shift.exp() * ratio / (ratio + 1) - shift + ratio.reciprocal()


@register_kl(Exponential, Normal)
def _(p, q):
    wide = q.scale.pow(2)
    rate2 = p.rate.pow(2)
    return (rate2 * wide * 2 * math.pi).log() * 0.5 - 1 + rate2.reciprocal() / wide - (q.loc / p.rate) / wide \
        + q.loc.pow(2) / wide / 2


@register_kl(Gamma, Gumbel)
def _(p, q):
    beta, shift = p.rate * q.scale, q.loc / q.scale
    a = p.concentration
    head = (a - 1) * a.digamma() - a.lgamma() - a
    return head + beta.log() + a / beta + shift.exp() * (1 + beta.reciprocal()).pow(-a) - shift


@register_kl(Gamma, Normal)
def _(p, q):
    wide, a = q.scale.pow(2), p.concentration
    beta2 = p.rate.pow(2)
    return (0.5 * (beta2 * wide * 2 * math.pi).log() - a - a.lgamma() + (a - 1) * a.digamma()
            + 0.5 * (a * (a + 1) / beta2 - 2 * q.loc * a / p.rate + q.loc.pow(2)) / wide)


@register_kl(Gumbel, Normal)
def _(p, q):
    ratio = p.scale / q.scale
    return (-(ratio / math.sqrt(2 * math.pi)).log() + (math.pi * ratio).pow(2) / 12
            + ((p.loc + p.scale * EULER - q.loc) / q.scale).pow(2) * 0.5 - (EULER + 1))


@register_kl(Laplace, Normal)
def _(p, q):
    wide = q.scale.pow(2)
    ratio = p.scale.pow(2) / wide
    return -(0.5 * (2 * ratio / math.pi).log()) + ratio + 0.5 * (p.loc - q.loc).pow(2) / wide - 1


@register_kl(Normal, Gumbel)
def _(p, q):
    ratio = (p.loc - q.loc) / q.scale
    spread = (p.scale / q.scale).pow(2)
    return -0.5 * spread.log() + ratio + (-ratio + 0.5 * spread).exp() - 0.5 * (1 + math.log(2 * math.pi))


@register_kl(Normal, Laplace)
def _(p, q):
    offset = p.loc - q.loc
    ratio = offset / p.scale
    mean_distance = (math.sqrt(2 / math.pi) * p.scale * (-0.5 * ratio.pow(2)).exp() + offset * (math.sqrt(0.5) * ratio).erf())
    return -p.entropy() + (2 * q.scale).log() + mean_distance / q.scale


@register_kl(Uniform, Normal)
def _(p, q):
    width = p.high - p.low
    return (math.sqrt(2 * math.pi) * q.scale / width).log() + (
        width.pow(2) / 12 + ((p.high + p.low) / 2 - q.loc).pow(2)) / (2 * q.scale.pow(2))


@register_kl(Uniform, Gumbel)
def _(p, q):
    width, low, high = p.high - p.low, (p.low - q.loc) / q.scale, (p.high - q.loc) / q.scale
    return (q.scale / width).log() + 0.5 * (low + high) - ((-high).exp() - (-low).exp()) * q.scale / width


@register_kl(Uniform, Exponential)
def _(p, q):
    kl = q.rate * (p.high + p.low) / 2 - ((p.high - p.low) * q.rate).log()
    return where(p.low < 0, math.inf, kl)


@register_kl(Uniform, Gamma)
def _(p, q):
    width = p.high - p.low
    mean_log = (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    kl = -width.log() - q.concentration * q.rate.log() + q.concentration.lgamma() + (1 - q.concentration) * mean_log \
        + q.rate * (p.high + p.low) / 2
    return where(p.low < 0, math.inf, kl)


@register_kl(Uniform, Beta)
def _(p, q):
    width = p.high - p.low
    up = _x_log_x(p.high) - _x_log_x(p.low) - width
    down = _x_log_x(1 - p.high) - _x_log_x(1 - p.low) + width
    level = q.concentration1.lgamma() + q.concentration0.lgamma() - (q.concentration1 + q.concentration0).lgamma()
    kl = (q.concentration1 - 1) * -up / width + (q.concentration0 - 1) * down / width + level - width.log()
    return where((p.high > 1) | (p.low < 0), math.inf, kl)


@register_kl(Beta, Normal)
def _(p, q):
    mean = p.mean
    second = p.variance + mean.pow(2)
    return -p.entropy() + 0.5 * (2 * math.pi * q.scale.pow(2)).log() + (
        second - 2 * mean * q.loc + q.loc.pow(2)) / (2 * q.scale.pow(2))


@register_kl(Beta, Uniform)
def _(p, q):
    kl = -p.entropy() + (q.high - q.low).log()
    return where((q.low > 0) | (q.high < 1), math.inf, kl)


@register_kl(Beta, Exponential)
def _(p, q):
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Beta, Gamma)
def _(p, q):
    mean_log = p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    return -p.entropy() - q.concentration * q.rate.log() + q.concentration.lgamma() - (q.concentration - 1) * mean_log \
        + q.rate * p.mean


@register_kl(Uniform, Pareto)
def _(p, q):
    width = p.high - p.low
    mean_log = (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    kl = (q.alpha + 1) * mean_log - q.alpha.log() - q.alpha * q.scale.log() - width.log()
    return where(p.low < q.support.lower_bound, math.inf, kl)


@register_kl(Pareto, Exponential)
def _(p, q):
    ratio = p.alpha * p.scale * q.rate / (p.alpha - 1)
    kl = -p.entropy() - q.rate.log() + ratio
    return where(p.alpha <= 1, math.inf, kl)


@register_kl(Pareto, Gamma)
def _(p, q):
    mean_log = p.scale.log() + p.alpha.reciprocal()
    kl = -p.entropy() - q.concentration * q.rate.log() + q.concentration.lgamma() + (1 - q.concentration) * mean_log \
        + q.rate * p.alpha * p.scale / (p.alpha - 1)
    return where(p.alpha <= 1, math.inf, kl)


@register_kl(Pareto, Normal)
def _(p, q):
    is_finite = p.alpha > 2
    some = Pareto(p.scale, where(is_finite, p.alpha, 3.0), validate_args=False)      # gradients are finite everywhere
    away = some.mean - q.loc
    kl = -some.entropy() + 0.5 * (2 * math.pi * q.scale.pow(2)).log() + (some.variance + away.pow(2)) / (2 * q.scale.pow(2))
    return where(is_finite, kl, math.inf)


# Infinite: q has no weight on part of the support of p.


def _register_infinite(families_p, families_q, shape_of):
    for one in families_p:
        for other in families_q:
            if (one, other) not in _KL_REGISTRY:
                register_kl(one, other)(lambda p, q, of=shape_of: FUNCTIONS["full_like"](of(p), math.inf))


_register_infinite((Poisson,), (Bernoulli, Binomial), lambda p: p.rate)
_register_infinite((Normal, Laplace, Cauchy), (Beta, Exponential, Gamma, Pareto, Uniform), lambda p: p.loc)
_register_infinite((Gumbel,), (Beta, Exponential, Gamma, Pareto, Uniform), lambda p: p.loc)
_register_infinite((Exponential,), (Beta, Pareto, Uniform), lambda p: p.rate)
_register_infinite((Gamma,), (Beta, Pareto, Uniform), lambda p: p.concentration)
_register_infinite((Beta,), (Pareto,), lambda p: p.concentration1)
_register_infinite((Pareto,), (Beta, Uniform), lambda p: p.alpha)
