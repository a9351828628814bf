"""Constraints: regions of parameters and samples, with checks of values."""

from ...ir import dtype as dt
from ...ir.errors import ArgumentError
from ..api.math.reductions import holds_anywhere
from ..api.register.register import FUNCTIONS
from ..linalg import linalg

__all__ = ["Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property",
           "greater_than", "greater_than_eq", "half_open_interval", "independent", "integer_interval", "interval",
           "is_dependent", "less_than", "lower_cholesky", "lower_triangular", "multinomial", "nonnegative",
           "nonnegative_integer", "one_hot", "positive", "positive_definite", "positive_integer", "positive_semidefinite",
           "real", "real_vector", "simplex", "square", "stack", "symmetric", "unit_interval"]


class Constraint:
    """Region of values. `event_dim` is the number of trailing dimensions of one value."""

    is_discrete = False
    event_dim = 0
    shows: tuple = ()      # attributes in the repr

    def check(self, value):
        """Return a bool tensor: whether each value is inside."""
        raise NotImplementedError(f"{type(self).__name__} does not define check()")

    def __repr__(self):
        name = "".join(word[:1].upper() + word[1:] for word in type(self).__name__.split("_"))
        return f"{name}({', '.join(f'{n}={getattr(self, n)}' for n in self.shows)})"


class _Dependent(Constraint):
    """Region that depends on other parameters, and cannot be checked by itself."""

    def __init__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def _known(self, value, what):
        if value is NotImplemented:
            raise NotImplementedError(f"{what} of this constraint depends on parameters")
        return value

    @property
    def is_discrete(self):
        """Whether values are integers."""
        return self._known(self._is_discrete, "is_discrete")

    @property
    def event_dim(self):
        """Number of trailing dimensions of one value."""
        return self._known(self._event_dim, "event_dim")

    def __call__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        """Return the same constraint with more properties declared."""
        return _Dependent(is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
                          event_dim=self._event_dim if event_dim is NotImplemented else event_dim)

    def check(self, value):
        """Raise: a check needs the parameters."""
        raise ValueError("a dependent constraint cannot be checked; ask the distribution's own")


