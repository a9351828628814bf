"""Families over categories: Categorical, OneHotCategorical, Multinomial."""

from ...ir import dtype as dt
from ...ir.errors import ArgumentError
from ..api.random import random_tensors as noise
from ..api.register.register import FUNCTIONS
from ..autograd.grad_mode import no_grad
from ..core.tensor import Size
from . import constraints
from .discrete import Binomial, one_of
from .distribution import Distribution, counted
from .parameters import lazy_property, logits_to_probs, probs_to_logits, where

__all__ = ["Categorical", "Multinomial", "OneHotCategorical", "OneHotCategoricalStraightThrough"]


class Categorical(Distribution):
    """Distribution of indices 0 to K-1, by weights (`probs`, in their last dimension) or unnormalised log-weights
    (`logits`)."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _tensors = ("probs", "logits")

    def __init__(self, probs=None, logits=None, validate_args=None):
        one_of(probs, logits)
        given = logits if probs is None else probs
        if given.dim() < 1:
            raise ArgumentError(f"`{'logits' if probs is None else 'probs'}` parameter must be at least one-dimensional.")
        if probs is not None:
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        self._num_events = given.shape[-1]
        super().__init__(given.shape[:-1], validate_args=validate_args)

    logits = lazy_property(lambda self: probs_to_logits(self.probs))
    probs = lazy_property(lambda self: logits_to_probs(self.logits))

    _param = property(lambda self: self.probs if "probs" in self.__dict__ else self.logits)
    param_shape = property(lambda self: self._param.shape)
    support = constraints.dependent_property(
        lambda self: constraints.integer_interval(0, self._num_events - 1), is_discrete=True, event_dim=0)

    @property
    def mean(self):
        """nan: categories have no mean."""
        return FUNCTIONS["full"](tuple(self._batch_shape), float("nan"), dtype=self.probs.dtype, device=self.probs.device)

    mode = property(lambda self: self.probs.argmax(-1))

    @property
    def variance(self):
        """nan: categories have no variance."""
        return self.mean

    def sample(self, sample_shape=()):
        """Return random indices."""
        sample_shape = Size(sample_shape)
        with no_grad():
            rows = self.probs.reshape(-1, self._num_events)
            if not rows.shape[0] or not sample_shape.numel():
                return FUNCTIONS["zeros"](tuple(self._extended_shape(sample_shape)), dtype=dt.int64, device=rows.device)
            drawn = noise.multinomial(rows, sample_shape.numel(), True)
            return drawn.T.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value):
        """Return the log probability of an index."""
        self._validate(value)
        value = value.to(dt.int64).unsqueeze(-1)
        shape = FUNCTIONS["broadcast_shapes"](tuple(value.shape[:-1]), tuple(self.logits.shape[:-1]))
        logits = self.logits.expand(*shape, self._num_events)
        return logits.gather(-1, value.expand(*shape, 1)).squeeze(-1)

    def entropy(self):
        logits = self.logits.clamp(min=FUNCTIONS["finfo"](self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand=True):
        values = FUNCTIONS["arange"](self._num_events, dtype=dt.int64, device=self._param.device)
        return counted(values, self._batch_shape, expand)


class _OverCategories(Distribution):
    """Families built on a Categorical."""

    _tensors = ("probs", "logits", "_categorical")

    def _take_categorical(self, probs, logits):
        self._categorical = Categorical(probs, logits, validate_args=False)
        for name in ("probs", "logits"):
            if name in self._categorical.__dict__:
                self.__dict__[name] = self._categorical.__dict__[name]

    _param = property(lambda self: self._categorical._param)
    param_shape = property(lambda self: self._categorical.param_shape)
    logits = lazy_property(lambda self: self._categorical.logits)
    probs = lazy_property(lambda self: self._categorical.probs)



class OneHotCategorical(_OverCategories):
    """Distribution of rows with a single 1."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._take_categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self.param_shape[-1:], validate_args=validate_args)

    mean = property(lambda self: self.probs)
    mode = property(lambda self: self._one_hot(self.probs.argmax(-1)))
    variance = property(lambda self: self.probs * (1 - self.probs))

    def _one_hot(self, index):
        return FUNCTIONS["one_hot"](index, self._event_shape[0]).to(self._param.dtype)

    def sample(self, sample_shape=()):
        """Return rows with a single 1."""
        return self._one_hot(self._categorical.sample(sample_shape))

    def log_prob(self, value):
        """Return the log probability of a row."""
        self._validate(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self):
        return self._categorical.entropy()

    def enumerate_support(self, expand=True):
        n, like = self._event_shape[0], self._param
        values = FUNCTIONS["eye"](n, dtype=like.dtype, device=like.device).reshape(n, *(1,) * len(self._batch_shape), n)
        return values.expand(n, *self._batch_shape, n) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One-hot distribution whose samples carry the gradient of the probabilities."""

    has_rsample = True

    def rsample(self, sample_shape=()):
        """Return rows with a single 1 that carry the gradient of the probabilities."""
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class Multinomial(_OverCategories):
    """Distribution of how many times each category occurs in `total_count` draws."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        if not isinstance(total_count, int):
            raise NotImplementedError("Multinomial takes one total_count for the whole batch")
        self.total_count = total_count
        self._take_categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self.param_shape[-1:], validate_args=validate_args)

    support = constraints.dependent_property(
        lambda self: constraints.multinomial(self.total_count), is_discrete=True, event_dim=1)

    mean = property(lambda self: self.probs * self.total_count)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape=()):
        """Return random counts."""
        drawn = self._categorical.sample((self.total_count, *sample_shape))
        rows = drawn.reshape(self.total_count, -1).T
        counts = FUNCTIONS["zeros"]((rows.shape[0], self._event_shape[0]), dtype=self._param.dtype, device=self._param.device)
        ones = FUNCTIONS["ones"](tuple(rows.shape), dtype=self._param.dtype, device=self._param.device)
        return counts.scatter_add(1, rows, ones).reshape(self._extended_shape(sample_shape))

    def log_prob(self, value):
        """Return the log probability of counts."""
        self._validate(value)
        logits, value = FUNCTIONS["broadcast_tensors"](self.logits, value)
        weight = where((value == 0) & (logits == float("-inf")), 0.0, logits * value)
        return (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1) + weight.sum(-1)

    def entropy(self):
        n = FUNCTIONS["tensor"](float(self.total_count), dtype=self.probs.dtype, device=self.probs.device)
        count = Binomial(self.total_count, self.probs, validate_args=False)
        values = count.enumerate_support(False)[1:]
        weight = (count.log_prob(values).exp() * (values + 1).lgamma()).sum((0, -1))
        return n * self._categorical.entropy() - (n + 1).lgamma() + weight
