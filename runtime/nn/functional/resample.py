"""Resampling: interpolation, sampling on a grid, affine grids."""

import math

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, DTypeError, ShapeError
from ....ir.ops.core.shape import permute, reshape
from ....ir.ops.linalg.products import matmul
from ....ir.ops.nn import resample as ops
from ....ir.suggestions import unknown_choice
from ....ir.symbols.substitute import as_float, as_int
from ...api.register.register import memoised
from ...api.views.join_split import stack
from ...api.views.ranges import linspace
from ...api.views.tensor_factories import ones, zeros
from ...core.tensor import Tensor
from ...state.messages import warn

_RANKS = {"linear": (1,), "bilinear": (2,), "trilinear": (3,), "bicubic": (2,), "nearest": (1, 2, 3),
          "nearest-exact": (1, 2, 3), "area": (1, 2, 3)}
_MODES = {"bilinear": "linear", "trilinear": "linear", "bicubic": "cubic"}
_TAKES_CORNERS = ("linear", "bilinear", "bicubic", "trilinear")


def _factors(scale_factor, rank):
    given = scale_factor if isinstance(scale_factor, (tuple, list)) else (scale_factor,) * rank
    if len(given) != rank:
        raise ArgumentError(f"interpolate: scale_factor must be a number or {rank} numbers, got {scale_factor!r}")
    return tuple(as_float(f) for f in given)


def _target(x, size, scale_factor, recompute):
    """Return the spatial sizes of the result and the scale that fixes its coordinates (None: the ratio of sizes)."""
    rank = x.ndim - 2
    if (size is None) == (scale_factor is None):
        raise ArgumentError("interpolate takes either size or scale_factor")
    if size is not None:
        if recompute:
            raise ArgumentError("interpolate: recompute_scale_factor has no meaning when size is given")
        size = tuple(size) if isinstance(size, (tuple, list)) else (size,) * rank
        if len(size) != rank:
            raise ArgumentError(f"interpolate: size must be an int or {rank} ints, got {size}")
        if not all(hasattr(n, "__index__") for n in size):
            raise DTypeError(f"interpolate: size must be an int or {rank} ints, got {size}")
        return tuple(as_int(n) for n in size), (None,) * rank
    factors = _factors(scale_factor, rank)
    sizes = tuple(math.floor(n * f) for n, f in zip(x.shape[2:], factors))
    return sizes, (None,) * rank if recompute else factors


@memoised
def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None,
                antialias=False):
    """Resize the spatial dims; modes nearest, nearest-exact, linear, bilinear, bicubic, trilinear, area."""
    if mode not in _RANKS:
        raise unknown_choice("interpolate: mode", mode, _RANKS)
    if input.ndim - 2 not in _RANKS[mode]:
        allowed = " or ".join(f"[N, C, {', '.join('DHW'[3 - r:])}]" for r in _RANKS[mode])
        raise ShapeError(f"interpolate with mode '{mode}' takes {allowed}, got {input.aval}")
    if align_corners is not None and mode not in _TAKES_CORNERS:
        raise ArgumentError(f"interpolate: align_corners goes with the modes {', '.join(_TAKES_CORNERS)}, not '{mode}'")
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ArgumentError(f"interpolate: antialias goes with bilinear and bicubic, not '{mode}'")
    sizes, scales = _target(input, size, scale_factor, recompute_scale_factor)
    if any(n < 1 for n in sizes):
        raise ShapeError(f"interpolate of {input.aval}: the result would have the spatial size {list(sizes)}")
    kind = _MODES.get(mode, mode) + ("-smooth" if antialias else "")
    if mode == "area":
        scales = (None,) * len(sizes)
    return ops.resample(input, size=sizes, mode=kind, align_corners=bool(align_corners), scales=scales)


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """Call interpolate, under its old name."""
    warn("upsample is the old name of interpolate", DeprecationWarning)
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    """Call interpolate with mode nearest."""
    warn("upsample_nearest is the old name of interpolate", DeprecationWarning)
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    """Call interpolate with mode bilinear and aligned corners."""
    warn("upsample_bilinear is the old name of interpolate", DeprecationWarning)
    return interpolate(input, size, scale_factor, "bilinear", True)


_SAMPLING = {"nearest": "nearest", "bilinear": "linear", "bicubic": "cubic"}


@memoised
def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """Sample the input at the points of a grid (N, *sizes, spatial dims), with coordinates from -1 to 1 in each dim."""
    if mode not in _SAMPLING:
        raise unknown_choice("grid_sample: mode", mode, _SAMPLING)
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ArgumentError(f"grid_sample: padding_mode must be zeros, border or reflection, got {padding_mode!r}")
    if input.ndim not in (4, 5) or (input.ndim == 5 and mode == "bicubic"):
        raise ShapeError(f"grid_sample takes an input of 4 or 5 dimensions (bicubic: 4), got {input.aval}")
    return ops.grid_sample(input, grid, mode=_SAMPLING[mode], padding_mode=padding_mode, align_corners=bool(align_corners))


def _coordinates(n, align_corners, device):
    if n == 1:
        return zeros((1,), dtype=dt.float64, device=device)
    line = linspace(-1, 1, n, dtype=dt.float64, device=device)
    return line if align_corners else line * (n - 1) / n


def _homogeneous(sizes, align_corners, like):
    """Return coordinates of an image's elements as rows, last dim first, with a 1, in the dtype and on the device of `like`."""
    rank, parts = len(sizes), []
    for d in range(rank - 1, -1, -1):
        axis = _coordinates(sizes[d], align_corners, like.device).to(like.dtype)
        parts.append(axis.reshape(*[-1 if k == d else 1 for k in range(rank)]).expand(*sizes))
    return stack([*parts, ones(sizes, dtype=like.dtype, device=like.device)], dim=rank).reshape(-1, rank + 1)


@memoised
def affine_grid(theta, size, align_corners=None):
    """Return the grid for grid_sample that transforms images of `size` (N, C, *spatial) by affine maps `theta`."""
    if not isinstance(theta, Tensor) or not theta.dtype.is_floating_point:
        raise DTypeError(f"affine_grid takes a floating point theta, got {getattr(theta, 'aval', type(theta).__name__)}")
    size = tuple(as_int(n) for n in size)
    rank = len(size) - 2
    if rank not in (2, 3) or theta.shape != (size[0], rank, rank + 1):
        raise ShapeError(f"affine_grid takes theta [N, 2, 3] with size [N, C, H, W], or [N, 3, 4] with [N, C, D, H, W], got "
                         f"{theta.aval} and {size}")
    if any(n < 1 for n in size):
        raise ShapeError(f"affine_grid: size must be positive, got {size}")
    base = _homogeneous(size[2:], align_corners, theta)
    points = base.expand(size[0], *base.shape)
    return reshape(matmul(points, permute(theta, dims=(0, 2, 1))), shape=(size[0], *size[2:], rank))
