"""Base of transforms: invertible maps with the log of their volume change, and combinations of them."""

import functools
import operator
import weakref
from typing import Any

from ...ir.cached_property import cached_property
from ...ir.errors import ArgumentError
from ..api.register.register import FUNCTIONS
from ..core.tensor import Size
from . import constraints
from .parameters import forwarded

__all__ = ["ComposeTransform", "IndependentTransform", "ReshapeTransform", "Transform", "identity_transform", "sum_last"]



def sum_last(value, dims):
    """Sum over the last dimensions."""
    return value.sum(tuple(range(-dims, 0))) if dims else value


class Transform:
    """Base of transforms. Subclasses define `_call`, `_inverse`, `log_abs_det_jacobian`, `domain` and `codomain`.
    `cache_size=1` caches the last pair of values, so that the inverse of a result is the very argument."""

    bijective = False
    domain: constraints.Constraint
    codomain: constraints.Constraint
    _arguments: tuple[str, ...]         # attributes that `with_cache` passes to __init__

    def __init__(self, cache_size=0):
        if cache_size not in (0, 1):
            raise ArgumentError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._inv: Any = None
        self._cached_x_y = (None, None)
        super().__init__()          # users' classes may have other bases, such as nn.Module

    def __getstate__(self):
        return {**self.__dict__, "_inv": None, "_cached_x_y": (None, None)}

    @property
    def event_dim(self) -> int:
        """Number of trailing dimensions of one value, if domain and codomain agree."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise ArgumentError("event_dim differs between domain and codomain; use .domain.event_dim or .codomain.event_dim")
        return self.domain.event_dim

    @property
    def inv(self):
        """The inverse transform."""
        inverse = None if self._inv is None else self._inv()
        if inverse is None:
            inverse = _InverseTransform(self)
            self._inv = weakref.ref(inverse)
        return inverse

    @property
    def sign(self):
        """Sign of the derivative of a monotone transform of single numbers."""
        raise NotImplementedError(f"{type(self).__name__} has no sign")

    def with_cache(self, cache_size=1):
        """Return the same with a cache of this size."""
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        family: Any = next((cls for cls in type(self).__mro__ if "_arguments" in vars(cls)), None)
        if family is None:
            raise NotImplementedError(f"{type(self).__name__} does not define with_cache()")
        return family(*[getattr(self, name) for name in family._arguments], cache_size=cache_size)

    def __eq__(self, other):
        return self is other

    __hash__ = object.__hash__

    def __call__(self, x):
        if not self._cache_size:
            return self._call(x)
        known, result = self._cached_x_y
        if x is known:
            return result
        y = self._call(x)
        self._cached_x_y = (x, y)
        return y

    def _inv_call(self, y):
        if not self._cache_size:
            return self._inverse(y)
        argument, known = self._cached_x_y
        if y is known:
            return argument
        x = self._inverse(y)
        self._cached_x_y = (x, y)
        return x

    def _call(self, x):
        raise NotImplementedError(f"{type(self).__name__} does not define _call()")

    def _inverse(self, y):
        raise NotImplementedError(f"{type(self).__name__} has no inverse")

    def log_abs_det_jacobian(self, x, y):
        """Return log |dy / dx|."""
        raise NotImplementedError(f"{type(self).__name__} does not define log_abs_det_jacobian()")

    def __repr__(self):
        return f"{type(self).__name__}()"

    def forward_shape(self, shape):
        """Return the shape of results for a shape of arguments."""
        return shape

    def inverse_shape(self, shape):
        """Return the shape of arguments for a shape of results."""
        return shape


class _InverseTransform(Transform):
    """Inverse of another transform."""

    def __init__(self, transform):
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    def __getstate__(self):
        return self.__dict__

    domain = property(lambda self: self._inv.codomain)
    codomain = property(lambda self: self._inv.domain)
    bijective, sign = forwarded("_inv", "bijective", "sign")
    inv = property(lambda self: self._inv)

    def with_cache(self, cache_size=1):
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other):
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    __hash__ = object.__hash__

    def __repr__(self):
        return f"{type(self).__name__}({self._inv!r})"

    def __call__(self, x):
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x, y):
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape):
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape):
        return self._inv.forward_shape(shape)


class ComposeTransform(Transform):
    """Transforms one after the other."""

    _arguments = ("parts",)

    def __init__(self, parts, cache_size=0):
        super().__init__(cache_size)
        self.parts = [p.with_cache(cache_size) for p in parts] if cache_size else list(parts)

    def __eq__(self, other):
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = object.__hash__

    def _region(self, ends, parts, entry, leave):
        """Return the constraint at one end, with as many dimensions as the whole chain needs there."""
        if not parts:
            return constraints.real
        region = ends
        need = getattr(parts[-1], leave).event_dim
        for part in reversed(parts):
            need += getattr(part, entry).event_dim - getattr(part, leave).event_dim
            need = max(need, getattr(part, entry).event_dim)
        return constraints.independent(region, need - region.event_dim) if need > region.event_dim else region

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        """Domain of the first part."""
        return self._region(self.parts[0].domain if self.parts else None, self.parts, "domain", "codomain")

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        """Codomain of the last part."""
        return self._region(self.parts[-1].codomain if self.parts else None, self.parts[::-1], "codomain", "domain")

    @cached_property
    def bijective(self):
        return all(p.bijective for p in self.parts)

    sign = property(lambda self: functools.reduce(operator.mul, (p.sign for p in self.parts), 1))

    @property
    def inv(self):
        """Inverses of the parts in reverse order."""
        inverse = None if self._inv is None else self._inv()
        if inverse is None:
            inverse = ComposeTransform([p.inv for p in reversed(self.parts)])
            self._inv, inverse._inv = weakref.ref(inverse), weakref.ref(self)
        return inverse

    def __call__(self, x):
        for part in self.parts:
            x = part(x)
        return x

    def _inv_call(self, y):
        for part in reversed(self.parts):
            y = part.inv(y)
        return y

    def log_abs_det_jacobian(self, x, y):
        """Return the sum over the parts."""
        if not self.parts:
            return FUNCTIONS["zeros_like"](x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        terms, dims = [], self.domain.event_dim
        for part, before, after in zip(self.parts, values, values[1:]):
            terms.append(sum_last(part.log_abs_det_jacobian(before, after), dims - part.domain.event_dim))
            dims += part.codomain.event_dim - part.domain.event_dim
        return functools.reduce(operator.add, terms)

    def forward_shape(self, shape):
        """Return the shape after all parts."""
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape):
        """Return the shape before all parts."""
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self):
        return "ComposeTransform(\n    " + ",\n    ".join(map(repr, self.parts)) + "\n)"


identity_transform = ComposeTransform([])


def _check_dims(value, region):
    """Raise unless a value has the dimensions of a region."""
    if value.ndim < region.event_dim:
        raise ArgumentError(f"Too few dimensions: {value.ndim}, and a value has {region.event_dim}")


class IndependentTransform(Transform):
    """Transform whose values have more trailing dimensions than those of its base."""

    _arguments = "base_transform", "reinterpreted_batch_ndims"

    def __init__(self, base_transform, reinterpreted_batch_ndims, cache_size=0):
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    bijective, sign = forwarded("base_transform", "bijective", "sign")
    domain = constraints.dependent_property(
        lambda self: constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims), is_discrete=False)
    codomain = constraints.dependent_property(
        lambda self: constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims), is_discrete=False)

    def _call(self, x):
        _check_dims(x, self.domain)
        return self.base_transform(x)

    def _inverse(self, y):
        _check_dims(y, self.codomain)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x, y):
        """Return the base's value, summed over the new dimensions."""
        return sum_last(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape):
        """Return the base's shape."""
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape):
        """Return the base's shape."""
        return self.base_transform.inverse_shape(shape)

    def __repr__(self):
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class ReshapeTransform(Transform):
    """Transform that reshapes the trailing dimensions."""

    bijective = True

    _arguments = "in_shape", "out_shape"

    def __init__(self, in_shape, out_shape, cache_size=0):
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ArgumentError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size)

    domain = constraints.dependent_property(lambda self: constraints.independent(constraints.real, len(self.in_shape)))
    codomain = constraints.dependent_property(lambda self: constraints.independent(constraints.real, len(self.out_shape)))

    def _call(self, x):
        return x.reshape(x.shape[:x.ndim - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y):
        return y.reshape(y.shape[:y.ndim - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x, y):
        """Return 0."""
        return FUNCTIONS["zeros"](tuple(x.shape[:x.ndim - len(self.in_shape)]), dtype=x.dtype, device=x.device)

    def _swapped(self, shape, old, new):
        cut = len(shape) - len(old)
        if cut < 0 or tuple(shape[cut:]) != tuple(old):
            raise ArgumentError(f"Shape mismatch: expected {tuple(old)} but got {tuple(shape[max(cut, 0):])}")
        return Size(shape[:cut]) + new

    def forward_shape(self, shape):
        """Return the shape with `out_shape` at the end."""
        return self._swapped(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape):
        """Return the shape with `in_shape` at the end."""
        return self._swapped(shape, self.out_shape, self.in_shape)
