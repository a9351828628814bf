"""Families of location and scale: Normal, Laplace, Cauchy, Uniform."""

import math
from numbers import Number

from ...ir.errors import ArgumentError
from ..api.math.reductions import holds_anywhere
from ..api.random import random_tensors as noise
from ..api.register.register import FUNCTIONS
from ..autograd.grad_mode import no_grad
from ..core.tensor import Size
from . import constraints
from .distribution import Distribution, ExponentialFamily
from .parameters import broadcast_all, where

__all__ = ["Cauchy", "Laplace", "Normal", "Uniform"]

_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


def batch_of(args, first) -> Size:
    """Return no batch for numbers alone, else the broadcast parameters' shape."""
    return Size() if all(isinstance(a, Number) for a in args) else first.shape


class _LocationScale(Distribution):
    """Base of families of the form loc + scale * standard noise."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _tensors = ("loc", "scale")

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(batch_of((loc, scale), self.loc), validate_args=validate_args)

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)

    def _standard(self, value):
        self._validate(value)
        return (value - self.loc) / self.scale

    def _noise(self, shape):
        raise NotImplementedError

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return self.loc + self.scale * self._noise(shape)


class Normal(_LocationScale, ExponentialFamily):
    """Normal distribution with mean `loc` and standard deviation `scale`."""

    stddev = property(lambda self: self.scale)
    variance = property(lambda self: self.scale ** 2)

    def _noise(self, shape):
        return noise.randn(size=shape, dtype=self.loc.dtype, device=self.loc.device)

    def log_prob(self, value):
        z = self._standard(value)
        return -0.5 * z * z - self.scale.log() - _HALF_LOG_TWO_PI

    def cdf(self, value):
        return 0.5 * (-self._standard(value) * math.sqrt(0.5)).erfc()

    def icdf(self, value):
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self):
        return 0.5 + _HALF_LOG_TWO_PI + self.scale.log()


class Laplace(_LocationScale):
    """Double exponential distribution around `loc`."""

    variance = property(lambda self: 2 * self.scale ** 2)
    stddev = property(lambda self: math.sqrt(2) * self.scale)

    def _noise(self, shape):
        with no_grad():
            side = noise.rand(size=shape, dtype=self.loc.dtype, device=self.loc.device) < 0.5
            size = noise.tail_of(shape, self.loc.dtype, None, self.loc.device).to(self.loc.dtype)
            return where(side, -size, size)

    def log_prob(self, value):
        return -self._standard(value).abs() - (2 * self.scale).log()

    def cdf(self, value):
        z = self._standard(value)
        return 0.5 - 0.5 * z.sign() * (-z.abs()).expm1()

    def icdf(self, value):
        side = value - 0.5
        return self.loc - self.scale * side.sign() * (-2 * side.abs()).log1p()

    def entropy(self):
        return 1 + (2 * self.scale).log()


class Cauchy(_LocationScale):
    """Distribution of the ratio of two normal numbers; it has no mean."""

    mean = property(lambda self: FUNCTIONS["full_like"](self.loc, math.nan))
    variance = property(lambda self: FUNCTIONS["full_like"](self.loc, math.inf))

    def _noise(self, shape):
        with no_grad():
            return FUNCTIONS["zeros"](tuple(shape), dtype=self.loc.dtype, device=self.loc.device).cauchy_()

    def log_prob(self, value):
        z = self._standard(value)
        return -math.log(math.pi) - self.scale.log() - (z ** 2).log1p()

    def cdf(self, value):
        return self._standard(value).atan() / math.pi + 0.5

    def icdf(self, value):
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self):
        return math.log(4 * math.pi) + self.scale.log()


class Uniform(Distribution):
    """Uniform distribution in [low, high)."""

    arg_constraints = {"low": constraints.dependent(is_discrete=False, event_dim=0),
                       "high": constraints.dependent(is_discrete=False, event_dim=0)}
    has_rsample = True
    _tensors = ("low", "high")

    def __init__(self, low, high, validate_args=None):
        self.low, self.high = broadcast_all(low, high)
        super().__init__(batch_of((low, high), self.low), validate_args=validate_args)
        if self._validate_args and holds_anywhere(~(self.low < self.high)):
            raise ArgumentError(f"Uniform is not defined when low >= high: low {self.low}, high {self.high}")

    support = constraints.dependent_property(
        lambda self: constraints.interval(self.low, self.high), is_discrete=False, event_dim=0)

    mean = property(lambda self: (self.high + self.low) / 2)
    mode = property(lambda self: math.nan * self.high)
    stddev = property(lambda self: (self.high - self.low) / math.sqrt(12))
    variance = property(lambda self: (self.high - self.low) ** 2 / 12)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return self.low + noise.rand(size=shape, dtype=self.low.dtype, device=self.low.device) * (self.high - self.low)

    def log_prob(self, value):
        """Return the log density at a value; -inf outside the interval."""
        self._validate(value)
        inside = ((self.low <= value) & (self.high > value)).to(self.low.dtype)
        return inside.log() - (self.high - self.low).log()

    def cdf(self, value):
        self._validate(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value):
        return value * (self.high - self.low) + self.low

    def entropy(self):
        return (self.high - self.low).log()
