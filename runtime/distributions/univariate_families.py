"""Further univariate families: ContinuousBernoulli, GeneralizedPareto, Kumaraswamy, and VonMises on the circle."""

import math

from ...ir import dtype as dt
from ...ir.errors import ArgumentError
from ...ir.ops.nn.activations import softplus
from ..api.math.reductions import holds_anywhere
from ..api.random import random_tensors as noise
from ..api.register.register import FUNCTIONS
from ..autograd.grad_mode import no_grad
from ..linalg import special
from . import constraints
from .composite import TransformedDistribution
from .distribution import Distribution, ExponentialFamily
from .gamma_families import Beta, Exponential, Gamma
from .kl import register_kl
from .location_scale import Laplace, Normal, Uniform, batch_of
from .parameters import broadcast_all, clamp_probs, lazy_property, logits_to_probs, probs_to_logits, where
from .transformed_families import Gumbel, Pareto
from .transforms import AffineTransform, PowerTransform

__all__ = ["ContinuousBernoulli", "GeneralizedPareto", "Kumaraswamy", "VonMises", "log_bessel"]

EULER = 0.57721566490153286060


class Kumaraswamy(TransformedDistribution):
    """Distribution of numbers between 0 and 1, similar to a beta distribution."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    _tensors = ("concentration1", "concentration0")

    def __init__(self, concentration1, concentration0, validate_args=None):
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        ones = FUNCTIONS["ones_like"](self.concentration0)
        steps = [PowerTransform(self.concentration0.reciprocal()), AffineTransform(1.0, -1.0),
                 PowerTransform(self.concentration1.reciprocal())]
        super().__init__(Uniform(FUNCTIONS["zeros_like"](ones), ones, validate_args=validate_args), steps,
                         validate_args=validate_args)

    def _moment(self, n):
        a, b = 1 + n / self.concentration1, self.concentration0
        return (b.log() + a.lgamma() + b.lgamma() - (a + b).lgamma()).exp()

    mean = property(lambda self: self._moment(1))

    @property
    def mode(self):
        """Most probable value; nan where there is none."""
        a, b = self.concentration1, self.concentration0
        found = ((a - 1) / (a * b - 1)) ** (1 / a)
        return where((a < 1) | (b < 1), math.nan, found)

    variance = property(lambda self: self._moment(2) - self.mean.pow(2))

    def entropy(self):
        a, b = self.concentration1.reciprocal(), self.concentration0.reciprocal()
        harmonic = (self.concentration0 + 1).digamma() + EULER
        return (1 - b) + (1 - a) * harmonic + a.log() + b.log()


class GeneralizedPareto(Distribution):
    """Distribution of excesses over a threshold: numbers above `loc`, bounded if the concentration is negative."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    _tensors = ("loc", "scale", "concentration")

    def __init__(self, loc, scale, concentration, validate_args=None):
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        """Numbers from loc on, bounded if the concentration is negative."""
        bounded = self.concentration < 0
        width = self.scale / where(bounded, -self.concentration, 1.0)
        return constraints.interval(self.loc, where(bounded, self.loc + width, math.inf))

    def _is_exponential(self):
        return self.concentration.abs() < 1e-7

    def _safe(self):
        """Return the concentration, with 1 where it is 0."""
        return where(self._is_exponential(), 1.0, self.concentration)

    def rsample(self, sample_shape=()):
        """Return values that are differentiable functions of the parameters."""
        return self.icdf(FUNCTIONS["rand"](self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value):
        self._validate(value)
        z, k = (value - self.loc) / self.scale, self._safe()
        inside = 1 + k * z
        curved = -(1 / k + 1) * where(inside <= 0, 1.0, inside).log()
        found = where(self._is_exponential(), -z, where(inside <= 0, -math.inf, curved))
        return found - self.scale.log()

    def cdf(self, value):
        self._validate(value)
        z, k = (value - self.loc) / self.scale, self._safe()
        curved = 1 - (1 + k * z).clamp(min=0) ** (-1 / k)
        return where(self._is_exponential(), 1 - (-z).exp(), curved)

    def icdf(self, value):
        k = self._safe()
        curved = ((1 - value) ** -k - 1) / k
        return self.loc + self.scale * where(self._is_exponential(), -(-value).log1p(), curved)

    @property
    def mean(self):
        """The mean; inf from concentration 1 on."""
        finite = self.concentration < 1
        k = where(finite, self.concentration, 0.0)
        return where(finite, self.loc + self.scale / (1 - k), math.inf)

    mode = property(lambda self: self.loc)

    @property
    def variance(self):
        """The variance; inf from concentration 1/2 on."""
        finite = self.concentration < 0.5
        k = where(finite, self.concentration, 0.0)
        return where(finite, self.scale ** 2 / ((1 - k) ** 2 * (1 - 2 * k)), math.inf)

    def entropy(self):
        return self.scale.log() + self.concentration + 1


class ContinuousBernoulli(ExponentialFamily):
    """Distribution of numbers between 0 and 1 with an exponential density; give `probs` or `logits`."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0
    _tensors = ("probs", "logits")

    def __init__(self, probs=None, logits=None, lims=(0.499, 0.501), validate_args=None):
        if (probs is None) == (logits is None):
            raise ArgumentError("ContinuousBernoulli takes either probs or logits")
        if probs is not None:
            (given,) = broadcast_all(probs)
            if validate_args and holds_anywhere(~constraints.unit_interval.check(given)):
                raise ArgumentError(f"ContinuousBernoulli takes probs between 0 and 1, got {given}")
            self.probs = clamp_probs(given)
        else:
            self.logits = broadcast_all(logits)[0]
        self._lims = lims
        super().__init__((self.probs if probs is not None else self.logits).shape, validate_args=validate_args)

    logits = lazy_property(lambda self: probs_to_logits(self.probs, is_binary=True))
    probs = lazy_property(lambda self: clamp_probs(logits_to_probs(self.logits, is_binary=True)))

    param_shape = property(lambda self: self.probs.shape)

    def _split(self):
        """Return where formulas are exact, the parameter there (0.499 elsewhere), and its distance from 1/2."""
        exact = (self.probs <= self._lims[0]) | (self.probs > self._lims[1])
        return exact, where(exact, self.probs, self._lims[0]), self.probs - 0.5

    def _log_normalizer_of_probs(self):
        exact, p, x = self._split()
        found = ((-p).log1p() - p.log()).abs().log() - (1 - 2 * p).abs().log()
        near = math.log(2) + (4 / 3 + 104 / 45 * x ** 2) * x ** 2
        return where(exact, found, near)

    @property
    def mean(self):
        exact, p, x = self._split()
        found = p / (2 * p - 1) + 1 / ((-p).log1p() - p.log())
        return where(exact, found, 0.5 + (1 / 3 + 16 / 45 * x ** 2) * x)

    @property
    def variance(self):
        exact, p, x = self._split()
        found = p * (p - 1) / (1 - 2 * p) ** 2 + 1 / ((-p).log1p() - p.log()) ** 2
        return where(exact, found, 1 / 12 - (1 / 15 - 128 / 945 * x ** 2) * x ** 2)

    stddev = property(lambda self: self.variance.sqrt())

    def sample(self, sample_shape=()):
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=()):
        """Return values that are differentiable functions of the parameter."""
        like = self.probs
        return self.icdf(FUNCTIONS["rand"](self._extended_shape(sample_shape), dtype=like.dtype, device=like.device))

    def log_prob(self, value):
        self._validate(value)
        logits, value = broadcast_all(self.logits, value)
        return value * logits - softplus(logits) + self._log_normalizer_of_probs()

    def cdf(self, value):
        self._validate(value)
        exact, p, _ = self._split()
        found = (p ** value * (1 - p) ** (1 - value) + p - 1) / (2 * p - 1)
        inside = where(exact, found, value)
        return where(value <= 0, 0.0, where(value >= 1, 1.0, inside))

    def icdf(self, value):
        exact, p, _ = self._split()
        found = ((-p + value * (2 * p - 1)).log1p() - (-p).log1p()) / (p.log() - (-p).log1p())
        return where(exact, found, value)

    def entropy(self):
        log0, log1 = (-self.probs).log1p(), self.probs.log()
        return self.mean * (log0 - log1) - self._log_normalizer_of_probs() - log0

    _natural_params = property(lambda self: (self.logits,))

    def _log_normalizer(self, x):
        near = (x.abs() <= self._lims[1] - 0.5)
        safe = where(near, 1.0, x)
        found = (safe.exp() - 1).abs().log() - safe.abs().log()
        return where(near, 0.5 * x + x ** 2 / 24 - x ** 4 / 2880, found)


# Divergences from and to ContinuousBernoulli.


def _expected_log(mean, q):
    """Return the expectation of q's log density, which is linear, under a distribution on 0..1 with a mean."""
    zero = FUNCTIONS["zeros_like"](q.logits)
    return mean * q.logits + q.log_prob(zero)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _(p, q):
    return _expected_log(p.mean, p) - _expected_log(p.mean, q)


@register_kl(ContinuousBernoulli, Normal)
def _(p, q):
    wide = q.scale.pow(2)
    off = p.variance + (p.mean - q.loc).pow(2)
    return -p.entropy() + 0.5 * (2 * math.pi * wide).log() + 0.5 * off / wide


@register_kl(ContinuousBernoulli, Exponential)
def _(p, q):
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(ContinuousBernoulli, Uniform)
def _(p, q):
    inside = (q.low <= 0) & (q.high >= 1)
    return where(inside, -p.entropy() + (q.high - q.low).log(), math.inf)


@register_kl(ContinuousBernoulli, Pareto)
def _(p, q):
    return FUNCTIONS["full_like"](p.mean + q.scale, math.inf)     # Pareto has no mass near 0


@register_kl(Beta, ContinuousBernoulli)
def _(p, q):
    return -p.entropy() - _expected_log(p.mean, q)


@register_kl(Uniform, ContinuousBernoulli)
def _(p, q):
    inside = (p.low >= 0) & (p.high <= 1)
    return where(inside, -p.entropy() - _expected_log(p.mean, q), math.inf)


@register_kl(Exponential, ContinuousBernoulli)
@register_kl(Gamma, ContinuousBernoulli)
@register_kl(Gumbel, ContinuousBernoulli)
@register_kl(Laplace, ContinuousBernoulli)
@register_kl(Normal, ContinuousBernoulli)
@register_kl(Pareto, ContinuousBernoulli)
def _(p, q):
    return FUNCTIONS["full_like"](p.mean + q.probs, math.inf)     # p reaches beyond 0..1


def log_bessel(order, x):
    """Return the logarithm of the modified Bessel function of the first kind of order 0 or 1, for positive x."""
    return (special.i1e(x) if order else special.i0e(x)).log() + x


class VonMises(Distribution):
    """Distribution of angles about a mean direction `loc`, the narrower the larger the concentration."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    _tensors = ("loc", "concentration", "variance", "_proposal")

    def __init__(self, loc, concentration, validate_args=None):
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(batch_of((loc, concentration), self.loc), validate_args=validate_args)

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)

    # 1 - the length of the mean of the directions.
    variance = lazy_property(lambda self: 1 - (log_bessel(1, self.concentration) - log_bessel(0, self.concentration)).exp())

    def log_prob(self, value):
        """Return the log density at an angle."""
        self._validate(value)
        near = self.concentration * (value - self.loc).cos()
        return near - math.log(2 * math.pi) - log_bessel(0, self.concentration)

    @lazy_property
    def _proposal(self):
        """Return the parameter of the wrapped Cauchy distribution of proposals (Best and Fisher, 1979), in float64."""
        k = self.concentration.detach().to(dt.float64)
        tau = 1 + (1 + 4 * k * k).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * k)
        return where(k < 1e-5, 1 / k + k, (1 + rho * rho) / (2 * rho))

    def sample(self, sample_shape=()):
        """Return angles in [-pi, pi), by rejection."""
        shape = tuple(self._extended_shape(sample_shape))
        with no_grad():
            r = self._proposal.expand(shape)
            k = self.concentration.to(r.dtype).expand(shape)
            x, done = _propose(r, k)
            while not bool(done.all()):
                again, accepted = _propose(r, k)
                x = where(done, x, again)
                done = done | accepted
            loc = self.loc.to(r.dtype)
            return ((x + math.pi + loc).remainder(2 * math.pi) - math.pi).to(self.loc.dtype)


def _propose(r, k):
    """Return angles about 0, and which of them are accepted."""
    z, height, side = (noise.rand(size=tuple(r.shape), dtype=r.dtype, device=r.device) for _ in range(3))
    z = (z * math.pi).cos()
    f = (1 + r * z) / (r + z)
    c = k * (r - f)
    accepted = (c * (2 - c) > height) | ((c / height).log() + 1 - c >= 0)
    return where(side < 0.5, -1.0, 1.0) * f.clamp(-1, 1).acos(), accepted
