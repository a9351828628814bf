"""Transforms: invertible maps of values, with the logarithm of their volume change; and joins of transforms by part."""

import functools
import math
import operator
from typing import Any

from ...ir.errors import ArgumentError
from ...ir.ops.nn.activations import softplus
from ...ir.symbols.number_functions import log
from ..api.register.register import FUNCTIONS
from ..core.tensor import Size
from . import constraints
from .parameters import tril_matrix_to_vec, vec_to_tril_matrix
from .transform_base import (  # noqa: F401  (libraries name it)
    ComposeTransform,
    IndependentTransform,
    ReshapeTransform,
    Transform,
    _InverseTransform,
    identity_transform,
    sum_last,
)

__all__ = ["AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
           "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform", "LowerCholeskyTransform",
           "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
           "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform",
           "identity_transform"]


class _WithoutParameters(Transform):
    """Transform that is equal to others of its family; a subclass elsewhere belongs to the family of its base."""

    def __eq__(self, other):
        return isinstance(other, next(cls for cls in type(self).__mro__ if cls.__module__ == __name__))

    __hash__ = object.__hash__


class _Elementwise(_WithoutParameters):
    """Bijection of single numbers without parameters."""

    domain: Any = constraints.real
    codomain: Any = constraints.real
    bijective, sign = True, +1


class ExpTransform(_Elementwise):
    """Transform exp(x)."""

    codomain = constraints.positive

    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        return x


class PowerTransform(Transform):
    """Transform x ** exponent of positive numbers."""

    domain, codomain, bijective = constraints.positive, constraints.positive, True

    _arguments = ("exponent",)

    def __init__(self, exponent, cache_size=0):
        super().__init__(cache_size)
        self.exponent = exponent if hasattr(exponent, "dtype") else FUNCTIONS["tensor"](float(exponent))

    sign = property(lambda self: self.exponent.sign())

    def __eq__(self, other):
        return isinstance(other, PowerTransform) and bool((self.exponent == other.exponent).all())

    __hash__ = object.__hash__

    def _call(self, x):
        return x.pow(self.exponent)

    def _inverse(self, y):
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape):
        """Return the shape broadcast with the exponent."""
        return FUNCTIONS["broadcast_shapes"](tuple(shape), tuple(self.exponent.shape))

    inverse_shape = forward_shape


def _clipped_sigmoid(x):
    """Return 1 / (1 + exp(-x)), strictly between 0 and 1."""
    info = FUNCTIONS["finfo"](x.dtype)
    return x.sigmoid().clamp(min=info.tiny, max=1.0 - info.eps)


class SigmoidTransform(_Elementwise):
    """Transform 1 / (1 + exp(-x))."""

    codomain = constraints.unit_interval

    def _call(self, x):
        return _clipped_sigmoid(x)

    def _inverse(self, y):
        info = FUNCTIONS["finfo"](y.dtype)
        y = y.clamp(min=info.tiny, max=1.0 - info.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x, y):
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Elementwise):
    """Transform log(1 + exp(x))."""

    codomain = constraints.positive

    def _call(self, x):
        return softplus(x)

    def _inverse(self, y):
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x, y):
        return -softplus(-x)


class TanhTransform(_Elementwise):
    """Transform tanh(x)."""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return y.atanh()

    def log_abs_det_jacobian(self, x, y):
        """Return log(1 - tanh(x)**2), stable for large x."""
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(_WithoutParameters):
    """Transform |x|; its inverse returns the positive branch."""

    domain, codomain = constraints.real, constraints.positive

    def _call(self, x):
        return x.abs()

    def _inverse(self, y):
        return y


