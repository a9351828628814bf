"""Continuous relaxations of discrete families, whose samples are differentiable: RelaxedBernoulli, RelaxedOneHotCategorical."""

import math

from ..api.random import random_tensors as noise
from ..api.register.register import FUNCTIONS
from . import constraints
from .categorical import Categorical
from .composite import TransformedDistribution
from .discrete import Bernoulli
from .distribution import Distribution
from .parameters import broadcast_all, clamp_probs
from .transforms import ExpTransform, SigmoidTransform

__all__ = ["ExpRelaxedCategorical", "LogitRelaxedBernoulli", "RelaxedBernoulli", "RelaxedOneHotCategorical"]


def _uniform(shape, like):
    return clamp_probs(noise.rand(size=shape, dtype=like.dtype, device=like.device))


class LogitRelaxedBernoulli(Distribution):
    """Distribution of log-odds of relaxed coin tosses."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self.temperature = temperature
        self._tosses = Bernoulli(probs, logits, validate_args)
        super().__init__(self._tosses.batch_shape, validate_args=validate_args)

    probs = property(lambda self: self._tosses.probs)
    logits = property(lambda self: self._tosses.logits)

    def expand(self, batch_shape, _instance=None):
        new = super().expand(batch_shape, _instance)
        new._tosses = self._tosses.expand(batch_shape)
        return new

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = _uniform(shape, probs)
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
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

    temperature = property(lambda self: self.base_dist.temperature)
    probs = property(lambda self: self.base_dist.probs)
    logits = property(lambda self: self.base_dist.logits)


class ExpRelaxedCategorical(Distribution):
    """Distribution of logarithms of relaxed categories."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self.temperature = temperature
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    probs = property(lambda self: self._categorical.probs)
    logits = property(lambda self: self._categorical.logits)

    def expand(self, batch_shape, _instance=None):
        new = super().expand(batch_shape, _instance)
        new._categorical = self._categorical.expand(batch_shape)
        return new

    def rsample(self, sample_shape=()):
        """Return differentiable samples: log-weights with Gumbel noise."""
        shape = self._extended_shape(sample_shape)
        gumbel = -(-_uniform(shape, self.logits).log()).log()
        return ((self.logits.expand(shape) + gumbel) / self.temperature).log_softmax(-1)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
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

    temperature = property(lambda self: self.base_dist.temperature)
    probs = property(lambda self: self.base_dist.probs)
    logits = property(lambda self: self.base_dist.logits)
