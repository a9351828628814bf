"""Base of distributions: shapes, validation, and helpers of all families."""

from ...ir.errors import ArgumentError
from ..api.math.reductions import holds_anywhere
from ..autograd.grad_mode import no_grad
from ..core.tensor import Size, Tensor
from ..state.messages import warn
from ..state.mode import tls
from ..state.switches import Switch
from . import constraints
from .parameters import lazy_property

__all__ = ["Distribution", "ExponentialFamily"]


_validates = Switch("whether distributions check their arguments", __debug__)


class _Default:
    """Attribute that has the value of a switch, until an object gets its own."""

    def __get__(self, owner, kind=None) -> bool:
        return _validates.get()


class Distribution:
    """Base of distributions. A sample has shape sample_shape + batch_shape + event_shape.

    Subclasses define `rsample` (differentiable in the parameters) or `sample`, and `log_prob`. `_tensors` names the attributes
    whose leading dimensions are the batch's; `expand` expands these.
    """

    has_rsample = False
    has_enumerate_support = False
    arg_constraints: dict = {}
    _tensors: tuple = ()
    _validate_args = _Default()

    @staticmethod
    def set_default_validate_args(value: bool):
        """Set whether new distributions validate parameters and values by default."""
        if value not in (True, False):
            raise ArgumentError(f"set_default_validate_args takes a bool, got {value!r}")
        _validates.set(value)

    def __init__(self, batch_shape=(), event_shape=(), validate_args=None):
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()          # users' classes may have other bases

    def _check_parameters(self):
        try:
            bounds = self.arg_constraints
        except NotImplementedError:
            bounds = {}
            warn(f"{type(self).__name__} does not define arg_constraints; give validate_args=False to say that there "
                 "is nothing to check")
        for name, constraint in bounds.items():
            computed = name not in self.__dict__ and isinstance(getattr(type(self), name, None), lazy_property)
            if constraints.is_dependent(constraint) or computed:
                continue
            value = getattr(self, name)
            if holds_anywhere(~constraint.check(value)):
                raise ArgumentError(f"Expected parameter {name} ({value.aval}) of {self!r} to satisfy the constraint "
                                    f"{constraint!r}, but found invalid values{_examples(value, constraint)}")

    # Shapes.

    @property
    def batch_shape(self) -> Size:
        """The shape of the parameters."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample."""
        return self._event_shape

    def expand(self, batch_shape, _instance=None):
        """Return the same distribution with a larger batch."""
        batch_shape = Size(batch_shape)
        new = self._copied(_instance)
        for name in self._tensors:
            value = self.__dict__.get(name)
            if isinstance(value, Tensor):
                new.__dict__[name] = value.expand(batch_shape + value.shape[len(self._batch_shape):])
            elif isinstance(value, Distribution):
                new.__dict__[name] = value.expand(batch_shape)
        new._batch_shape = batch_shape
        return new

    def _get_checked_instance(self, cls, _instance=None):
        """Return the object that a subclass's `expand` fills: the given one, else a new object of the class."""
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(f"{type(self).__name__} has an __init__ of its own, so it must define expand(), too")
        return type(self).__new__(type(self)) if _instance is None else _instance

    def _family(self) -> type:
        return next(cls for cls in type(self).__mro__ if cls.__module__.startswith(f"{__package__}."))

    def _copied(self, instance=None, of=None):
        """Return a copy of this or a given object, for `expand`, which must know all attributes that `__init__` sets."""
        new = self._get_checked_instance(self._family(), instance)
        new.__dict__.update((of or self).__dict__)
        return new

    def _extended_shape(self, sample_shape=()) -> Size:
        return Size(sample_shape) + self._batch_shape + self._event_shape

    # Members that a family defines.

    @property
    def support(self):
        """Constraint of the samples."""
        raise NotImplementedError(f"{type(self).__name__} does not define support")

    @property
    def mean(self):
        """The mean."""
        raise NotImplementedError(f"{type(self).__name__} does not define mean")

    @property
    def mode(self):
        """The most likely value."""
        raise NotImplementedError(f"{type(self).__name__} does not define mode")

    @property
    def variance(self):
        """The variance."""
        raise NotImplementedError(f"{type(self).__name__} does not define variance")

    @property
    def stddev(self):
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape=()):
        """Return samples without a gradient."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=()):
        """Return samples that are differentiable in the parameters."""
        raise NotImplementedError(f"{type(self).__name__} does not define rsample(); its samples are not differentiable")

    def sample_n(self, n):
        """Return n samples."""
        return self.sample(Size((n,)))

    def log_prob(self, value):
        """Return the logarithm of the density (or probability) at a value."""
        raise NotImplementedError(f"{type(self).__name__} does not define log_prob()")

    def cdf(self, value):
        """Return the probability of at most a value."""
        raise NotImplementedError(f"{type(self).__name__} does not define cdf()")

    def icdf(self, value):
        """Return the quantile of a probability."""
        raise NotImplementedError(f"{type(self).__name__} does not define icdf()")

    def enumerate_support(self, expand=True):
        """Return all values of a discrete distribution, along a new first dimension."""
        raise NotImplementedError(f"{type(self).__name__} does not define enumerate_support()")

    def entropy(self):
        """Return the entropy in nats."""
        raise NotImplementedError(f"{type(self).__name__} does not define entropy()")

    def perplexity(self):
        """Return exp of the entropy."""
        return self.entropy().exp()

    # Helpers of families.

    def _validate(self, value):
        """Call `_validate_sample`, which subclasses may override, if the distribution validates."""
        if self._validate_args:
            self._validate_sample(value)

    def _validate_sample(self, value):
        """Raise unless a value has a fitting shape and is in the support."""
        if not self._validate_args:
            return
        if not isinstance(value, Tensor):
            raise ArgumentError("The value argument to log_prob must be a Tensor")
        events = self._event_shape
        if value.shape[value.ndim - len(events):] != events:
            raise ArgumentError(f"The right-most size of value must match event_shape: {list(value.shape)} vs {list(events)}.")
        for i, j in zip(reversed(value.shape), reversed(self._batch_shape + events)):
            if i != 1 and j != 1 and i != j:
                raise ArgumentError(f"Value is not broadcastable with batch_shape+event_shape: {list(value.shape)} vs "
                                    f"{list(self._batch_shape + events)}.")
        try:
            support = self.support
        except NotImplementedError:
            return
        if holds_anywhere(~support.check(value)):
            raise ArgumentError(f"Expected value ({value.aval}) to be within the support ({support!r}) of {self!r}, but found "
                                f"invalid values{_examples(value, support)}")

    def _spread(self, x, sample_shape):
        """Return a parameter expanded to the shape of samples."""
        return x.expand(self._extended_shape(sample_shape))

    def __repr__(self):
        names = [n for n in self.arg_constraints if n in self.__dict__]
        values = {n: self.__dict__[n] for n in names}
        shown = [f"{n}: {v if v.numel() == 1 and tls.m.batched is None else v.aval}" for n, v in values.items()]
        return f"{type(self).__name__}({', '.join(shown)})"


_MOST_SHOWN = 4       # numbers of a message


def _examples(value, constraint) -> str:
    """Return the text of the first wrong values; under vmap samples cannot be shown."""
    if tls.m.batched is not None:
        return " (for some sample)"
    with no_grad():
        wrong = ~constraint.check(value)
        first = value.expand(wrong.shape + value.shape[value.ndim - constraint.event_dim:])[wrong].flatten().tolist()
    shown = [f"{x:.6g}" if isinstance(x, float) else str(x) for x in first[:_MOST_SHOWN]]
    return f": {', '.join(shown)}{', ...' if len(first) > _MOST_SHOWN else ''}"


class ExponentialFamily(Distribution):
    """Marker base of families whose log density is linear in statistics of the value."""


def counted(values, batch_shape, expand):
    """Return values of a support along a new first dimension, expanded over the batch."""
    values = values.reshape(-1, *(1,) * len(batch_shape))
    return values.expand(-1, *batch_shape) if expand else values