class AffineTransform(Transform):
    """Transform loc + scale * x."""

    bijective = True

    _arguments = "loc", "scale", "_event_dim"

    def __init__(self, loc, scale, event_dim=0, cache_size=0):
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    event_dim = property(lambda self: self._event_dim)

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        """Real numbers."""
        return constraints.independent(constraints.real, self._event_dim) if self._event_dim else constraints.real

    codomain = domain

    def __eq__(self, other):
        return isinstance(other, AffineTransform) and _same(self.loc, other.loc) and _same(self.scale, other.scale)

    __hash__ = object.__hash__

    @property
    def sign(self):
        """Sign of the scale."""
        if isinstance(self.scale, (int, float)):
            return 1 if self.scale > 0 else -1 if self.scale < 0 else 0
        return self.scale.sign()

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        """Return log |scale| of every element."""
        shape = x.shape
        if isinstance(self.scale, (int, float)):
            result = FUNCTIONS["full_like"](x, log(abs(self.scale)))
        else:
            result = self.scale.abs().log()
        if self._event_dim:
            result = result.expand(FUNCTIONS["broadcast_shapes"](tuple(result.shape), tuple(shape)))
            shape = shape[:-self._event_dim]
        return sum_last(result, self._event_dim).expand(shape)

    def forward_shape(self, shape):
        """Return the shape broadcast with loc and scale."""
        return FUNCTIONS["broadcast_shapes"](tuple(shape), tuple(getattr(self.loc, "shape", ())),
                                             tuple(getattr(self.scale, "shape", ())))

    inverse_shape = forward_shape


def _same(a, b) -> bool:
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return a == b
    equal = a == b
    return equal if isinstance(equal, bool) else bool(equal.all())


class SoftmaxTransform(_WithoutParameters):
    """Transform softmax along the last dimension; its inverse is the logarithm."""

    domain, codomain = constraints.real_vector, constraints.simplex

    def _call(self, x):
        return x.softmax(-1)

    def _inverse(self, y):
        return y.log()


