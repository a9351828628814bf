"""Families built from gamma numbers: Exponential, Gamma, Chi2, Beta, Dirichlet, StudentT, FisherSnedecor."""

import math

from ...ir.errors import ArgumentError
from ..api.random import random_tensors as noise
from ..api.register.register import FUNCTIONS
from ..core.tensor import Tensor
from ..linalg.special import gammainc
from . import constraints
from .distribution import Distribution, ExponentialFamily
from .location_scale import batch_of
from .parameters import as_values, broadcast_all, where

__all__ = ["Beta", "Chi2", "Dirichlet", "Exponential", "FisherSnedecor", "Gamma", "StudentT"]

_NAN, _INF = float("nan"), float("inf")


def _log_gammas(concentration):
    """Return logarithms of gamma numbers: their ratios are exact where the numbers underflow."""
    left = noise.tail_of(concentration.shape, concentration.dtype, None, concentration.device).to(concentration.dtype)
    return noise.standard_gamma(concentration + 1).log() - left / concentration


class Exponential(ExponentialFamily):
    """Distribution of waiting times of events at a rate."""

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _tensors = ("rate",)

    def __init__(self, rate, validate_args=None):
        (self.rate,) = broadcast_all(rate)
        super().__init__(batch_of((rate,), self.rate), validate_args=validate_args)

    mean = property(lambda self: self.rate.reciprocal())
    mode = property(lambda self: FUNCTIONS["zeros_like"](self.rate))
    stddev = property(lambda self: self.rate.reciprocal())
    variance = property(lambda self: self.rate.pow(-2))

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return noise.tail_of(shape, self.rate.dtype, None, self.rate.device).to(self.rate.dtype) / self.rate

    def log_prob(self, value):
        self._validate(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value):
        self._validate(value)
        return -(-self.rate * value).expm1()

    def icdf(self, value):
        return -(-value).log1p() / self.rate

    def entropy(self):
        return 1.0 - self.rate.log()


class Gamma(ExponentialFamily):
    """Gamma distribution with a shape (`concentration`) and a rate."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _tensors = ("concentration", "rate")

    def __init__(self, concentration, rate, validate_args=None):
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(batch_of((concentration, rate), self.concentration), validate_args=validate_args)

    mean = property(lambda self: self.concentration / self.rate)
    mode = property(lambda self: ((self.concentration - 1) / self.rate).clamp(min=0))
    variance = property(lambda self: self.concentration / self.rate.pow(2))

    def rsample(self, sample_shape=()):
        """Return samples, differentiable in both parameters."""
        shape = self._extended_shape(sample_shape)
        return noise.standard_gamma(self.concentration.expand(shape).contiguous()) / self.rate.expand(shape)

    def log_prob(self, value):
        """Return the log density at a value, which may be a number."""
        a, rate = self.concentration, self.rate
        value = as_values(value, rate)
        self._validate(value)
        return FUNCTIONS["xlogy"](a, rate) + FUNCTIONS["xlogy"](a - 1, value) - rate * value - a.lgamma()

    def cdf(self, value):
        self._validate(value)
        return gammainc(self.concentration, self.rate * value)

    def entropy(self):
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1.0 - a) * a.digamma()


class Chi2(Gamma):
    """Distribution of the sum of `df` squared normal numbers."""

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df, validate_args=None):
        half = df * 0.5
        rate = FUNCTIONS["full_like"](half, 0.5) if isinstance(half, Tensor) else 0.5
        super().__init__(half, rate, validate_args=validate_args)

    df = property(lambda self: self.concentration * 2)


class Dirichlet(ExponentialFamily):
    """Distribution of probabilities of K categories, with `concentration` in the last dimension."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    _tensors = ("concentration",)

    def __init__(self, concentration, validate_args=None):
        if concentration.dim() < 1:
            raise ArgumentError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    mean = property(lambda self: self.concentration / self.concentration.sum(-1, True))

    @property
    def mode(self):
        """Most probable value; if all concentrations are below 1, the corner of the largest."""
        over = (self.concentration - 1).clamp(min=0.0)
        corner = FUNCTIONS["one_hot"](self.concentration.argmax(-1), self._event_shape[0]).to(over.dtype)
        return where((self.concentration < 1).all(-1, True), corner, over / over.sum(-1, True))

    @property
    def variance(self):
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape=()):
        shape, info = self._extended_shape(sample_shape), FUNCTIONS["finfo"](self.concentration.dtype)
        return _log_gammas(self.concentration.expand(shape)).softmax(-1).clamp(info.tiny, 1 - info.eps / 2)

    def log_prob(self, value):
        self._validate(value)
        a = self.concentration
        return FUNCTIONS["xlogy"](a - 1.0, value).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    def entropy(self):
        a, k = self.concentration, self._event_shape[0]
        total = a.sum(-1)
        return (a.lgamma().sum(-1) - total.lgamma() - (k - total) * total.digamma() - ((a - 1.0) * a.digamma()).sum(-1))