def is_dependent(constraint) -> bool:
    """Return whether a constraint depends on parameters."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """Property that is a constraint of an object, and a dependent constraint of the class."""

    def __init__(self, fn=None, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        property.__init__(self, fn)
        _Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, fn=None, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        if fn is None:
            return _DependentProperty(is_discrete=is_discrete, event_dim=event_dim)
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


def _all_last(hit, dims):
    """Return whether all elements in the last dimensions are true."""
    return hit.reshape(*hit.shape[:hit.ndim - dims], -1).all(-1) if dims else hit


class independent(Constraint):
    """Constraint whose values have more trailing dimensions; all parts of a value must be inside."""

    shows = ("base_constraint", "reinterpreted_batch_ndims")

    def __init__(self, base_constraint, reinterpreted_batch_ndims):
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims

    is_discrete = property(lambda self: self.base_constraint.is_discrete)
    event_dim = property(lambda self: self.base_constraint.event_dim + self.reinterpreted_batch_ndims)

    def check(self, value):
        hit = self.base_constraint.check(value)
        if hit.ndim < self.reinterpreted_batch_ndims:
            raise ArgumentError(f"a value has {self.event_dim} or more dimensions, got {value.ndim}")
        return _all_last(hit, self.reinterpreted_batch_ndims)


class MixtureSameFamilyConstraint(Constraint):
    """Constraint that every component, along the last dimension of a batch, can draw a value."""

    shows = ("base_constraint",)

    def __init__(self, base_constraint):
        self.base_constraint = base_constraint

    is_discrete = property(lambda self: self.base_constraint.is_discrete)
    event_dim = property(lambda self: self.base_constraint.event_dim)

    def check(self, value):
        if value.ndim < self.event_dim:
            raise ArgumentError(f"a value has {self.event_dim} or more dimensions, got {value.ndim}")
        return _all_last(self.base_constraint.check(value.unsqueeze(-1 - self.event_dim)), 1)


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value):
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    is_discrete, event_dim = True, 1

    def check(self, value):
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class integer_interval(Constraint):
    """Integers between two bounds, both included."""

    is_discrete = True
    shows = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound, upper_bound):
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value):
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerGreaterThan(Constraint):
    is_discrete = True
    shows = ("lower_bound",)

    def __init__(self, lower_bound):
        self.lower_bound = lower_bound

    def check(self, value):
        return (value % 1 == 0) & (value >= self.lower_bound)


class _Real(Constraint):
    def check(self, value):
        return value == value                          # not nan


class greater_than(Constraint):
    """Numbers above a bound."""

    shows = ("lower_bound",)

    def __init__(self, lower_bound):
        self.lower_bound = lower_bound

    def check(self, value):
        return self.lower_bound < value


class greater_than_eq(greater_than):
    """Numbers at a bound or above."""

    def check(self, value):
        return self.lower_bound <= value


class less_than(Constraint):
    """Numbers below a bound."""

    shows = ("upper_bound",)

    def __init__(self, upper_bound):
        self.upper_bound = upper_bound

    def check(self, value):
        return value < self.upper_bound


class interval(Constraint):
    """Numbers between two bounds, both included."""

    shows = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound, upper_bound):
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value):
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class half_open_interval(interval):
    """Numbers between two bounds, the upper one excluded."""

    def check(self, value):
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value):
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class multinomial(Constraint):
    """Counts that sum to at most a bound."""

    is_discrete, event_dim = True, 1
    shows = ("upper_bound",)

    def __init__(self, upper_bound):
        self.upper_bound = upper_bound

    def check(self, x):
        return (x >= 0).all(-1) & (x.sum(-1) <= self.upper_bound)


class _LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value):
        return _all_last(value.tril() == value, 2)


class _LowerCholesky(_LowerTriangular):
    def check(self, value):
        return super().check(value) & (value.diagonal(0, -2, -1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    def check(self, value):
        tolerance = 10 * value.shape[-1] * FUNCTIONS["finfo"](value.dtype).eps
        rows = ((value * value).sum(-1).sqrt() - 1).abs() <= tolerance
        return rows.all(-1) & super().check(value)


class _Square(Constraint):
    event_dim = 2

    def check(self, value):
        fits = value.shape[-2] == value.shape[-1]
        return FUNCTIONS["full"](tuple(value.shape[:-2]), fits, dtype=dt.bool_, device=value.device)


class _Symmetric(_Square):
    def check(self, value):
        square = super().check(value)
        return _all_last(FUNCTIONS["isclose"](value, value.mT, atol=1e-6), 2) if not holds_anywhere(~square) else square


class _PositiveSemidefinite(_Symmetric):
    def check(self, value):
        symmetric = super().check(value)
        return linalg.eigvalsh(value).ge(0).all(-1) if not holds_anywhere(~symmetric) else symmetric


class _PositiveDefinite(_Symmetric):
    def check(self, value):
        symmetric = super().check(value)
        return linalg.cholesky_ex(value)[1] == 0 if not holds_anywhere(~symmetric) else symmetric


class _Joined(Constraint):
    """Several constraints along a dimension."""

    def __init__(self, constraints, dim):
        self.cseq, self.dim = list(constraints), dim

    is_discrete = property(lambda self: any(c.is_discrete for c in self.cseq))
    event_dim = property(lambda self: max(c.event_dim for c in self.cseq))


class cat(_Joined):
    """Constraints on parts of the given lengths, joined along a dimension."""

    def __init__(self, cseq, dim=0, lengths=None):
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise ArgumentError(f"{len(self.cseq)} constraints take as many lengths, got {len(self.lengths)}")

    def check(self, value):
        parts = value.split(self.lengths, self.dim)
        return FUNCTIONS["cat"]([c.check(v) for c, v in zip(self.cseq, parts)], self.dim)


class stack(_Joined):
    """Constraints on slices along a dimension."""

    def __init__(self, cseq, dim=0):
        super().__init__(cseq, dim)

    @property
    def event_dim(self):
        """Event dimensions of a slice, plus one if the slices are among them."""
        most = super().event_dim
        return most + 1 if self.dim + most < 0 else most

    def check(self, value):
        parts = value.unbind(self.dim)
        return FUNCTIONS["stack"]([c.check(v) for c, v in zip(self.cseq, parts)], self.dim)


dependent = _Dependent()
dependent_property = _DependentProperty
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
real = _Real()
real_vector = independent(real, 1)
positive = greater_than(0.0)
nonnegative = greater_than_eq(0.0)
unit_interval = interval(0.0, 1.0)
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
