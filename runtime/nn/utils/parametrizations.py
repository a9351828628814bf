"""Parametrizations that are ready to use: weight norm, spectral norm, orthogonal matrices."""

import numpy as np

from ....ir.errors import ArgumentError, ShapeError
from ...api.register import FUNCTIONS
from ...autograd.grad_mode import no_grad
from ...linalg import solve
from ...placement import beside
from ...tensor import wrap
from ..module import Module
from .parametrize import register_parametrization


def norm_except(v, dim):
    """The norm over all dimensions but one (over all for None)."""
    if dim is None or dim == -1:
        return FUNCTIONS["norm"](v)
    others = [d for d in range(v.ndim) if d != dim % v.ndim]
    return FUNCTIONS["sqrt"]((v * v).sum(others, keepdim=True)) if others else v.abs()


def weight_of(v, g, dim):
    """v with its norm replaced by g."""
    return v * (g / norm_except(v, dim))


class _WeightNorm(Module):
    """A weight as its norm and its direction."""

    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        """The weight."""
        return weight_of(weight_v, weight_g, self.dim)

    def right_inverse(self, weight):
        """(norm, direction) of a weight."""
        return norm_except(weight, self.dim), weight.clone()


def weight_norm(module, name="weight", dim=0):
    """Splits a weight into its norm (original0) and direction (original1)."""
    return register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


class PowerIteration:
    """The largest singular value of a weight by power iteration, kept up with the weight as it trains."""

    def __init__(self, dim, n_power_iterations, eps, v_first=False):
        if n_power_iterations <= 0:
            raise ArgumentError(f"n_power_iterations must be positive, got {n_power_iterations}")
        self.dim, self.n, self.eps, self.v_first = dim, n_power_iterations, eps, v_first

    def matrix(self, weight):
        """The weight with `dim` as rows and everything else as columns."""
        if self.dim:
            weight = weight.permute(self.dim, *[d for d in range(weight.ndim) if d != self.dim])
        return weight.reshape(weight.shape[0], -1)

    def unit(self, v):
        """v of length 1."""
        return v / FUNCTIONS["norm"](v).clamp_min(self.eps)

    def start(self, weight):
        """Random unit vectors (u, v), some iterations on."""
        m = self.matrix(weight.detach())
        u, v = (self.unit(FUNCTIONS["randn"](n, dtype=m.dtype, device=m.device)) for n in m.shape)
        self.iterate(m, u, v, 15)
        return u, v

    @no_grad()
    def iterate(self, matrix, u, v, n):
        """Improves u and v in place."""
        matrix = matrix.detach()
        for _ in range(n):
            if self.v_first:
                v.copy_(self.unit(matrix.t() @ u))
            u.copy_(self.unit(matrix @ v))
            if not self.v_first:
                v.copy_(self.unit(matrix.t() @ u))

    def scaled(self, weight, u, v, training):
        """The weight over its largest singular value."""
        m = self.matrix(weight)
        if training:
            self.iterate(m, u, v, self.n)
        u, v = u.clone(), v.clone()
        return weight / (u * (m @ v)).sum()


class _SpectralNorm(Module):
    """A weight over its largest singular value."""

    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        self._power = PowerIteration(dim, n_power_iterations, eps)
        self._flat = weight.ndim == 1
        if not self._flat:
            u, v = self._power.start(weight)
            self.register_buffer("_u", u)
            self.register_buffer("_v", v)

    def forward(self, weight):
        """The scaled weight."""
        if self._flat:
            return self._power.unit(weight)
        return self._power.scaled(weight, self._u, self._v, self.training)

    def right_inverse(self, value):
        """A weight is taken as it is."""
        return value


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divides a weight by its largest singular value."""
    if not hasattr(module, name) or getattr(module, name) is None:
        raise ArgumentError(f"{type(module).__name__} has no weight '{name}'")
    dim = (1 if "ConvTranspose" in type(module).__name__ else 0) if dim is None else dim
    return register_parametrization(module, name, _SpectralNorm(getattr(module, name), n_power_iterations, dim, eps))


class _Orthogonal(Module):
    """An orthogonal matrix as the Cayley map of a free one, times a fixed orthogonal base."""

    def __init__(self, weight):
        super().__init__()
        n = max(weight.shape[-2:])
        self.register_buffer("base", FUNCTIONS["eye"](n, dtype=weight.dtype, device=weight.device))
        self.shape = tuple(weight.shape)

    def forward(self, x):
        """(I + A/2)^-1 (I - A/2) of the skew-symmetric A made from x."""
        rows, cols = self.shape[-2:]
        tall = rows >= cols
        x = (x if tall else x.t()).tril(-1)
        n = max(rows, cols)
        if x.shape[1] < n:
            x = FUNCTIONS["cat"]([x, FUNCTIONS["zeros"]((n, n - x.shape[1]), dtype=x.dtype, device=x.device)], 1)
        a = (x - x.t()) * 0.5
        eye = FUNCTIONS["eye"](n, dtype=x.dtype, device=x.device)
        q = self.base @ solve(eye + a, eye - a)
        q = q[:, :min(rows, cols)]
        return q if tall else q.t()

    @no_grad()
    def right_inverse(self, value):
        """Takes the nearest orthogonal matrix as base and starts from zero."""
        tall = value.shape[0] >= value.shape[1]
        matrix = (value if tall else value.t()).detach().numpy(force=True)
        q, r = np.linalg.qr(matrix, mode="complete")
        signs = np.ones(len(q), q.dtype)
        signs[:r.shape[1]] = np.where(np.diagonal(r) < 0, -1, 1)
        self.base = beside(wrap(np.ascontiguousarray(q * signs).astype(matrix.dtype)), value)
        return FUNCTIONS["zeros_like"](value)


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    """Keeps a matrix orthogonal (its columns, or its rows if it is wide)."""
    weight = getattr(module, name)
    if weight.ndim != 2:
        raise ShapeError(f"orthogonal takes a matrix, got {weight.aval}")
    if orthogonal_map not in (None, "cayley"):
        raise ArgumentError(f"orthogonal_map must be 'cayley', got {orthogonal_map!r}")
    return register_parametrization(module, name, _Orthogonal(weight), unsafe=True)
