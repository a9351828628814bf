"""Ready parametrisations: weight norm, spectral norm, orthogonal matrices."""

from functools import partial

import numpy as np

from ....ir.errors import ArgumentError, ShapeError
from ....ir.suggestions import unknown_choice
from ...api.register.register import FUNCTIONS
from ...autograd.grad_mode import no_grad
from ...core.placement import on_device_of
from ...core.tensor import Tensor, wrap
from ...linalg.linalg import matrix_exp, solve
from ...linalg.matrix_factors import geqrf, householder_product
from ..base.module import Module
from .parametrize import register_parametrization


def norm_except(v, dim):
    """Return the norm over all dimensions but `dim` (over all for None)."""
    if dim is None or dim == -1:
        return FUNCTIONS["norm"](v)
    others = [d for d in range(v.ndim) if d != dim % v.ndim]
    return FUNCTIONS["sqrt"]((v * v).sum(others, keepdim=True)) if others else v.abs()


def weight_of(v, g, dim):
    """Return v scaled to the norm g."""
    return v * (g / norm_except(v, dim))


class _WeightNorm(Module):
    """A weight as norm and direction."""

    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return weight_of(weight_v, weight_g, self.dim)

    def right_inverse(self, weight):
        return norm_except(weight, self.dim), weight.clone()


def weight_norm(module, name="weight", dim=0):
    """Split a weight into its norm (original0) and direction (original1). State dicts of the older `nn.utils.weight_norm`, with
    the names weight_g and weight_v, load too."""
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    module._register_load_state_dict_pre_hook(partial(_renamed, name))
    return module


def _renamed(name, state_dict, prefix, *rest):
    """Rename the older weight_g and weight_v in a state dict."""
    old = [f"{prefix}{name}_{part}" for part in "gv"]
    if all(key in state_dict for key in old):
        for i, key in enumerate(old):
            state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)


class PowerIteration:
    """The largest singular value of a weight, by power iteration that continues as the weight trains."""

    def __init__(self, dim, n_power_iterations, eps, v_first=False):
        if n_power_iterations <= 0:
            raise ArgumentError(f"n_power_iterations must be positive, got {n_power_iterations}")
        self.dim, self.n, self.eps, self.v_first = dim, n_power_iterations, eps, v_first

    def matrix(self, weight):
        """Return the weight with `dim` as rows and everything else as columns."""
        if self.dim:
            weight = weight.permute(self.dim, *[d for d in range(weight.ndim) if d != self.dim])
        return weight.reshape(weight.shape[0], -1)

    def unit(self, v):
        """Return v scaled to length 1."""
        return v / FUNCTIONS["norm"](v).clamp_min(self.eps)

    def start(self, weight):
        """Return random unit vectors (u, v), after some iterations."""
        m = self.matrix(weight.detach())
        u, v = (self.unit(FUNCTIONS["randn"](n, dtype=m.dtype, device=m.device)) for n in m.shape)
        self.iterate(m, u, v, 15)
        return u, v

    @no_grad()
    def iterate(self, matrix, u, v, n):
        """Improve u and v in place."""
        matrix = matrix.detach()
        for _ in range(n):
            if self.v_first:
                v.copy_(self.unit(matrix.t() @ u))
            u.copy_(self.unit(matrix @ v))
            if not self.v_first:
                v.copy_(self.unit(matrix.t() @ u))

    def scaled(self, weight, u, v, training):
        """Return the weight divided by its largest singular value."""
        m = self.matrix(weight)
        if training:
            self.iterate(m, u, v, self.n)
        u, v = u.clone(), v.clone()
        return weight / (u * (m @ v)).sum()


