"""Distributions of matrices: LKJCholesky (correlations) and Wishart (covariances)."""

import math

from ...ir.errors import ArgumentError
from ..api.random import random_tensors as noise
from ..api.register.register import FUNCTIONS
from ..autograd.grad_mode import no_grad
from ..linalg import linalg
from ..linalg.matrix_factors import solve_by_factor
from . import constraints
from .distribution import Distribution, ExponentialFamily
from .gamma_families import Beta
from .kl import register_kl
from .multivariate_normal import half_log_det, inverse_of_product, one_matrix
from .parameters import broadcast_all, lazy_property, where

__all__ = ["LKJCholesky", "Wishart"]


class LKJCholesky(Distribution):
    """Distribution of lower Cholesky factors of correlation matrices of size `dim`. The density of the matrix is its
    determinant to the power of concentration - 1, so 1 is uniform."""

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _tensors = ("concentration",)

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if dim < 2:
            raise ArgumentError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.shape, (dim, dim), validate_args=validate_args)

    def sample(self, sample_shape=()):
        """Return samples row by row: a direction, and its share of the row's length ("onion" of Lewandowski and others,
        2009)."""
        with no_grad():
            kind, shape = self.concentration.dtype, self._extended_shape(sample_shape)
            here = self.concentration.device
            row = FUNCTIONS["arange"](1, self.dim, dtype=kind, device=here)
            left = self.concentration.unsqueeze(-1) + 0.5 * (self.dim - 1 - row)
            share = Beta((row * 0.5).expand(left.shape), left, validate_args=False).sample(sample_shape)
            direction = noise.randn(size=(*shape[:-2], self.dim - 1, self.dim), dtype=kind, device=here).tril()
            direction = direction / direction.pow(2).sum(-1, True).sqrt()
            below = share.unsqueeze(-1).sqrt() * direction
            first = FUNCTIONS["zeros"]((*shape[:-2], 1, self.dim), dtype=kind, device=here)
            lower = FUNCTIONS["cat"]([first, below], -2)
            rest = (1 - lower.pow(2).sum(-1)).clamp(min=FUNCTIONS["finfo"](kind).tiny)
            return lower + FUNCTIONS["diag_embed"](rest.sqrt())

    def log_prob(self, value):
        """Return the log density at a factor."""
        self._validate(value)
        size = self.dim - 1
        behind = FUNCTIONS["arange"](size - 1, -1, -1, dtype=self.concentration.dtype, device=self.concentration.device)
        power = 2 * (self.concentration - 1).unsqueeze(-1) + behind
        density = (power * value.diagonal(0, -2, -1)[..., 1:].log()).sum(-1)
        alpha = self.concentration + 0.5 * size
        total = FUNCTIONS["mvlgamma"](alpha - 0.5, size) + 0.5 * size * math.log(math.pi) - size * alpha.lgamma()
        return density - total


class Wishart(ExponentialFamily):
    """Distribution of scatter matrices of `df` normal vectors, by covariance, precision (its inverse) or scale_tril (its
    factor)."""

    arg_constraints = {"df": constraints.greater_than(0), "covariance_matrix": constraints.positive_definite,
                       "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky}
    support = constraints.positive_definite
    has_rsample = True
    _tensors = ("df", "covariance_matrix", "precision_matrix", "scale_tril")

    def __init__(self, df, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        name, matrix = one_matrix(covariance_matrix=covariance_matrix, precision_matrix=precision_matrix, scale_tril=scale_tril)
        df = df if hasattr(df, "dtype") else FUNCTIONS["tensor"](float(df), dtype=matrix.dtype, device=matrix.device)
        batch = FUNCTIONS["broadcast_shapes"](tuple(matrix.shape[:-2]), tuple(df.shape))
        setattr(self, name, matrix.expand(*batch, *matrix.shape[-2:]))
        self.df = df.expand(batch)
        self._size = matrix.shape[-1]
        if bool((self.df <= self._size - 1).any()):
            raise ArgumentError(f"Value of df={df} expected to be greater than ndim - 1 = {self._size - 1}.")
        super().__init__(batch, matrix.shape[-2:], validate_args=validate_args)

    scale_tril = lazy_property(lambda self: linalg.cholesky(self.covariance_matrix))

    @lazy_property
    def covariance_matrix(self):
        if "precision_matrix" in self.__dict__:
            return inverse_of_product(linalg.cholesky(self.precision_matrix))
        return self.scale_tril @ self.scale_tril.mT

    precision_matrix = lazy_property(lambda self: inverse_of_product(self.scale_tril))

    def _by(self, factor):
        return factor.unsqueeze(-1).unsqueeze(-1) * self.covariance_matrix

    mean = property(lambda self: self._by(self.df))

    @property
    def mode(self):
        """Most probable matrix; nan where df is too small for one."""
        factor = self.df - self._size - 1
        return self._by(where(factor <= 0, float("nan"), factor))

    @property
    def variance(self):
        v = self.covariance_matrix
        diagonal = v.diagonal(0, -2, -1)
        return self.df.unsqueeze(-1).unsqueeze(-1) * (v.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def rsample(self, sample_shape=()):
        """Return differentiable samples, by Bartlett's decomposition."""
        shape, kind = self._extended_shape(sample_shape), self.scale_tril.dtype
        halves = 0.5 * self._over_rows(self.df)
        lengths = (2 * noise.standard_gamma(halves.expand(shape[:-1]).contiguous())).sqrt()
        root = noise.randn(size=shape, dtype=kind, device=halves.device).tril(-1) + FUNCTIONS["diag_embed"](lengths)
        root = self.scale_tril @ root
        return root @ root.mT

    def _over_rows(self, value):
        """Return a value less 0, 1, 2 ... along a new last dimension."""
        return value.unsqueeze(-1) - FUNCTIONS["arange"](self._size, dtype=value.dtype, device=value.device)

    def log_prob(self, value):
        """Return the log density at a matrix."""
        self._validate(value)
        p = self._size
        trace = solve_by_factor(self.scale_tril, value).diagonal(0, -2, -1).sum(-1)
        norm = self.df * (0.5 * p * math.log(2) + half_log_det(self.scale_tril)) + FUNCTIONS["mvlgamma"](self.df / 2, p)
        return 0.5 * ((self.df - p - 1) * linalg.slogdet(value).logabsdet - trace) - norm

    def entropy(self):
        p, n = self._size, self.df
        scale = (p + 1) * (half_log_det(self.scale_tril) + 0.5 * p * math.log(2))
        digammas = (0.5 * self._over_rows(n)).digamma().sum(-1)
        return scale + FUNCTIONS["mvlgamma"](n / 2, p) - 0.5 * (n - p - 1) * digammas + 0.5 * n * p


@register_kl(Wishart, Wishart)
def _wishart(p, q):
    size, n = p._size, p.df
    shape = FUNCTIONS["broadcast_shapes"](tuple(p.scale_tril.shape), tuple(q.scale_tril.shape))
    ratio = linalg.solve_triangular(q.scale_tril.expand(shape), p.scale_tril.expand(shape), upper=False)
    digammas = (0.5 * p._over_rows(n)).digamma().sum(-1)
    gammas = FUNCTIONS["mvlgamma"](q.df / 2, size) - FUNCTIONS["mvlgamma"](n / 2, size)
    volumes = half_log_det(q.scale_tril) - half_log_det(p.scale_tril)
    return gammas + 0.5 * (n - q.df) * digammas + q.df * volumes + 0.5 * n * (ratio.pow(2).sum((-2, -1)) - size)