class StickBreakingTransform(_WithoutParameters):
    """Transform of K real numbers to K + 1 probabilities by stick breaking."""

    domain, codomain, bijective = constraints.real_vector, constraints.simplex, True

    @staticmethod
    def _offset(count, like):
        return FUNCTIONS["arange"](count, 0, -1, dtype=like.dtype, device=like.device).log()

    def _call(self, x):
        z = SigmoidTransform()(x - self._offset(x.shape[-1], x))
        pad = FUNCTIONS["ones"]((*x.shape[:-1], 1), dtype=x.dtype, device=x.device)
        left = FUNCTIONS["cat"]([pad, (1 - z).cumprod(-1)], -1)
        return FUNCTIONS["cat"]([z, pad], -1) * left

    def _inverse(self, y):
        count = y.shape[-1] - 1
        head = y[..., :count]
        left = (1 - head.cumsum(-1)).clamp(min=FUNCTIONS["finfo"](y.dtype).tiny)
        return head.log() - left.log() + self._offset(count, y)

    def log_abs_det_jacobian(self, x, y):
        """Return the sum over the pieces."""
        x = x - self._offset(x.shape[-1], x)
        return (-x - softplus(-x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape):
        """Return the shape with one more category."""
        return Size(shape[:-1]) + (shape[-1] + 1,)

    def inverse_shape(self, shape):
        """Return the shape with one category less."""
        return Size(shape[:-1]) + (shape[-1] - 1,)


class LowerCholeskyTransform(_WithoutParameters):
    """Transform of square matrices to lower triangular ones with a positive diagonal."""

    domain = constraints.independent(constraints.real, 2)
    codomain: Any = constraints.lower_cholesky

    def _call(self, x):
        return x.tril(-1) + FUNCTIONS["diag_embed"](x.diagonal(0, -2, -1).exp())

    def _inverse(self, y):
        return y.tril(-1) + FUNCTIONS["diag_embed"](y.diagonal(0, -2, -1).log())


class PositiveDefiniteTransform(LowerCholeskyTransform):
    """Transform of square matrices to positive definite ones."""

    codomain = constraints.positive_definite

    def _call(self, x):
        lower = super()._call(x)
        return lower @ lower.mT

    def _inverse(self, y):
        return super()._inverse(FUNCTIONS["cholesky"](y))


class CorrCholeskyTransform(Transform):
    """Transform of D (D - 1) / 2 real numbers to the Cholesky factor of a correlation matrix of size D."""

    domain, codomain, bijective = constraints.real_vector, constraints.corr_cholesky, True

    def _call(self, x):
        eps = FUNCTIONS["finfo"](x.dtype).eps
        r = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        rest = (1 - r * r).sqrt().cumprod(-1)
        identity = FUNCTIONS["eye"](r.shape[-1], dtype=r.dtype, device=r.device)
        ones = FUNCTIONS["ones"]((*r.shape[:-1], 1), dtype=r.dtype, device=r.device)
        return (r + identity) * FUNCTIONS["cat"]([ones, rest[..., :-1]], -1)

    def _inverse(self, y):
        t = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(self._left(y), diag=-1).sqrt()
        return (t.log1p() - (-t).log1p()) / 2

    @staticmethod
    def _left(y):
        """Return the squared length of each row that is left for an entry and those after it."""
        ones = FUNCTIONS["ones"]((*y.shape[:-1], 1), dtype=y.dtype, device=y.device)
        return FUNCTIONS["cat"]([ones, (1 - (y * y).cumsum(-1))[..., :-1]], -1)

    def log_abs_det_jacobian(self, x, y):
        """Return the sum of the log lengths left in rows and of the tanh's derivative."""
        volume = 0.5 * tril_matrix_to_vec(self._left(y), diag=-1).log().sum(-1)
        return volume - 2 * (x + softplus(-2 * x) - math.log(2.0)).sum(-1)

    def forward_shape(self, shape):
        """Return the shape of square matrices."""
        n = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != shape[-1]:
            raise ArgumentError("Input is not a flattened lower-diagonal number")
        return Size(shape[:-1]) + (n, n)

    def inverse_shape(self, shape):
        """Return the shape of flattened lower triangles."""
        if shape[-2] != shape[-1]:
            raise ArgumentError("Input is not square")
        return Size(shape[:-2]) + (shape[-1] * (shape[-1] - 1) // 2,)


class CumulativeDistributionTransform(Transform):
    """Transform of values to their probabilities under a distribution."""

    bijective, codomain, sign = True, constraints.unit_interval, +1

    _arguments = ("distribution",)

    def __init__(self, distribution, cache_size=0):
        super().__init__(cache_size)
        self.distribution = distribution

    domain = property(lambda self: self.distribution.support)

    def _call(self, x):
        return self.distribution.cdf(x)

    def _inverse(self, y):
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x, y):
        return self.distribution.log_prob(x)


class _Joined(Transform):
    """Base of transforms of parts."""

    def __init__(self, tseq, dim, cache_size):
        super().__init__(cache_size)
        self.transforms, self.dim = [t.with_cache(cache_size) if cache_size else t for t in tseq], dim

    bijective = property(lambda self: all(t.bijective for t in self.transforms))


class CatTransform(_Joined):
    """Transforms of segments along a dimension, of the given lengths (by default 1)."""

    _arguments = "transforms", "dim", "lengths"

    def __init__(self, tseq, dim=0, lengths=None, cache_size=0):
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise ArgumentError(f"{len(self.transforms)} transforms take as many lengths, got {len(self.lengths)}")

    event_dim = property(lambda self: max(t.event_dim for t in self.transforms))
    length = property(lambda self: sum(self.lengths))

    domain = constraints.dependent_property(
        lambda self: constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths))
    codomain = constraints.dependent_property(
        lambda self: constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths))

    def _call(self, x):
        return FUNCTIONS["cat"]([t(v) for t, v in zip(self.transforms, x.split(self.lengths, self.dim))], self.dim)

    def _inverse(self, y):
        return FUNCTIONS["cat"]([t.inv(v) for t, v in zip(self.transforms, y.split(self.lengths, self.dim))], self.dim)

    def log_abs_det_jacobian(self, x, y):
        """Return the values of the segments; their sum if segments are along an event dimension."""
        segments = zip(self.transforms, x.split(self.lengths, self.dim), y.split(self.lengths, self.dim))
        parts = [sum_last(t.log_abs_det_jacobian(a, b), self.event_dim - t.event_dim) for t, a, b in segments]
        dim = (self.dim - x.ndim if self.dim >= 0 else self.dim) + self.event_dim
        return FUNCTIONS["cat"](parts, dim) if dim < 0 else functools.reduce(operator.add, parts)


class StackTransform(_Joined):
    """Transforms of slices along a dimension."""

    _arguments = "transforms", "dim"

    def __init__(self, tseq, dim=0, cache_size=0):
        super().__init__(tseq, dim, cache_size)

    domain = constraints.dependent_property(lambda self: constraints.stack([t.domain for t in self.transforms], self.dim))
    codomain = constraints.dependent_property(lambda self: constraints.stack([t.codomain for t in self.transforms], self.dim))

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
        """Return the values of the slices."""
        return self._each(lambda t, a, b: t.log_abs_det_jacobian(a, b), x, y)
