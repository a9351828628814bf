"""Distributions made of others: Independent, TransformedDistribution, MixtureSameFamily."""

from ...ir.errors import ArgumentError
from ..autograd.grad_mode import no_grad
from ..core.tensor import Size
from . import constraints
from .categorical import Categorical
from .distribution import Distribution
from .parameters import forwarded
from .transforms import ComposeTransform, Transform, sum_last

__all__ = ["Independent", "MixtureSameFamily", "TransformedDistribution"]


class Independent(Distribution):
    """Distribution whose last batch dimensions become part of one sample."""

    def __init__(self, base_distribution, reinterpreted_batch_ndims, validate_args=None):
        if reinterpreted_batch_ndims > len(base_distribution.batch_shape):
            raise ArgumentError("Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                                f"{reinterpreted_batch_ndims} vs {len(base_distribution.batch_shape)}")
        shape = base_distribution.batch_shape + base_distribution.event_shape
        cut = len(base_distribution.batch_shape) - reinterpreted_batch_ndims
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = super().expand(batch_shape, _instance)
        new.base_dist = self.base_dist.expand(Size(batch_shape) + self._event_shape[:self.reinterpreted_batch_ndims])
        return new

    has_rsample = property(lambda self: self.base_dist.has_rsample)

    @property
    def has_enumerate_support(self):
        """Whether values can be listed: only without own dimensions, as their number would be a power."""
        return not self.reinterpreted_batch_ndims and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self):
        """Support of the base, with more dimensions."""
        base = self.base_dist.support
        return constraints.independent(base, self.reinterpreted_batch_ndims) if self.reinterpreted_batch_ndims else base

    mean, mode, variance = forwarded("base_dist", "mean", "mode", "variance")

    def sample(self, sample_shape=()):
        """Return the base's samples."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape=()):
        """Return the base's samples."""
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value):
        """Return the log density, summed over the new event dimensions."""
        return sum_last(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self):
        """Return the entropy, summed over the new event dimensions."""
        return sum_last(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand=True):
        """Return the base's values, if there are no new event dimensions."""
        if self.reinterpreted_batch_ndims:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand)

    def __repr__(self):
        return f"Independent({self.base_dist!r}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """Distribution of another one's samples after transforms."""

    def __init__(self, base_distribution, transforms, validate_args=None):
        given = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(given, (list, tuple)) or not all(isinstance(t, Transform) for t in given):
            raise ArgumentError(f"transforms must be a Transform or a list of Transforms, got {transforms}")
        self.transforms = list(given)
        chain = ComposeTransform(self.transforms)
        need = chain.domain.event_dim
        shape = base_distribution.batch_shape + base_distribution.event_shape
        if len(shape) < need:
            raise ArgumentError(f"base_distribution needs to have shape with size at least {need}, but got {list(shape)}.")
        out = Size(chain.forward_shape(shape))
        base_shape = chain.inverse_shape(out)
        if base_shape != shape:
            base_distribution = base_distribution.expand(base_shape[:len(base_shape) - len(base_distribution.event_shape)])
        self.base_dist = _with_events(base_distribution, need)
        events = max(chain.codomain.event_dim, len(self.base_dist.event_shape) + chain.codomain.event_dim - need)
        cut = len(out) - events
        super().__init__(out[:cut], out[cut:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        if self._tensors:       # transforms hold them
            given = {name: getattr(self, name).expand(batch_shape) for name in self._tensors}
            return self._copied(_instance, of=self._family()(**given, validate_args=self._validate_args))
        new = self._copied(_instance)
        shape = ComposeTransform(self.transforms).inverse_shape(Size(batch_shape) + self._event_shape)
        new.base_dist = self.base_dist.expand(shape[:len(shape) - len(self.base_dist.event_shape)])
        new._batch_shape = Size(batch_shape)
        return new

    has_rsample = property(lambda self: self.base_dist.has_rsample)

    @constraints.dependent_property(is_discrete=False)
    def support(self):
        """Codomain of the last transform."""
        if not self.transforms:
            return self.base_dist.support
        last = self.transforms[-1].codomain
        more = len(self._event_shape) - last.event_dim
        return constraints.independent(last, more) if more > 0 else last

    def sample(self, sample_shape=()):
        with no_grad():
            return self._through(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape=()):
        return self._through(self.base_dist.rsample(sample_shape))

    def _through(self, x):
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value):
        """Return the base's log density at the preimage, less the volume change."""
        self._validate(value)
        events, y, total = len(self._event_shape), value, 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            events += transform.domain.event_dim - transform.codomain.event_dim
            total = total - sum_last(transform.log_abs_det_jacobian(x, y), events - transform.domain.event_dim)
            y = x
        return total + sum_last(self.base_dist.log_prob(y), events - len(self.base_dist.event_shape))

    def _sign(self):
        sign = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return sign

    def _monotonized(self, probability):
        """Return a probability of the base as one of the result: reflected if the transforms are decreasing."""
        sign = self._sign()
        return probability if isinstance(sign, int) and sign == 1 else sign * (probability - 0.5) + 0.5

    def cdf(self, value):
        """Return the base's cdf at the preimage."""
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonized(self.base_dist.cdf(value))

    def icdf(self, value):
        """Return the base's quantile, transformed."""
        return self._through(self.base_dist.icdf(self._monotonized(value)))

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{n}: {getattr(self, n)}' for n in self.arg_constraints)})" \
            if self.arg_constraints else f"{type(self).__name__}({self.base_dist!r}, {self.transforms})"


def _with_events(base, need):
    """Return a base whose samples have at least as many dimensions as the transforms' arguments."""
    more = need - len(base.event_shape)
    return Independent(base, more) if more > 0 else base


class MixtureSameFamily(Distribution):
    """A mixture of the distributions along the last dimension of a batch, with weights from a Categorical."""

    has_rsample = False

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        if not isinstance(mixture_distribution, Categorical):
            raise ArgumentError("The Mixture distribution needs to be an instance of Categorical")
        if not isinstance(component_distribution, Distribution) or not component_distribution.batch_shape:
            raise ArgumentError("The Component distribution needs to be a Distribution with a batch")
        batch, mix = component_distribution.batch_shape[:-1], mixture_distribution.batch_shape
        if mixture_distribution.logits.shape[-1] != component_distribution.batch_shape[-1] or any(
                m not in (1, b) for m, b in zip(reversed(mix), reversed(batch))):
            raise ArgumentError(f"mixture weights {list(mixture_distribution.logits.shape)} do not fit to components of batch "
                                f"shape {list(component_distribution.batch_shape)}")
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        self._num_component = component_distribution.batch_shape[-1]
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(batch, component_distribution.event_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = super().expand(batch_shape, _instance)
        new._component_distribution = self._component_distribution.expand(Size(batch_shape) + (self._num_component,))
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        return new

    mixture_distribution = property(lambda self: self._mixture_distribution)
    component_distribution = property(lambda self: self._component_distribution)
    support = constraints.dependent_property(
        lambda self: constraints.MixtureSameFamilyConstraint(self._component_distribution.support))

    def _weights(self):
        """Return the weights, broadcastable with the components' samples."""
        p = self._mixture_distribution.probs
        return p.reshape(p.shape + (1,) * self._event_ndims)

    mean = property(lambda self: (self._weights() * self._component_distribution.mean).sum(-1 - self._event_ndims))

    @property
    def variance(self):
        """Variance within the components and between them."""
        weights, dim = self._weights(), -1 - self._event_ndims
        within = (weights * self._component_distribution.variance).sum(dim)
        offset = self._component_distribution.mean - self.mean.unsqueeze(dim)
        return within + (weights * offset.pow(2)).sum(dim)

    def cdf(self, value):
        value = value.unsqueeze(-1 - self._event_ndims)
        return (self._component_distribution.cdf(value) * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, value):
        self._validate(value)
        each = self._component_distribution.log_prob(value.unsqueeze(-1 - self._event_ndims))
        return (each + self._mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def sample(self, sample_shape=()):
        """Return samples of components drawn by their weights."""
        with no_grad():
            dim = len(sample_shape) + len(self._batch_shape)
            which = self._mixture_distribution.expand(self._batch_shape).sample(sample_shape)
            drawn = self._component_distribution.sample(sample_shape)
            index = which.reshape(which.shape + (1,) * (self._event_ndims + 1))
            index = index.expand(which.shape + (1,) + self._event_shape)
            return drawn.gather(dim, index).squeeze(dim)

    def __repr__(self):
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"