class _SpectralNorm(Module):
    """A weight divided by its largest singular value."""

    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        self._power = PowerIteration(dim, n_power_iterations, eps)
        self._flat = weight.ndim == 1
        if not self._flat:
            u, v = self._power.start(weight)
            self.register_buffer("_u", u)
            self.register_buffer("_v", v)

    def forward(self, weight):
        if self._flat:
            return self._power.unit(weight)
        return self._power.scaled(weight, self._u, self._v, self.training)

    def right_inverse(self, value):
        return value


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divide a weight by its largest singular value."""
    if not hasattr(module, name) or getattr(module, name) is None:
        raise ArgumentError(f"{type(module).__name__} has no weight '{name}'")
    dim = (1 if "ConvTranspose" in type(module).__name__ else 0) if dim is None else dim
    return register_parametrization(module, name, _SpectralNorm(getattr(module, name), n_power_iterations, dim, eps))


def _skew(x):
    """Return the skew-Hermitian part of the lower triangle, padded with zero columns to a square."""
    lower = FUNCTIONS["constant_pad_nd"](x.tril(), (0, x.shape[-2] - x.shape[-1]))
    return lower - lower.mH


def _by_exponential(x):
    return matrix_exp(_skew(x))[..., :x.shape[-1]]


def _by_cayley(x):
    """Return (I - A/2)^-1 (I + A/2)."""
    half = _skew(x) * 0.5
    eye = FUNCTIONS["eye"](half.shape[-1], dtype=x.dtype, device=x.device)
    return solve(eye - half, eye + half)[..., :x.shape[-1]]


def _by_reflections(x):
    """Return a product of reflections, one per column below its diagonal. Only the signs of the diagonal count."""
    below = x.tril(-1)
    q = householder_product(below, 2.0 / (1.0 + (below * below).sum(-2)))
    return q * x.detach().diagonal(dim1=-2, dim2=-1).sign().unsqueeze(-2)


def _reflections_of(matrix):
    """Return the argument of `_by_reflections` for the orthogonal part of a tall matrix."""
    x, tau = geqrf(matrix)
    signs = x.diagonal(dim1=-2, dim2=-1).sign()
    x = x.tril(-1)
    x.diagonal(dim1=-2, dim2=-1).copy_(FUNCTIONS["where"](tau == 0, -signs, signs))  # no reflection on the axis
    return x


_MAPS = {"matrix_exp": _by_exponential, "cayley": _by_cayley, "householder": _by_reflections}


def _completed(matrix):
    """Return a square orthogonal matrix whose first columns are the orthogonal part of a tall matrix."""
    q, r = np.linalg.qr(matrix.detach().numpy(force=True), mode="complete")
    diagonal = np.diagonal(r, axis1=-2, axis2=-1)
    size = np.abs(diagonal)
    q[..., :diagonal.shape[-1]] *= np.where(size == 0, 1, diagonal / np.where(size == 0, 1, size))[..., None, :]
    return on_device_of(wrap(np.ascontiguousarray(q)), matrix)


class _Orthogonal(Module):
    """An orthogonal (or unitary) matrix as a map of a free one, times an orthogonal base if `use_trivialization`."""

    def __init__(self, shape, orthogonal_map, has_base):
        super().__init__()
        self.shape, self.orthogonal_map = shape, orthogonal_map
        if has_base:
            self.register_buffer("base", None)

    def forward(self, x):
        """Return the orthogonal matrix: orthonormal columns, or rows if it is wide."""
        wide = x.shape[-2] < x.shape[-1]
        q = _MAPS[self.orthogonal_map](x.mT if wide else x)
        if "base" in self._buffers:
            q = self.base @ q
        return q.mT if wide else q

    @no_grad()
    def right_inverse(self, value):
        """Return the free matrix of an orthogonal part, kept as the base if there is one."""
        if tuple(value.shape) != self.shape:
            raise ShapeError(f"orthogonal takes a matrix of shape {list(self.shape)}, got {list(value.shape)}")
        wide = value.shape[-2] < value.shape[-1]
        tall = value.mT if wide else value
        if "base" in self._buffers:
            self.base = _completed(tall)
            start = FUNCTIONS["zeros_like"](tall)
            start.diagonal(dim1=-2, dim2=-1).fill_(-1)            # each map takes it to the first columns of I
        elif self.orthogonal_map == "householder":
            start = _reflections_of(tall)
        else:
            raise NotImplementedError(f"orthogonal with {self.orthogonal_map} and use_trivialization=False cannot be assigned "
                                      "a matrix")
        return start.mT if wide else start


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    """Keep a matrix, or a batch of them, orthogonal: its columns, or its rows if it is wide."""
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ArgumentError(f"{type(module).__name__} has no parameter or buffer '{name}'")
    if weight.ndim < 2:
        raise ShapeError(f"orthogonal takes a matrix or a batch of them, got {weight.aval}")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.shape[-2] == weight.shape[-1] or weight.dtype.is_complex else "householder"
    if orthogonal_map not in _MAPS:
        raise unknown_choice("orthogonal_map", orthogonal_map, _MAPS)
    if orthogonal_map == "householder" and weight.dtype.is_complex:
        raise ArgumentError("orthogonal_map='householder' does not take complex matrices; use 'matrix_exp' or 'cayley'")
    made = _Orthogonal(tuple(weight.shape), orthogonal_map, use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)
