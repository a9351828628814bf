"""Normal distributions of vectors: MultivariateNormal, LowRankMultivariateNormal."""

import math

from ...ir.errors import ArgumentError
from ..api.random import random_tensors as noise
from ..api.register.register import FUNCTIONS
from ..linalg import linalg
from ..linalg.matrix_factors import solve_by_factor
from . import constraints
from .distribution import Distribution
from .parameters import lazy_property

__all__ = ["LowRankMultivariateNormal", "MultivariateNormal"]

_LOG_TWO_PI = math.log(2 * math.pi)


def times(matrix, vector):
    """Multiply matrices by vectors."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def half_log_det(lower):
    """Return half the log determinant of lower @ lower.T."""
    return lower.diagonal(0, -2, -1).log().sum(-1)


def solve_lower(lower, vector):
    """Return lower^-1 @ vector."""
    shape = FUNCTIONS["broadcast_shapes"](tuple(lower.shape[:-1]), tuple(vector.shape))
    rows = vector.expand(shape).unsqueeze(-1)
    return linalg.solve_triangular(lower.expand(*shape, lower.shape[-1]), rows, upper=False).squeeze(-1)


def mahalanobis(lower, vector):
    """Return the squared length of lower^-1 @ vector."""
    return solve_lower(lower, vector).pow(2).sum(-1)


def _precision_to_scale_tril(precision):
    """Return the lower Cholesky factor of the inverse of a matrix."""
    flipped = linalg.cholesky(precision.flip((-2, -1)))
    upper = flipped.flip((-2, -1)).mT
    identity = FUNCTIONS["eye"](precision.shape[-1], dtype=precision.dtype, device=precision.device).expand(precision.shape)
    return linalg.solve_triangular(upper, identity, upper=False)


def inverse_of_product(lower):
    """Return the inverse of lower @ lower.T."""
    identity = FUNCTIONS["eye"](lower.shape[-1], dtype=lower.dtype, device=lower.device).expand(lower.shape)
    return solve_by_factor(lower, identity)


def one_matrix(**forms) -> tuple:
    """Return (name, matrix) of the only form of a covariance that is not None."""
    some = [(name, matrix) for name, matrix in forms.items() if matrix is not None]
    if len(some) != 1:
        raise ArgumentError(f"Exactly one of {' or '.join(forms)} may be specified.")
    if some[0][1].dim() < 2:
        raise ArgumentError(f"{some[0][0]} must be at least two-dimensional, with optional leading batch dimensions")
    return some[0]


class MultivariateNormal(Distribution):
    """Normal distribution of vectors, by covariance, precision (its inverse) or scale_tril (its Cholesky factor)."""

    arg_constraints = {"loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
                       "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky}
    support = constraints.real_vector
    has_rsample = True
    _tensors = ("loc", "covariance_matrix", "precision_matrix", "scale_tril", "_unbroadcasted_scale_tril")

    def __init__(self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        if loc.dim() < 1:
            raise ArgumentError("loc must be at least one-dimensional.")
        name, matrix = one_matrix(covariance_matrix=covariance_matrix, precision_matrix=precision_matrix, scale_tril=scale_tril)
        batch = FUNCTIONS["broadcast_shapes"](tuple(matrix.shape[:-2]), tuple(loc.shape[:-1]))
        setattr(self, name, matrix.expand(*batch, *matrix.shape[-2:]))
        self.loc = loc.expand(*batch, loc.shape[-1])
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        factor_of = {"covariance_matrix": linalg.cholesky, "precision_matrix": _precision_to_scale_tril}.get(name)
        root = matrix if factor_of is None else factor_of(matrix)
        self._unbroadcasted_scale_tril = root.expand(*batch, *matrix.shape[-2:])    # name that libraries use

    scale_tril = lazy_property(lambda self: self._factor())

    def _factor(self):
        return self._unbroadcasted_scale_tril.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def covariance_matrix(self):
        root = self._factor()
        return root @ root.mT

    precision_matrix = lazy_property(lambda self: inverse_of_product(self._factor()))

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)
    variance = property(lambda self: self._factor().pow(2).sum(-1))

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return self.loc + times(self._factor(), noise.randn(size=shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value):
        self._validate(value)
        root = self._factor()
        distance = mahalanobis(root, value - self.loc)
        return -0.5 * (self._event_shape[0] * _LOG_TWO_PI + distance) - half_log_det(root)

    def entropy(self):
        return 0.5 * self._event_shape[0] * (1.0 + _LOG_TWO_PI) + half_log_det(self._factor())


class LowRankMultivariateNormal(Distribution):
    """Normal distribution of vectors with covariance cov_factor @ cov_factor.T + diag(cov_diag)."""

    arg_constraints = {"loc": constraints.real_vector, "cov_factor": constraints.independent(constraints.real, 2),
                       "cov_diag": constraints.independent(constraints.positive, 1)}
    support = constraints.real_vector
    has_rsample = True
    _tensors = ("loc", "cov_factor", "cov_diag", "_capacitance")

    def __init__(self, loc, cov_factor, cov_diag, validate_args=None):
        if loc.dim() < 1:
            raise ArgumentError("loc must be at least one-dimensional.")
        event = loc.shape[-1:]
        if cov_factor.dim() < 2 or cov_factor.shape[-2:-1] != event:
            raise ArgumentError(f"cov_factor must be a batch of matrices with shape {event[0]} x m")
        if cov_diag.shape[-1:] != event:
            raise ArgumentError(f"cov_diag must be a batch of vectors with shape {event}")
        batch = FUNCTIONS["broadcast_shapes"](tuple(loc.shape[:-1]), tuple(cov_factor.shape[:-2]), tuple(cov_diag.shape[:-1]))
        self.loc, self.cov_diag = loc.expand(*batch, *event), cov_diag.expand(*batch, *event)
        self.cov_factor = cov_factor.expand(*batch, *cov_factor.shape[-2:])
        weighted = self.cov_factor.mT / self.cov_diag.unsqueeze(-2)
        rank = self.cov_factor.shape[-1]
        identity = FUNCTIONS["eye"](rank, dtype=loc.dtype, device=loc.device)
        self._capacitance = linalg.cholesky(weighted @ self.cov_factor + identity)
        super().__init__(batch, event, validate_args=validate_args)

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)
    variance = property(lambda self: self.cov_factor.pow(2).sum(-1) + self.cov_diag)
    covariance_matrix = property(lambda self: self.cov_factor @ self.cov_factor.mT + FUNCTIONS["diag_embed"](self.cov_diag))

    @property
    def scale_tril(self):
        """The lower Cholesky factor of the covariance."""
        return linalg.cholesky(self.covariance_matrix)

    @property
    def precision_matrix(self):
        """The inverse of the covariance."""
        weighted = self.cov_factor.mT / self.cov_diag.unsqueeze(-2)
        part = linalg.solve_triangular(self._capacitance, weighted, upper=False)
        return FUNCTIONS["diag_embed"](self.cov_diag.reciprocal()) - part.mT @ part

    def rsample(self, sample_shape=()):
        shape, kind = self._extended_shape(sample_shape), self.loc.dtype
        here = self.loc.device
        factor_noise = noise.randn(size=shape[:-1] + self.cov_factor.shape[-1:], dtype=kind, device=here)
        diagonal_noise = noise.randn(size=shape, dtype=kind, device=here)
        return self.loc + times(self.cov_factor, factor_noise) + self.cov_diag.sqrt() * diagonal_noise

    def _half_log_det(self):
        return half_log_det(self._capacitance) + 0.5 * self.cov_diag.log().sum(-1)

    def log_prob(self, value):
        self._validate(value)
        offset = value - self.loc
        along = times(self.cov_factor.mT / self.cov_diag.unsqueeze(-2), offset)
        distance = (offset.pow(2) / self.cov_diag).sum(-1) - mahalanobis(self._capacitance, along)
        return -0.5 * (self._event_shape[0] * _LOG_TWO_PI + distance) - self._half_log_det()

    def entropy(self):
        return 0.5 * self._event_shape[0] * (1.0 + _LOG_TWO_PI) + self._half_log_det()
