"""Transforms from real numbers onto constraints: `biject_to` one to one, `transform_to` at least onto."""

import functools

from ...ir.errors import ArgumentError
from . import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Registry of the transforms onto each constraint."""

    def __init__(self):
        self._makers: dict = {}

    def register(self, constraint, factory=None):
        """Enter a factory of transforms for a class of constraints (or that of an example); also a decorator."""
        if factory is None:
            return functools.partial(self.register, constraint)
        kind = constraint if isinstance(constraint, type) else type(constraint)
        if not issubclass(kind, constraints.Constraint):
            raise ArgumentError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._makers[kind] = factory
        return factory

    def __call__(self, constraint):
        make = self._makers.get(type(constraint))
        if make is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return make(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _above(constraint):
    if isinstance(constraint.lower_bound, (int, float)) and constraint.lower_bound == 0:
        return transforms.ExpTransform()
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(constraint.lower_bound, 1)])


def _below(constraint):
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)])


def _between(constraint):
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


for _of in (biject_to, transform_to):
    _of.register(constraints.real, lambda _: transforms.identity_transform)
    for _region in (constraints.positive, constraints.nonnegative):
        _of.register(_region, _above)
    _of.register(constraints.less_than, _below)
    for _kind in (constraints.interval, constraints.half_open_interval):
        _of.register(_kind, _between)
    _of.register(constraints.corr_cholesky, lambda _: transforms.CorrCholeskyTransform())
    _of.register(constraints.independent, lambda c, of=_of: transforms.IndependentTransform(
        of(c.base_constraint), c.reinterpreted_batch_ndims))
    _of.register(constraints.stack, lambda c, of=_of: transforms.StackTransform([of(part) for part in c.cseq], c.dim))
    _of.register(constraints.cat, lambda c, of=_of: transforms.CatTransform([of(part) for part in c.cseq], c.dim, c.lengths))

biject_to.register(constraints.simplex, lambda _: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda _: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda _: transforms.LowerCholeskyTransform())
for _matrices in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_matrices, lambda _: transforms.PositiveDefiniteTransform())