class Beta(ExponentialFamily):
    """Distribution of the first one's probability of two categories."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True
    _tensors = ("_dirichlet",)

    def __init__(self, concentration1, concentration0, validate_args=None):
        both = FUNCTIONS["stack"](broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(both, validate_args=False)
        super().__init__(both.shape[:-1], validate_args=validate_args)

    concentration1 = property(lambda self: self._dirichlet.concentration[..., 0])
    concentration0 = property(lambda self: self._dirichlet.concentration[..., 1])
    mean = property(lambda self: self.concentration1 / (self.concentration1 + self.concentration0))
    mode = property(lambda self: self._dirichlet.mode[..., 0])

    @property
    def variance(self):
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape=()):
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value):
        self._validate(value)
        return self._dirichlet.log_prob(FUNCTIONS["stack"]([value, 1.0 - value], -1))

    def entropy(self):
        return self._dirichlet.entropy()


class StudentT(Distribution):
    """Student's t distribution with `df` degrees of freedom, shifted and scaled."""

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _tensors = ("df", "loc", "scale")

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        super().__init__(self.df.shape, validate_args=validate_args)

    @property
    def mean(self):
        """The location; nan up to one degree of freedom."""
        return where(self.df <= 1, _NAN, self.loc)

    mode = property(lambda self: self.loc)

    @property
    def variance(self):
        """The variance; inf up to two degrees of freedom, nan up to one."""
        few = self.df <= 2
        df = where(few, 3.0, self.df)                  # gradients are finite everywhere
        return where(self.df <= 1, _NAN, where(few, _INF, self.scale.pow(2) * df / (df - 2)))

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        df = self.df.expand(shape)
        chi2 = 2 * noise.standard_gamma((0.5 * df).contiguous())
        return self.loc + self.scale * noise.randn(size=shape, dtype=df.dtype, device=df.device) * (df / chi2).sqrt()

    def log_prob(self, value):
        self._validate(value)
        y, df = (value - self.loc) / self.scale, self.df
        norm = self.scale.log() + 0.5 * df.log() + 0.5 * math.log(math.pi) + (0.5 * df).lgamma() - (0.5 * (df + 1.0)).lgamma()
        return -0.5 * (df + 1.0) * (y ** 2.0 / df).log1p() - norm

    def entropy(self):
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = half.lgamma() + math.lgamma(0.5) - more.lgamma()
        return self.scale.log() + more * (more.digamma() - half.digamma()) + 0.5 * self.df.log() + log_beta


class FisherSnedecor(Distribution):
    """F distribution: the ratio of two scaled chi-squared numbers."""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _tensors = ("df1", "df2")

    def __init__(self, df1, df2, validate_args=None):
        self.df1, self.df2 = broadcast_all(df1, df2)
        super().__init__(batch_of((df1, df2), self.df1), validate_args=validate_args)

    @property
    def mean(self):
        """The mean; nan up to df2 = 2."""
        few = self.df2 <= 2
        d2 = where(few, 3.0, self.df2)
        return where(few, _NAN, d2 / (d2 - 2))

    @property
    def mode(self):
        """Most probable value; nan up to df1 = 2."""
        return where(self.df1 <= 2, _NAN, (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2))

    @property
    def variance(self):
        """The variance; nan up to df2 = 4."""
        few = self.df2 <= 4
        d1, d2 = self.df1, where(few, 5.0, self.df2)
        return where(few, _NAN, 2 * d2.pow(2) * (d1 + d2 - 2) / (d1 * (d2 - 2).pow(2) * (d2 - 4)))

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        tops = noise.standard_gamma((self.df1 * 0.5).expand(shape).contiguous()) / self.df1
        return tops / (noise.standard_gamma((self.df2 * 0.5).expand(shape).contiguous()) / self.df2)

    def log_prob(self, value):
        self._validate(value)
        half1, half2, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        level = (half1 + half2).lgamma() - half1.lgamma() - half2.lgamma()
        return level + half1 * ratio.log() + (half1 - 1) * value.log() - (half1 + half2) * (ratio * value).log1p()
