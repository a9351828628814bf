"""Families that are transforms of others: LogNormal, Gumbel, HalfNormal, Pareto, Weibull and others.

RelaxedBernoulli and RelaxedOneHotCategorical are continuous relaxations of discrete families, with differentiable samples.
"""

import math

from ..api.random import random_tensors as noise
from ..api.register.register import FUNCTIONS
from . import constraints
from .categorical import Categorical
from .composite import TransformedDistribution
from .discrete import Bernoulli
from .distribution import Distribution
from .gamma_families import Exponential, Gamma
from .location_scale import Cauchy, Normal, Uniform
from .parameters import as_values, broadcast_all, clamp_probs, forwarded, where
from .transforms import AbsTransform, AffineTransform, ExpTransform, PowerTransform, SigmoidTransform, StickBreakingTransform

__all__ = ["ExpRelaxedCategorical", "Gumbel", "HalfCauchy", "HalfNormal", "InverseGamma", "LogNormal",
           "LogisticNormal", "LogitRelaxedBernoulli", "Pareto", "RelaxedBernoulli", "RelaxedOneHotCategorical",
           "Weibull"]

EULER = 0.57721566490153286060


class LogNormal(TransformedDistribution):
    """Distribution of numbers whose logarithm is normal."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive

    def __init__(self, loc, scale, validate_args=None):
        super().__init__(Normal(loc, scale, validate_args=validate_args), ExpTransform(), validate_args=validate_args)

    loc, scale = forwarded("base_dist", "loc", "scale")
    mean = property(lambda self: (self.loc + self.scale.pow(2) / 2).exp())
    mode = property(lambda self: (self.loc - self.scale.square()).exp())
    variance = property(lambda self: self.scale.pow(2).expm1() * (2 * self.loc + self.scale.pow(2)).exp())

    def entropy(self):
        return self.base_dist.entropy() + self.loc


class LogisticNormal(TransformedDistribution):
    """Distribution of probabilities made from normal numbers by stick breaking."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex

    def __init__(self, loc, scale, validate_args=None):
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base if base.batch_shape else base.expand([1]), StickBreakingTransform(), validate_args=validate_args)

    loc, scale = forwarded("base_dist.base_dist", "loc", "scale")


class Gumbel(TransformedDistribution):
    """Distribution of the largest of many numbers."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    _tensors = ("loc", "scale")

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        info = FUNCTIONS["finfo"](self.loc.dtype)
        low, high = FUNCTIONS["full_like"](self.loc, info.tiny), FUNCTIONS["full_like"](self.loc, 1 - info.eps)
        base = Uniform(low, high, validate_args=validate_args)
        log = ExpTransform().inv
        steps = [log, AffineTransform(0, -FUNCTIONS["ones_like"](self.scale)), log, AffineTransform(self.loc, -self.scale)]
        super().__init__(base, steps, validate_args=validate_args)

    def log_prob(self, value):
        self._validate(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    mean = property(lambda self: self.loc + self.scale * EULER)
    mode = property(lambda self: self.loc)
    stddev = property(lambda self: (math.pi / math.sqrt(6)) * self.scale)
    variance = property(lambda self: self.stddev.pow(2))

    def entropy(self):
        return self.scale.log() + (1 + EULER)


class _Half(TransformedDistribution):
    """Base of families: absolute values of numbers from a distribution around 0."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _of: type

    def __init__(self, scale, validate_args=None):
        super().__init__(self._of(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    scale = property(lambda self: self.base_dist.scale)
    mode = property(lambda self: FUNCTIONS["zeros_like"](self.scale))

    def log_prob(self, value):
        """Return the log density at a value: twice that of the base."""
        self._validate(value)
        value = as_values(value, self.scale)
        return where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value):
        self._validate(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value):
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self):
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(_Half):
    """Distribution of absolute values of normal numbers of mean 0."""

    _of = Normal

    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi))
    variance = property(lambda self: self.scale.pow(2) * (1 - 2 / math.pi))


class HalfCauchy(_Half):
    """Distribution of absolute values of Cauchy numbers around 0."""

    _of = Cauchy

    mean = property(lambda self: FUNCTIONS["full_like"](self.scale, math.inf))
    variance = property(lambda self: self.base_dist.variance)


