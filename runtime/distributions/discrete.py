"""Families of counts and coin tosses: Bernoulli, Binomial, Geometric, NegativeBinomial, Poisson."""

from ...ir.errors import ArgumentError
from ...ir.ops.nn.activations import softplus
from ..api.math.reductions import holds_anywhere
from ..api.random import random_tensors as noise
from ..api.register.register import FUNCTIONS
from ..autograd.grad_mode import no_grad
from . import constraints
from .distribution import Distribution, ExponentialFamily, counted
from .location_scale import batch_of
from .parameters import broadcast_all, lazy_property, logits_to_probs, probs_to_logits, where

__all__ = ["Bernoulli", "Binomial", "Geometric", "NegativeBinomial", "Poisson"]


def one_of(probs, logits):
    """Raise unless exactly one of two is given."""
    if (probs is None) == (logits is None):
        raise ArgumentError("Either `probs` or `logits` must be specified, but not both.")


class _Tosses(Distribution):
    """Families of a success probability, given as such or as log-odds."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    _tensors: tuple = ("probs", "logits")

    def __init__(self, probs=None, logits=None, validate_args=None):
        one_of(probs, logits)
        given = logits if probs is None else probs
        name = "logits" if probs is None else "probs"
        (value,) = broadcast_all(given)
        setattr(self, name, value)
        super().__init__(batch_of((given,), value), validate_args=validate_args)

    logits = lazy_property(lambda self: probs_to_logits(self.probs, is_binary=True))
    probs = lazy_property(lambda self: logits_to_probs(self.logits, is_binary=True))

    _param = property(lambda self: self.probs if "probs" in self.__dict__ else self.logits)
    param_shape = property(lambda self: self._param.shape)


class Bernoulli(_Tosses, ExponentialFamily):
    """Distribution of 1 with probability `probs`, else 0."""

    support = constraints.boolean
    has_enumerate_support = True

    mean = property(lambda self: self.probs)

    @property
    def mode(self):
        """The likelier of 0 and 1; nan if both are equal."""
        likelier = (self.probs >= 0.5).to(self.probs.dtype)
        return where(self.probs == 0.5, float("nan"), likelier)

    variance = property(lambda self: self.probs * (1 - self.probs))

    def sample(self, sample_shape=()):
        """Return random zeros and ones."""
        with no_grad():
            return noise.bernoulli(self._spread(self.probs, sample_shape))

    def log_prob(self, value):
        self._validate(value)
        return value * self.logits - softplus(self.logits)

    def entropy(self):
        return softplus(self.logits) - self.probs * self.logits

    def enumerate_support(self, expand=True):
        return counted(FUNCTIONS["arange"](2, dtype=self._param.dtype, device=self._param.device), self._batch_shape, expand)


class Geometric(_Tosses):
    """Distribution of the number of failures before the first success."""

    support = constraints.nonnegative_integer

    def __init__(self, probs=None, logits=None, validate_args=None):
        super().__init__(probs, logits, validate_args)
        if self._validate_args and probs is not None and holds_anywhere(~(self.probs > 0)):
            raise ArgumentError(f"Geometric takes probabilities above 0, got {self.probs}")

    mean = property(lambda self: 1 / self.probs - 1)
    mode = property(lambda self: FUNCTIONS["zeros_like"](self.probs))
    variance = property(lambda self: (1 / self.probs - 1) / self.probs)

    def sample(self, sample_shape=()):
        """Return random counts of failures."""
        with no_grad():
            shape, kind = self._extended_shape(sample_shape), self.probs.dtype
            return (noise.tail_of(shape, kind, None, self.probs.device).to(kind) / -(-self.probs).log1p()).floor()

    def log_prob(self, value):
        self._validate(value)
        value, probs = broadcast_all(value, self.probs)
        fails = where((probs == 1) & (value == 0), 0.0, probs)
        return value * (-fails).log1p() + self.probs.log()

    def entropy(self):
        return (softplus(self.logits) - self.probs * self.logits) / self.probs


class _Repeated(_Tosses):
    """Families of several tosses."""

    _tensors = ("total_count", "probs", "logits")

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        one_of(probs, logits)
        name, given = ("logits", logits) if probs is None else ("probs", probs)
        value, count = broadcast_all(given, total_count)
        setattr(self, name, value)
        self.total_count = count.to(value.dtype)
        Distribution.__init__(self, value.shape, validate_args=validate_args)


class Binomial(_Repeated):
    """Distribution of the number of successes among `total_count` tosses."""

    arg_constraints = {"total_count": constraints.nonnegative_integer, "probs": constraints.unit_interval,
                       "logits": constraints.real}
    has_enumerate_support = True

    support = constraints.dependent_property(
        lambda self: constraints.integer_interval(0, self.total_count), is_discrete=True, event_dim=0)

    mean = property(lambda self: self.total_count * self.probs)
    mode = property(lambda self: ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count))
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape=()):
        """Return random counts."""
        with no_grad():
            return noise.binomial(self._spread(self.total_count, sample_shape), self._spread(self.probs, sample_shape))

    def log_prob(self, value):
        self._validate(value)
        n = self.total_count
        ways = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        return ways + value * self.logits - n * softplus(self.logits)

    def entropy(self):
        """Return the entropy in nats, by the sum over all counts."""
        most = int(self.total_count.max())
        if not (self.total_count == most).all():
            raise NotImplementedError("the entropy of a Binomial with different total_count is not available")
        logp = self.log_prob(self.enumerate_support(False))
        return -(logp.exp() * logp).sum(0)

    def enumerate_support(self, expand=True):
        most = int(self.total_count.max())
        if not (self.total_count == most).all():
            raise NotImplementedError("the support of a Binomial with different total_count cannot be enumerated")
        values = FUNCTIONS["arange"](1 + most, dtype=self._param.dtype, device=self._param.device)
        return counted(values, self._batch_shape, expand)


class NegativeBinomial(_Repeated):
    """Distribution of the number of successes before `total_count` failures."""

    arg_constraints = {"total_count": constraints.greater_than_eq(0), "probs": constraints.half_open_interval(0.0, 1.0),
                       "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, total_count, probs=None, logits=None, validate_args=None):
        super().__init__(total_count, probs, logits, validate_args)

    mean = property(lambda self: self.total_count * self.logits.exp())
    mode = property(lambda self: ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0))
    variance = property(lambda self: self.mean / (-self.logits).sigmoid())

    def sample(self, sample_shape=()):
        """Return random counts: Poisson numbers of gamma distributed rates."""
        with no_grad():
            n = self._spread(self.total_count, sample_shape)
            n = n.clamp(min=FUNCTIONS["finfo"](n.dtype).tiny)          # no trials give no counts
            rate = noise.standard_gamma(n) * self.logits.exp()
            return noise.poisson(rate)

    def log_prob(self, value):
        self._validate(value)
        n = self.total_count
        weight = n * -softplus(self.logits) + value * -softplus(-self.logits)
        ways = (n + value).lgamma() - (1.0 + value).lgamma() - n.lgamma()
        return weight + where(n + value == 0, 0.0, ways)


class Poisson(ExponentialFamily):
    """Distribution of the number of events at a rate."""

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    _tensors = ("rate",)

    def __init__(self, rate, validate_args=None):
        (self.rate,) = broadcast_all(rate)
        super().__init__(batch_of((rate,), self.rate), validate_args=validate_args)

    mean = property(lambda self: self.rate)
    mode = property(lambda self: self.rate.floor())
    variance = property(lambda self: self.rate)

    def sample(self, sample_shape=()):
        """Return random counts."""
        with no_grad():
            return noise.poisson(self._spread(self.rate, sample_shape))

    def log_prob(self, value):
        self._validate(value)
        rate, value = broadcast_all(self.rate, value)
        return FUNCTIONS["xlogy"](value, rate) - rate - (value + 1).lgamma()
