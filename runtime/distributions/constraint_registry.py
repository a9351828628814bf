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


def _both(*examples):
    """Return a decorator that enters a factory in both registries."""

    def mark(fn):
        for example in examples:
            biject_to.register(example, fn)
            transform_to.register(example, fn)
        return fn

    return mark


@_both(constraints.real)
def _(constraint):
    return transforms.identity_transform


@biject_to.register(constraints.independent)
def _(constraint):
    return transforms.IndependentTransform(biject_to(constraint.base_constraint), constraint.reinterpreted_batch_ndims)


@transform_to.register(constraints.independent)
def _(constraint):
    return transforms.IndependentTransform(transform_to(constraint.base_constraint), constraint.reinterpreted_batch_ndims)


@_both(constraints.positive, constraints.nonnegative)
def _(constraint):
    if isinstance(constraint.lower_bound, (int, float)) and constraint.lower_bound == 0:
        return transforms.ExpTransform()
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(constraint.lower_bound, 1)])


@_both(constraints.less_than)
def _(constraint):
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)])


@_both(constraints.interval, constraints.half_open_interval)
def _(constraint):
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


@biject_to.register(constraints.simplex)
def _(constraint):
    return transforms.StickBreakingTransform()


@transform_to.register(constraints.simplex)
def _(constraint):
    return transforms.SoftmaxTransform()


@transform_to.register(constraints.lower_cholesky)
def _(constraint):
    return transforms.LowerCholeskyTransform()


@transform_to.register(constraints.positive_definite)
@transform_to.register(constraints.positive_semidefinite)
def _(constraint):
    return transforms.PositiveDefiniteTransform()


@_both(constraints.corr_cholesky)
def _(constraint):
    return transforms.CorrCholeskyTransform()


@biject_to.register(constraints.stack)
def _(constraint):
    return transforms.StackTransform([biject_to(c) for c in constraint.cseq], constraint.dim)


@transform_to.register(constraints.stack)
def _(constraint):
    return transforms.StackTransform([transform_to(c) for c in constraint.cseq], constraint.dim)


@biject_to.register(constraints.cat)
def _(constraint):
    return transforms.CatTransform([biject_to(c) for c in constraint.cseq], constraint.dim, constraint.lengths)


@transform_to.register(constraints.cat)
def _(constraint):
    return transforms.CatTransform([transform_to(c) for c in constraint.cseq], constraint.dim, constraint.lengths)