class InverseGamma(TransformedDistribution):
    """Distribution of reciprocals of gamma numbers."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive

    def __init__(self, concentration, rate, validate_args=None):
        base = Gamma(concentration, rate, validate_args=validate_args)
        minus = -FUNCTIONS["ones"]((), dtype=base.rate.dtype, device=base.rate.device)
        super().__init__(base, PowerTransform(minus), validate_args=validate_args)

    concentration, rate = forwarded("base_dist", "concentration", "rate")

    @property
    def mean(self):
        """The mean; inf up to concentration 1."""
        return where(self.concentration > 1, self.rate / (self.concentration - 1), math.inf)

    mode = property(lambda self: self.rate / (self.concentration + 1))

    @property
    def variance(self):
        """The variance; inf up to concentration 2."""
        a = self.concentration
        return where(a > 2, self.rate.square() / ((a - 1).square() * (a - 2)), math.inf)

    def entropy(self):
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()


class Pareto(TransformedDistribution):
    """Power-law distribution of numbers above `scale`."""

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}
    _tensors = ("scale", "alpha")

    def __init__(self, scale, alpha, validate_args=None):
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        super().__init__(base, [ExpTransform(), AffineTransform(0, self.scale)], validate_args=validate_args)

    support = constraints.dependent_property(
        lambda self: constraints.greater_than_eq(self.scale), is_discrete=False, event_dim=0)

    @property
    def mean(self):
        """The mean; inf up to alpha 1."""
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    mode = property(lambda self: self.scale)

    @property
    def variance(self):
        """The variance; inf up to alpha 2."""
        a = self.alpha.clamp(min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    def entropy(self):
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class Weibull(TransformedDistribution):
    """Distribution of lifetimes whose hazard is a power of the age."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    _tensors = ("scale", "concentration")

    def __init__(self, scale, concentration, validate_args=None):
        self.scale, self.concentration = broadcast_all(scale, concentration)
        base = Exponential(FUNCTIONS["ones_like"](self.scale), validate_args=validate_args)
        steps = [PowerTransform(self.concentration.reciprocal()), AffineTransform(0, self.scale)]
        super().__init__(base, steps, validate_args=validate_args)

    mean = property(lambda self: self.scale * (1 + self.concentration.reciprocal()).lgamma().exp())

    @property
    def mode(self):
        """Most probable value; 0 up to concentration 1."""
        k = self.concentration.clamp(min=1)
        return self.scale * ((k - 1) / k) ** k.reciprocal()

    @property
    def variance(self):
        k = self.concentration.reciprocal()
        return self.scale.pow(2) * ((1 + 2 * k).lgamma().exp() - (2 * (1 + k).lgamma()).exp())

    def entropy(self):
        k = self.concentration.reciprocal()
        return EULER * (1 - k) + (self.scale * k).log() + 1


def _uniform(shape, like):
    return clamp_probs(noise.rand(size=shape, dtype=like.dtype, device=like.device))


class LogitRelaxedBernoulli(Distribution):
    """Distribution of log-odds of relaxed coin tosses."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    has_rsample = True
    _tensors = ("_tosses",)

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self.temperature = temperature
        self._tosses = Bernoulli(probs, logits, validate_args)
        super().__init__(self._tosses.batch_shape, validate_args=validate_args)

    probs, logits = forwarded("_tosses", "probs", "logits")

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = _uniform(shape, probs)
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value):
        self._validate(value)
        logits, value = broadcast_all(self.logits, value)
        x = logits - value * self.temperature
        return FUNCTIONS["log"](FUNCTIONS["as_tensor"](self.temperature)) + x - 2 * x.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """Distribution of coin tosses relaxed to numbers between 0 and 1."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        super().__init__(LogitRelaxedBernoulli(temperature, probs, logits, validate_args), SigmoidTransform(),
                         validate_args=validate_args)

    temperature, probs, logits = forwarded("base_dist", "temperature", "probs", "logits")


class ExpRelaxedCategorical(Distribution):
    """Distribution of logarithms of relaxed categories."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector
    has_rsample = True
    _tensors = ("_categorical",)

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self.temperature = temperature
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    probs, logits = forwarded("_categorical", "probs", "logits")

    def rsample(self, sample_shape=()):
        """Return differentiable samples: log-weights with Gumbel noise."""
        shape = self._extended_shape(sample_shape)
        gumbel = -(-_uniform(shape, self.logits).log()).log()
        return ((self.logits.expand(shape) + gumbel) / self.temperature).log_softmax(-1)

    def log_prob(self, value):
        self._validate(value)
        count = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        temperature = FUNCTIONS["as_tensor"](self.temperature).to(value.dtype)
        scale = math.lgamma(count) + temperature.log() * (count - 1)
        return (logits - value * temperature).log_softmax(-1).sum(-1) + scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """Distribution of categories relaxed to rows of numbers that sum to 1."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        super().__init__(ExpRelaxedCategorical(temperature, probs, logits, validate_args), ExpTransform(),
                         validate_args=validate_args)

    temperature, probs, logits = forwarded("base_dist", "temperature", "probs", "logits")
