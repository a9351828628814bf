"""Transforms of parts of a value: each slice, or each stretch, along a dimension by a transform of its own."""

import functools
import operator

from ...ir.errors import ArgumentError
from ..api.register.register import FUNCTIONS
from . import constraints
from .transform_base import Transform, sum_last

__all__ = ["CatTransform", "StackTransform"]


class _Joined(Transform):
    """Transforms of parts."""

    def __init__(self, tseq, dim, cache_size):
        super().__init__(cache_size)
        self.transforms, self.dim = [t.with_cache(cache_size) if cache_size else t for t in tseq], dim

    bijective = property(lambda self: all(t.bijective for t in self.transforms))


class CatTransform(_Joined):
    """Each stretch along a dimension, of the given lengths (1 each), by a transform of its own."""

    def __init__(self, tseq, dim=0, lengths=None, cache_size=0):
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise ArgumentError(f"{len(self.transforms)} transforms take as many lengths, got {len(self.lengths)}")

    @property
    def event_dim(self):
        """The most that any needs."""
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self):
        """Of all stretches together."""
        return sum(self.lengths)

    @constraints.dependent_property
    def domain(self):
        """Those of the transforms, stretch by stretch."""
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self):
        """Those of the transforms, stretch by stretch."""
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)

    def with_cache(self, cache_size=1):
        """The same with a cache of this size."""
        return self if self._cache_size == cache_size else CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _call(self, x):
        return FUNCTIONS["cat"]([t(v) for t, v in zip(self.transforms, x.split(self.lengths, self.dim))], self.dim)

    def _inverse(self, y):
        return FUNCTIONS["cat"]([t.inv(v) for t, v in zip(self.transforms, y.split(self.lengths, self.dim))], self.dim)

    def log_abs_det_jacobian(self, x, y):
        """Stretch by stretch; their sum where the stretches lie among the dimensions of one value."""
        stretches = zip(self.transforms, x.split(self.lengths, self.dim), y.split(self.lengths, self.dim))
        parts = [sum_last(t.log_abs_det_jacobian(a, b), self.event_dim - t.event_dim) for t, a, b in stretches]
        dim = (self.dim - x.ndim if self.dim >= 0 else self.dim) + self.event_dim
        return FUNCTIONS["cat"](parts, dim) if dim < 0 else functools.reduce(operator.add, parts)


class StackTransform(_Joined):
    """Each slice along a dimension by a transform of its own."""

    def __init__(self, tseq, dim=0, cache_size=0):
        super().__init__(tseq, dim, cache_size)

    @constraints.dependent_property
    def domain(self):
        """Those of the transforms, slice by slice."""
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self):
        """Those of the transforms, slice by slice."""
        return constraints.stack([t.codomain for t in self.transforms], self.dim)

    def with_cache(self, cache_size=1):
        """The same with a cache of this size."""
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _each(self, apply, *values):
        slices = [v.unbind(self.dim) for v in values]
        if len(slices[0]) != len(self.transforms):
            raise ArgumentError(f"{len(self.transforms)} transforms take as many slices along dimension {self.dim}, "
                                f"got {len(slices[0])}")
        parts = zip(self.transforms, *slices)
        return FUNCTIONS["stack"]([apply(t, *vs) for t, *vs in parts], self.dim)

    def _call(self, x):
        return self._each(lambda t, v: t(v), x)

    def _inverse(self, y):
        return self._each(lambda t, v: t.inv(v), y)

    def log_abs_det_jacobian(self, x, y):
        """Slice by slice."""
        return self._each(lambda t, a, b: t.log_abs_det_jacobian(a, b), x, y)
